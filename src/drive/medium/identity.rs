//! The identity of an opened medium, to verify later that it is still the same one.

use std::fs::File;
use std::io;

use crate::drive::ioctl::LoopStatus;
use crate::drive::medium::FileId;
use crate::drive::{identity, ioctl};
use crate::roots::SysPaths;

/// Identity of an opened medium. Another drive under the same name or device number differs in at least one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediumIdentity {
    /// Device number, or file system and inode.
    pub file_id: FileId,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Disk sequence number: unique within one boot, new for each medium (kernel 5.15); `None` for files and older
    /// kernels.
    pub disk_sequence: Option<u64>,
    /// Model of the drive; `None` for files and if it is not reported.
    pub model: Option<String>,
    /// Serial number of the drive; `None` for files and if it is not reported.
    pub serial: Option<String>,
    /// What a loop device shows.
    pub loop_status: Option<LoopStatus>,
}

/// The first difference between two identities.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdentityChange {
    /// The name resolves to another device number or inode.
    #[error("the name leads to another device or file")]
    FileIdentity,
    /// The size in bytes, before and now.
    #[error("its size was {0} bytes and is {1} bytes")]
    Size(u64, u64),
    /// Another disk or medium was attached under the same device number.
    #[error("another disk or medium was attached under the same device number")]
    DiskSequence,
    /// A loop device shows another part of its file.
    #[error("the loop device got another file, or another offset or size limit in its file")]
    LoopRange,
    /// The drive reports another model or serial number.
    #[error("the drive reports another model or serial number")]
    Serial,
    /// The device no longer responds.
    #[error("the device no longer responds")]
    DeviceGone,
    /// Other bytes are on it than those that were shown.
    #[error("what is on it has changed")]
    Contents,
}

impl MediumIdentity {
    /// Reads the identity from an open descriptor; model and serial number come from sysfs.
    ///
    /// # Errors
    /// When the kernel does not report the inode or the size.
    pub fn read(roots: &SysPaths, file: &File) -> io::Result<Self> {
        let mut found = Self::read_from_descriptor(file)?;
        if let FileId::Device(major, minor) = found.file_id
            && let Some(drive) = identity::block_device_by_number(roots, (major, minor))
        {
            (found.model, found.serial) = (drive.model, drive.serial);
        }
        Ok(found)
    }

    fn read_from_descriptor(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let file_id = FileId::of_metadata(&metadata);
        let is_device = matches!(file_id, FileId::Device(..));
        Ok(Self {
            file_id,
            size_bytes: if is_device {
                ioctl::block_device_size(file)?
            } else {
                metadata.len()
            },
            disk_sequence: ioctl::disk_sequence(file).ok().filter(|_| is_device),
            model: None,
            serial: None,
            loop_status: ioctl::loop_status(file).ok().filter(|_| is_device),
        })
    }

    /// The first difference to a later identity; `None` if both identify the same medium.
    #[must_use]
    pub fn first_difference(&self, now: &Self) -> Option<IdentityChange> {
        if self.file_id != now.file_id {
            Some(IdentityChange::FileIdentity)
        } else if self.disk_sequence != now.disk_sequence {
            Some(IdentityChange::DiskSequence)
        } else if (&self.model, &self.serial) != (&now.model, &now.serial) {
            Some(IdentityChange::Serial)
        } else if self.size_bytes != now.size_bytes {
            Some(IdentityChange::Size(self.size_bytes, now.size_bytes))
        } else if self.loop_status != now.loop_status {
            Some(IdentityChange::LoopRange)
        } else {
            None
        }
    }

    /// The difference between this identity and an open file. sysfs is read only on kernels without disk sequence
    /// numbers; a regular file that stays open stays the same one.
    pub(super) fn difference_to_file(
        &self,
        roots: &SysPaths,
        file: &File,
    ) -> Option<IdentityChange> {
        let is_device = matches!(self.file_id, FileId::Device(..));
        let now = if is_device && self.disk_sequence.is_none() {
            Self::read(roots, file)
        } else {
            Self::read_from_descriptor(file)
        };
        let Ok(mut now) = now else {
            return Some(IdentityChange::DeviceGone);
        };
        if !is_device {
            now.size_bytes = self.size_bytes;
        }
        if self.disk_sequence.is_some() {
            (now.model, now.serial) = (self.model.clone(), self.serial.clone());
        }
        self.first_difference(&now)
    }
}
