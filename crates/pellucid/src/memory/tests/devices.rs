//! Several devices over one ledger.

use super::*;
use crate::error::Error;

const SLOTS: &[usize] = &[256, 512, 1024, 2048, 4096];

fn with_gpu(limit: usize, budget: usize) -> &'static Central {
    let (central, _) = idle(10 * MIB, limit);
    let gpu = Small { budget: budget as u64, slots: SLOTS, calls: 0.into(), failures: AtomicUsize::new(0) };
    central.register(Device::gpu(), Arc::new(gpu));
    central
}

fn on_gpu(central: &'static Central, bytes: usize) -> Result<Held> {
    let demand = Demand { device: Device::gpu(), op: 7, ..demand(bytes) };
    central.allocate(&demand).map(|entry| Held(central, entry))
}

#[test]
fn each_device_has_its_own_memory_and_slots() {
    let central = with_gpu(10 * MIB, MIB);
    let host = allocate(central, 16).unwrap();
    let gpu: Vec<_> = [1, 256, 257].map(|bytes| on_gpu(central, bytes).unwrap()).into();
    assert_eq!(gpu.iter().map(Held::bytes).collect::<Vec<_>>(), [256, 256, 512]);
    assert!(gpu.iter().all(|held| held.offset().is_multiple_of(256) && held.record().op == 7));
    let of = |i: usize| {
        let accounts = central.accounts();
        let pool = &accounts.pools[i];
        (pool.device, pool.active, pool.cached_bytes(), pool.system_bytes, pool.system_buffers)
    };
    assert_eq!(of(0), (Device::cpu(), 16, 0, SLAB, 1));
    assert_eq!(of(1), (Device::gpu(), 1024, 0, 2 * SLAB, 2));
    assert_eq!(figures(central), (1040, 0, 3 * SLAB));
    drop((host, gpu));
    assert_eq!(of(1), (Device::gpu(), 0, 2 * SLAB, 2 * SLAB, 2));
    // Memory of one device never serves another.
    drop(allocate(central, 4000).unwrap());
    assert_eq!(of(0).4, 2);
}

#[test]
fn the_limit_is_shared_and_the_oldest_of_any_device_goes_first() {
    let central = with_gpu(MIB, 10 * MIB);
    drop(on_gpu(central, 300 * KIB).unwrap());
    drop(allocate(central, 300 * KIB).unwrap());
    drop(on_gpu(central, 100 * KIB).unwrap());
    let held = allocate(central, 500 * KIB).unwrap();
    let cached: Vec<_> = central.accounts().pools.iter().map(|p| p.cached_bytes() >> 10).collect();
    assert_eq!(cached, [300, 100]);
    let other = on_gpu(central, 400 * KIB).unwrap();
    assert_eq!(figures(central).1, 100 * KIB as u64);
    drop((held, other));
}

#[test]
fn a_device_gives_no_more_than_its_budget_and_errors_name_it() {
    let central = with_gpu(10 * MIB, MIB);
    let named = |error: Error, device: Device| {
        assert!(matches!(error, Error::Memory { device: d, .. } if d == device))
    };
    named(on_gpu(central, MIB + 1).err().unwrap(), Device::gpu());
    drop(allocate(central, 100 * KIB).unwrap());
    drop(on_gpu(central, 600 * KIB).unwrap());
    let held = on_gpu(central, MIB - 4096).unwrap();
    assert_eq!(figures(central).1, 100 * KIB as u64, "only its own cache is evicted");
    let error = on_gpu(central, 8192).err().unwrap();
    assert!(error.to_string().contains("of this device are in use and it has 1048576"), "{error}");
    named(error, Device::gpu());
    allocate(central, 2 * MIB).unwrap();
    drop(held);
    on_gpu(central, 8192).unwrap();
    let unknown = Demand { device: Device::new(crate::DeviceType::Gpu, 5), ..demand(1) };
    assert!(matches!(central.allocate(&unknown), Err(Error::Device { .. })));
}
