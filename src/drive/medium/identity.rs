//! The identity of an opened medium, to verify later that it is still the same one.

use std::fs::File;
use std::io;

use crate::drive::medium::FileId;
use crate::drive::medium::identity_change::IdentityChange;
use crate::drive::{identity, ioctl};
use crate::roots::SysPaths;

/// Identity of an opened medium. Another drive under the same name or device number differs in at
/// least one field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediumIdentity {
    /// Device number, or file system and inode.
    pub file_id: FileId,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Disk sequence number: unique within one boot, new for each medium (kernel 5.15); `None` for
    /// files and older kernels.
    pub disk_sequence: Option<u64>,
    /// Model of the drive; `None` for files and if it is not reported.
    pub model: Option<String>,
    /// Serial number of the drive; `None` for files and if it is not reported.
    pub serial: Option<String>,
}

impl MediumIdentity {
    /// Reads the identity from an open descriptor; model and serial number come from sysfs.
    ///
    /// # Errors
    /// When the kernel does not report the inode or the size.
    pub fn read(roots: &SysPaths, file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        let id = FileId::of_metadata(&metadata);
        let FileId::Device(major, minor) = id else {
            return Ok(Self {
                file_id: id,
                size_bytes: metadata.len(),
                disk_sequence: None,
                model: None,
                serial: None,
            });
        };
        let drive = identity::block_device_by_number(roots, (major, minor));
        Ok(Self {
            file_id: id,
            size_bytes: ioctl::block_device_size(file)?,
            disk_sequence: ioctl::disk_sequence(file).ok(),
            model: drive.as_ref().and_then(|drive| drive.model.clone()),
            serial: drive.and_then(|drive| drive.serial),
        })
    }

    /// The first difference to a later identity; `None` if both identify the same medium.
    #[must_use]
    pub fn first_difference(&self, now: &Self) -> Option<IdentityChange> {
        if self.file_id != now.file_id {
            Some(IdentityChange::FileIdentity)
        } else if self.disk_sequence != now.disk_sequence {
            Some(IdentityChange::DiskSequence)
        } else if self.serial != now.serial {
            Some(IdentityChange::Serial)
        } else if self.model != now.model {
            Some(IdentityChange::Model)
        } else if self.size_bytes != now.size_bytes {
            Some(IdentityChange::Size(self.size_bytes, now.size_bytes))
        } else {
            None
        }
    }

    /// The difference between this identity and an open file: by device number or inode, disk
    /// sequence number and size. Does not read sysfs.
    pub(super) fn difference_to_file(&self, file: &File) -> Option<IdentityChange> {
        let Ok(metadata) = file.metadata() else {
            return Some(IdentityChange::DeviceGone);
        };
        let id = FileId::of_metadata(&metadata);
        if id != self.file_id {
            return Some(IdentityChange::FileIdentity);
        }
        if !matches!(id, FileId::Device(..)) {
            return None;
        }
        if ioctl::disk_sequence(file).ok() != self.disk_sequence {
            return Some(IdentityChange::DiskSequence);
        }
        match ioctl::block_device_size(file) {
            Ok(size) if size == self.size_bytes => None,
            Ok(size) => Some(IdentityChange::Size(self.size_bytes, size)),
            Err(_) => Some(IdentityChange::DeviceGone),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity() -> MediumIdentity {
        MediumIdentity {
            file_id: FileId::Device(8, 16),
            size_bytes: 1 << 30,
            disk_sequence: Some(7),
            model: Some("Ultra".to_owned()),
            serial: Some("4C53".to_owned()),
        }
    }

    #[test]
    fn identity_with_one_changed_field_differs() {
        let before = identity();
        assert_eq!(before.first_difference(&identity()), None);
        let changed = |change: fn(&mut MediumIdentity)| {
            let mut now = identity();
            change(&mut now);
            before.first_difference(&now)
        };
        type Edit = fn(&mut MediumIdentity);
        let cases: [(Edit, IdentityChange); 6] = [
            (
                |now| now.file_id = FileId::Device(8, 32),
                IdentityChange::FileIdentity,
            ),
            (
                |now| now.disk_sequence = Some(8),
                IdentityChange::DiskSequence,
            ),
            (|now| now.disk_sequence = None, IdentityChange::DiskSequence),
            (|now| now.serial = None, IdentityChange::Serial),
            (|now| now.model = None, IdentityChange::Model),
            (|now| now.size_bytes = 1, IdentityChange::Size(1 << 30, 1)),
        ];
        for (change, expected) in cases {
            assert_eq!(changed(change), Some(expected));
        }
    }

    #[test]
    fn identity_of_resized_file_differs() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(4096).unwrap();
        let roots = SysPaths::default();
        let before = MediumIdentity::read(&roots, &file).unwrap();
        file.set_len(8192).unwrap();
        let now = MediumIdentity::read(&roots, &file).unwrap();
        assert_eq!(
            before.first_difference(&now),
            Some(IdentityChange::Size(4096, 8192))
        );
    }
}
