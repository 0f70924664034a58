//! What surrounds the transfers of a sample.

use std::time::Duration;

use super::waits::DeviceLoad;
use crate::files::safe_text::SafeText;
use crate::probe::SystemSample;
use crate::probe::file_locations::{FileLocation, device_at_location};
use crate::probe::interval::{ProcessPair, SampleInterval};
use crate::probe::sample::{ProcessKey, UnwrittenBytes};

/// A sample with what was computed from it.
#[derive(Clone, Copy)]
pub struct TransferContext<'a> {
    /// The sample, and the one before.
    pub interval: &'a SampleInterval<'a>,
    /// Its devices.
    pub devices: &'a [TransferDevice<'a>],
    /// Whether the kernel makes writers wait: the limit of dirty memory is reached.
    pub is_dirty_limit_reached: bool,
    /// Bytes of the machine that are dirty or under writeback.
    pub unwritten_bytes: Option<u64>,
    /// Time within which these bytes of a file are written, at this speed of its device.
    pub flush_time: &'a dyn Fn(UnwrittenBytes, Option<f64>) -> Option<Duration>,
}

/// A block device.
#[derive(Debug, Clone)]
pub struct TransferDevice<'a> {
    /// Kernel's name.
    pub name: &'a SafeText,
    /// The disk of a partition.
    pub parent: Option<&'a SafeText>,
    /// The devices that it is on.
    pub underlying: &'a [SafeText],
    /// Its load in the last interval.
    pub load: DeviceLoad,
    /// Its bytes that are dirty or under writeback, where the kernel tells.
    pub unwritten_bytes: Option<u64>,
    /// Time within which these are written.
    pub time_to_flush: Option<Duration>,
    /// Bytes per second that it, or a disk that it is on, writes while it is busy.
    pub write_speed: Option<f64>,
}

impl<'a> TransferContext<'a> {
    /// The sample.
    pub(super) fn sample(&self) -> &'a SystemSample {
        self.interval.current
    }

    /// A process, with itself in the sample before.
    pub(super) fn process(&self, key: ProcessKey) -> Option<&'a ProcessPair<'a>> {
        let mut pairs = self.interval.process_pairs.iter();
        pairs.find(|pair| pair.current.identity.key() == key)
    }

    /// The device at a location, where it is known.
    pub(super) fn device_at(&self, location: FileLocation) -> Option<&'a TransferDevice<'a>> {
        self.device_named(device_at_location(self.sample(), location)?)
    }

    /// The device with this name.
    pub(super) fn device_named(&self, name: &str) -> Option<&'a TransferDevice<'a>> {
        self.devices.iter().find(|device| *device.name == name)
    }

    /// The number of a device.
    pub(super) fn device_number(&self, device: &TransferDevice<'_>) -> Option<(u32, u32)> {
        let mut disks = self.sample().disks.iter();
        let disk = disks.find(|disk| *device.name == *disk.name)?;
        Some(disk.device_number)
    }

    /// A device and those that it is on, the uppermost first.
    pub(super) fn layers(&self, device: &'a TransferDevice<'a>) -> Vec<&'a TransferDevice<'a>> {
        /// A deeper stack is a cycle.
        const MAX_LAYERS: usize = 16;
        let mut layers = vec![device];
        let mut next = 0;
        while next < layers.len().min(MAX_LAYERS) {
            let below = layers[next].underlying;
            layers.extend(self.devices.iter().filter(|it| below.contains(it.name)));
            next += 1;
        }
        layers
    }
}

/// The processes and devices of a transfer, as far as they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Participants<'a> {
    /// The process that reads, or the only one.
    pub(super) reader: Option<&'a ProcessPair<'a>>,
    /// The process that writes, where it is another one.
    pub(super) writer: Option<&'a ProcessPair<'a>>,
    /// The device that is read.
    pub(super) source: Option<&'a TransferDevice<'a>>,
    /// The device that is written.
    pub(super) destination: Option<&'a TransferDevice<'a>>,
}

impl Participants<'_> {
    /// Whether both devices are the same disk or parts of it.
    pub(super) fn is_same_disk(&self) -> bool {
        self.source
            .zip(self.destination)
            .is_some_and(|(a, b)| a.parent.unwrap_or(a.name) == b.parent.unwrap_or(b.name))
    }

    /// The processes.
    pub(super) fn processes(&self) -> impl Iterator<Item = &ProcessPair<'_>> {
        [self.reader, self.writer].into_iter().flatten()
    }
}

/// What tests of this module have in common.
#[cfg(test)]
pub(super) mod fixtures {
    use super::*;

    /// Two samples and some devices, without dirty memory.
    pub(in crate::transfers) fn context<'a>(
        interval: &'a SampleInterval<'a>,
        devices: &'a [TransferDevice<'a>],
    ) -> TransferContext<'a> {
        TransferContext {
            interval,
            devices,
            is_dirty_limit_reached: false,
            unwritten_bytes: None,
            flush_time: &|_, _| None,
        }
    }

    /// A device that is on these.
    pub(in crate::transfers) fn device<'a>(
        name: &'a SafeText,
        underlying: &'a [SafeText],
        load: DeviceLoad,
    ) -> TransferDevice<'a> {
        TransferDevice {
            name,
            parent: None,
            underlying,
            load,
            unwritten_bytes: None,
            time_to_flush: None,
            write_speed: None,
        }
    }
}
