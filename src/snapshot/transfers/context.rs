//! What surrounds the transfers of a sample.

use crate::probe::SystemSample;
use crate::snapshot::dirty_memory::DirtyMemory;
use crate::snapshot::file_locations::{FileLocation, device_at_location};
use crate::snapshot::view::DeviceView;

/// A sample with the views that were computed from it.
#[derive(Debug, Clone, Copy)]
pub struct TransferContext<'a> {
    /// The sample.
    pub sample: &'a SystemSample,
    /// Its devices.
    pub devices: &'a [DeviceView],
    /// What is known about dirty memory.
    pub dirty_memory: &'a DirtyMemory,
}

impl<'a> TransferContext<'a> {
    /// The device at a location, where it is known.
    pub(super) fn device_at(&self, location: FileLocation) -> Option<&'a DeviceView> {
        let name = device_at_location(self.sample, location)?;
        self.devices.iter().find(|device| device.name == name)
    }
}

/// The devices that a transfer reads and writes, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct TransferDevices<'a> {
    /// The device that it reads.
    pub(super) source: Option<&'a DeviceView>,
    /// The device that it writes.
    pub(super) destination: Option<&'a DeviceView>,
}

impl TransferDevices<'_> {
    /// Whether both are known, and the same disk or parts of it.
    pub(super) fn is_same(&self) -> bool {
        let disk = |device: &DeviceView| device.parent.clone().unwrap_or(device.name.clone());
        matches!((self.source, self.destination), (Some(a), Some(b)) if disk(a) == disk(b))
    }
}
