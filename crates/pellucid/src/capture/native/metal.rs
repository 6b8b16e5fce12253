//! The calls of `MTLCaptureManager`, and nothing else.

use std::sync::Arc;

use objc2::rc::Retained;
use objc2::runtime::ProtocolObject;
use objc2_foundation::NSURL;
use objc2_metal::{MTLCaptureDescriptor, MTLCaptureDestination, MTLCaptureManager, MTLDevice};

use super::{Destination, Manager};
use crate::backend::gpu;

/// The manager, if the first GPU is reached through Metal.
pub(super) fn manager() -> Option<Arc<dyn Manager>> {
    let gpu = gpu::gpu(0).ok()?;
    // SAFETY: the device is only looked at, and kept alive by `gpu` for the life of the process.
    let device = unsafe { gpu.device.as_hal::<wgpu::hal::api::Metal>() }?.raw_device().clone();
    Some(Arc::new(Metal { device }))
}

struct Metal {
    device: Retained<ProtocolObject<dyn MTLDevice>>,
}

// SAFETY: Metal's devices and its one capture manager may be used from any thread.
unsafe impl Send for Metal {}
// SAFETY: as above.
unsafe impl Sync for Metal {}

fn shared() -> Retained<MTLCaptureManager> {
    // SAFETY: has no conditions but that Metal is there, which a device shows.
    unsafe { MTLCaptureManager::sharedCaptureManager() }
}

fn kind(to: &Destination) -> MTLCaptureDestination {
    match to {
        Destination::Document(_) => MTLCaptureDestination::GPUTraceDocument,
        Destination::DeveloperTools => MTLCaptureDestination::DeveloperTools,
    }
}

impl Manager for Metal {
    fn supports(&self, to: &Destination) -> bool {
        shared().supportsDestination(kind(to))
    }

    fn start(&self, to: &Destination) -> Result<(), String> {
        let descriptor = MTLCaptureDescriptor::new();
        // SAFETY: a device is one of the three kinds of object that can be captured.
        unsafe { descriptor.setCaptureObject(Some(self.device.as_ref())) };
        descriptor.setDestination(kind(to));
        if let Destination::Document(path) = to {
            let url = NSURL::from_file_path(path).ok_or("the path cannot be written as a file URL")?;
            descriptor.setOutputURL(Some(&url));
        }
        let started = shared().startCaptureWithDescriptor_error(&descriptor);
        started.map_err(|error| error.localizedDescription().to_string())
    }

    fn stop(&self) {
        shared().stopCapture();
    }
}
