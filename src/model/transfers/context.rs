//! What surrounds the transfers of a sample.

use crate::model::snapshot::{DeviceView, ProcessView};
use crate::probe::SystemSample;

/// A sample with the views that were computed from it.
#[derive(Debug, Clone, Copy)]
pub struct TransferContext<'a> {
    /// The sample.
    pub sample: &'a SystemSample,
    /// Its devices.
    pub devices: &'a [DeviceView],
    /// Its processes.
    pub processes: &'a [ProcessView],
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
    /// Whether both are known and the same.
    pub(super) fn is_same(&self) -> bool {
        matches!((self.source, self.destination), (Some(a), Some(b)) if a.name == b.name)
    }
}
