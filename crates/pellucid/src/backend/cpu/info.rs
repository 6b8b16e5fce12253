//! What this processor is.

use crate::device::DeviceInfo;
use crate::memory;

/// Name, instruction set and memory of the processor.
pub(crate) fn info() -> DeviceInfo {
    let mut system = sysinfo::System::new();
    system.refresh_cpu_all();
    let brand = system.cpus().first().map(|cpu| cpu.brand().trim().to_owned()).filter(|b| !b.is_empty());
    DeviceInfo {
        device_name: brand.unwrap_or_else(|| "CPU".to_owned()),
        architecture: std::env::consts::ARCH.to_owned(),
        backend: "cpu".to_owned(),
        memory_size: memory::total_ram(),
        features: features(),
        driver: String::new(),
        device_type: "cpu".to_owned(),
        max_buffer_length: memory::total_ram(),
        max_recommended_working_set_size: memory::total_ram() / 10 * 8,
        resource_limit: memory::get_buffer_limit(),
    }
}

#[cfg(target_arch = "x86_64")]
fn features() -> Vec<String> {
    let known = [
        ("avx2", std::is_x86_feature_detected!("avx2")),
        ("fma", std::is_x86_feature_detected!("fma")),
        ("f16c", std::is_x86_feature_detected!("f16c")),
        ("avx512f", std::is_x86_feature_detected!("avx512f")),
    ];
    known.into_iter().filter(|&(_, there)| there).map(|(name, _)| name.to_owned()).collect()
}

#[cfg(not(target_arch = "x86_64"))]
fn features() -> Vec<String> {
    if cfg!(target_arch = "aarch64") { vec!["neon".to_owned()] } else { Vec::new() }
}
