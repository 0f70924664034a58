//! Opens a medium for reading or, with a permit, for writing.

use std::os::fd::OwnedFd;

use rustix::fs::OFlags;

use crate::drive::error::DriveError;
use crate::drive::guard::hold::HeldDescriptor;
use crate::drive::guard::usage_check;
use crate::drive::guard::write_permit::WritePermit;
use crate::drive::medium::open_medium::OpenMedium;

/// Read or write access of a descriptor. Write access requires a [`WritePermit`].
#[derive(Debug, Clone, Copy, Default)]
pub enum WriteMode<'a> {
    /// `O_RDONLY`.
    #[default]
    Read,
    /// `O_RDWR`, with a permit.
    Write(&'a WritePermit),
}

/// When a write completes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WriteDurability {
    /// When the kernel has accepted it.
    #[default]
    None,
    /// `O_DSYNC`.
    Dsync,
    /// `O_SYNC`.
    Sync,
}

/// How to open a medium.
#[derive(Debug, Clone, Copy, Default)]
pub struct MediumAccess<'a> {
    /// Read or write access.
    pub mode: WriteMode<'a>,
    /// `O_DIRECT`: bypass the page cache.
    pub direct: bool,
    /// When a write completes.
    pub durability: WriteDurability,
}

impl MediumAccess<'_> {
    fn open_flags(self) -> OFlags {
        let mut flags = match self.mode {
            WriteMode::Read => OFlags::RDONLY,
            WriteMode::Write(_) => OFlags::RDWR,
        };
        flags.set(OFlags::DIRECT, self.direct);
        flags |= match self.durability {
            WriteDurability::None => OFlags::empty(),
            WriteDurability::Dsync => OFlags::DSYNC,
            WriteDurability::Sync => OFlags::SYNC,
        };
        flags | OFlags::CLOEXEC
    }
}

impl OpenMedium {
    /// A descriptor of a block device for writing with this permit, by the open file that holds it exclusively:
    /// requests with other durability have to say so themselves. The checks that forbid writing run again.
    /// `None` where [`open`](Self::open) has to be used.
    ///
    /// # Errors
    /// When writing has become unsafe since the permit was given.
    pub fn held_descriptor(
        &self,
        permit: &WritePermit,
        direct: bool,
    ) -> Result<Option<HeldDescriptor>, DriveError> {
        if permit.id() != self.file_id() || self.device_changed_since_opened().is_some() {
            return Err(self.changed_error());
        }
        let held = permit.held_descriptor(direct);
        if held.is_some() {
            usage_check::check_after_open(self.roots(), self, permit)?;
        }
        Ok(held)
    }

    /// Opens another descriptor of the same inode, for reading or, with a permit for this medium,
    /// for writing. The checks that forbid writing run again after opening.
    ///
    /// # Errors
    /// When the kernel refuses (`O_DIRECT` that the file system does not support, a device that is
    /// gone), or when writing has become unsafe since the permit was given.
    pub fn open(&self, access: MediumAccess<'_>) -> Result<OwnedFd, DriveError> {
        if let WriteMode::Write(permit) = access.mode
            && permit.id() != self.file_id()
        {
            return Err(self.changed_error());
        }
        let file = self.reopen(access.open_flags())?;
        if let WriteMode::Write(permit) = access.mode {
            usage_check::check_after_open(self.roots(), self, permit)?;
        }
        Ok(file.into())
    }
}
