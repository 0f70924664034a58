//! Differences between two media.

use std::fmt;

/// The first difference between two identities.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IdentityChange {
    /// The name resolves to another device number or inode.
    FileIdentity,
    /// The size in bytes, before and now.
    Size(u64, u64),
    /// Another disk or medium was attached under the same device number.
    DiskSequence,
    /// Another disk or medium was attached under the device number of a device below it.
    LowerDiskSequence {
        /// The device.
        device: String,
    },
    /// A loop device shows another part of its file.
    LoopRange {
        /// The loop device.
        device: String,
    },
    /// The drive reports another model.
    Model,
    /// The drive reports another serial number.
    Serial,
    /// The device no longer responds.
    DeviceGone,
}

impl fmt::Display for IdentityChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FileIdentity => f.write_str("the name leads to another device or file"),
            Self::Size(before, now) => write!(f, "its size was {before} bytes and is {now} bytes"),
            Self::DiskSequence => {
                f.write_str("another disk or medium was attached under the same device number")
            }
            Self::LowerDiskSequence { device } => write!(
                f,
                "another disk or medium was attached as {device}, which it is on"
            ),
            Self::LoopRange { device } => write!(
                f,
                "the loop device {device} got another offset or size limit in its file"
            ),
            Self::Model => f.write_str("the drive reports another model"),
            Self::Serial => f.write_str("the drive reports another serial number"),
            Self::DeviceGone => f.write_str("the device no longer responds"),
        }
    }
}
