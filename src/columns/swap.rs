//! Swap traffic, and the devices that it goes to.

use crate::drive::DeviceUse;
use crate::snapshot::Snapshot;
use crate::snapshot::view::DeviceView;
use crate::units::Unit;

/// Pages that the kernel reads from and writes to swap.
#[derive(Debug, Clone, PartialEq)]
pub struct SwapTraffic<'s> {
    /// Bytes per second read from swap.
    pub read: f64,
    /// Bytes per second written to swap.
    pub written: f64,
    /// The devices that are swap; empty where it is a file, and in recordings.
    pub devices: Vec<&'s str>,
}

impl<'s> SwapTraffic<'s> {
    /// The traffic of a sample; `None` without any, and where it is unknown.
    #[must_use]
    pub fn of(live: &'s Snapshot) -> Option<Self> {
        let read = live.host.swap_in_bytes_per_s?;
        let written = live.host.swap_out_bytes_per_s?;
        if read + written == 0.0 {
            return None;
        }
        let drives = live.drives.iter();
        let swap = drives.filter(|drive| drive.users.contains(&DeviceUse::Swap));
        Some(Self {
            read,
            written,
            devices: swap.map(|drive| drive.name.as_str()).collect(),
        })
    }

    /// Such as `swap in 180 out 175 MB/s`.
    #[must_use]
    pub fn text(&self) -> String {
        let cell = |bytes| Unit::BytesPerSecond.cell(bytes);
        format!(
            "swap in {} out {} MB/s",
            cell(self.read),
            cell(self.written)
        )
    }

    /// Whether the requests of the device contain this traffic: it is swap, or lies below swap.
    #[must_use]
    pub fn is_on(&self, device: &DeviceView, all: &[DeviceView]) -> bool {
        let is_swap = |name: &str| self.devices.contains(&name);
        let lies_on = |it: &DeviceView| it.underlying.contains(&device.name);
        is_swap(&device.name) || all.iter().any(|it| is_swap(&it.name) && lies_on(it))
    }

    /// The line of the text: how much of the requests of which devices is swap.
    #[must_use]
    pub fn line(&self) -> String {
        match self.devices.as_slice() {
            [] => self.text(),
            devices => format!("{} on {}", self.text(), devices.join(", ")),
        }
    }
}
