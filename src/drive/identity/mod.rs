//! The identity of a drive, as the kernel reports it without root.

mod block_device;
mod details;
mod link;
mod read;
pub(crate) mod sysfs;
#[cfg(test)]
mod tests;
mod udev;
mod volume;

pub use self::block_device::{BlockDevice, DeviceUse, DriveKind};
pub use self::details::DeviceDetails;
pub use self::link::HostLink;
pub(crate) use self::read::block_device_name;
pub use self::read::{block_device_by_number, list_block_devices, read_block_device};
pub use self::sysfs::sanitized;
pub use self::volume::{VolumeKind, VolumeName};
