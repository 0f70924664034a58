//! The permission to write a target.

use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rustix::fs::{OFlags, fcntl_setfl};

use crate::drive::error::{DriveError, io_error_context};
use crate::drive::guard::consent::{Consent, check_contents, check_path};
use crate::drive::guard::refusal::{Reason, Refusal};
use crate::drive::guard::stack::Stack;
use crate::drive::guard::users::find_users_of_medium;
use crate::drive::guard::uses::{Usage, Uses};
use crate::drive::guard::{claim, lease};
use crate::drive::ioctl;
use crate::drive::medium::{FileId, OpenMedium, TargetKind};
use crate::roots::SysPaths;

/// Block devices with fewer bytes are not written: everything that people store is larger.
const MIN_DEVICE_BYTES: u64 = 16 << 20;

/// The permission to write one medium, which excludes others from it while it lives.
///
/// It ends after what was written to a block device by way of its page cache is on the drive.
#[derive(Debug)]
pub struct WritePermit {
    medium: Arc<OpenMedium>,
    /// Other paths to the disk, and devices below loop devices, by kernel name, claimed.
    other_paths: Vec<(String, File)>,
    /// Whether descriptors of plans bypass the page cache, and whether there are any.
    sharing: Mutex<(bool, Weak<()>)>,
    /// Whether a plan went by way of the page cache.
    is_cached: AtomicBool,
}

/// A descriptor of a plan: of the one open file description that holds the target. A request that the kernel has not
/// completed keeps that open: nobody else gets the target before, also when this process has ended.
#[derive(Debug)]
pub struct PermittedFile {
    file: OwnedFd,
    /// Alive while there is such a descriptor: the flags of the description belong to all.
    _sharing: Option<Arc<()>>,
}

impl AsFd for PermittedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl AsRawFd for PermittedFile {
    fn as_raw_fd(&self) -> RawFd {
        self.file.as_raw_fd()
    }
}

/// Permits writing a medium, or refuses it. A scratch file has no name by which others could open it, and needs no
/// consent.
///
/// # Errors
/// Without consent, when the consent names another target or covers less than would be lost, when the medium is in
/// use or protected, or when that cannot be determined.
pub fn permit_writing(
    roots: &SysPaths,
    medium: &Arc<OpenMedium>,
    consent: Option<&Consent>,
) -> Result<WritePermit, Refusal> {
    let refuse = |reason| Refusal::new(&medium.target.name, reason);
    let permit = |other_paths| WritePermit {
        medium: Arc::clone(medium),
        other_paths,
        sharing: Mutex::default(),
        is_cached: AtomicBool::new(false),
    };
    if medium.target.kind == TargetKind::ScratchFile {
        return Ok(permit(Vec::new()));
    }
    let Some(consent) = consent else {
        // Consent is not asked for in vain.
        let reason = check_unused(roots, medium).err();
        return Err(refuse(reason.unwrap_or(Reason::NoConsent)));
    };
    check_path(medium, consent).map_err(refuse)?;
    check_target(medium).map_err(refuse)?;
    if let Some(change) = medium.changed_since_opened() {
        return Err(refuse(Reason::Changed(change)));
    }
    // From here on the permit gives the target up again when a check refuses.
    let permit = if medium.device_number().is_some() {
        let permit = permit(hold_device(roots, medium).map_err(refuse)?);
        check_users(roots, medium).map_err(refuse)?;
        permit
    } else {
        lease::open_under_lease(medium).map_err(|reason| refuse(named(roots, medium, reason)))?;
        permit(Vec::new())
    };
    check_contents(medium, consent).map_err(refuse)?;
    Ok(permit)
}

/// Checks for what forbids writing regardless of consent, so that consent is not asked for in vain. Nothing is
/// opened for writing.
///
/// # Errors
/// When the medium is in use or protected, or when that cannot be determined.
pub fn check_not_in_use(roots: &SysPaths, medium: &OpenMedium) -> Result<(), Refusal> {
    check_unused(roots, medium).map_err(|reason| Refusal::new(&medium.target.name, reason))
}

fn check_unused(roots: &SysPaths, medium: &OpenMedium) -> Result<(), Reason> {
    check_target(medium)?;
    let Some(device) = device_name(medium) else {
        let checked = lease::check_sole_opener(medium);
        return checked.map_err(|reason| named(roots, medium, reason));
    };
    check_users(roots, medium)?;
    let mut names = Stack::of_devices(roots, &[&device]).unclaimed;
    names.push(device);
    claim::claim_others(roots, names, &Usage::Exclusive).map(drop)
}

/// What the kind of a target forbids.
fn check_target(medium: &OpenMedium) -> Result<(), Reason> {
    if medium.device_number().is_none() {
        return lease::check_file(medium);
    }
    let name = device_name(medium).unwrap_or_default();
    if name.starts_with("mtdblock") || name.starts_with("ubiblock") {
        return Err(Reason::FlashMemory);
    }
    let size = medium.identity().size_bytes;
    if size < MIN_DEVICE_BYTES {
        return Err(Reason::TooSmall(size));
    }
    if ioctl::is_read_only(&*medium.file()).unwrap_or(false) {
        return Err(Reason::ReadOnly);
    }
    Ok(())
}

/// The kernel name of a target that is a block device.
fn device_name(medium: &OpenMedium) -> Option<String> {
    medium.device_number()?;
    Some(medium.target.drive.as_ref()?.name.clone())
}

/// Claims a block device and the other paths to its disk, and makes the claim the one open file description of the
/// medium.
fn hold_device(roots: &SysPaths, medium: &Arc<OpenMedium>) -> Result<Vec<(String, File)>, Reason> {
    let Some(name) = device_name(medium) else {
        return Err(Reason::Failed {
            tried: "found in /sys",
            source: std::io::ErrorKind::NotFound.into(),
        });
    };
    let file = claim::claim_device(medium).map_err(|reason| named(roots, medium, reason))?;
    let stack = Stack::of_devices(roots, &[&name]);
    let mut others = claim::claim_others(roots, stack.other_paths(roots), &Usage::OtherPath)?;
    let lower = claim::claim_others(roots, stack.unclaimed, &Usage::Exclusive);
    others.extend(lower.map_err(|reason| named(roots, medium, reason))?);
    medium.hold(file);
    Ok(others)
}

/// Refuses a device that somebody uses, or may use.
fn check_users(roots: &SysPaths, medium: &OpenMedium) -> Result<(), Reason> {
    let Uses { users, unknown } = find_users_of_medium(roots, medium);
    if !users.is_empty() {
        return Err(Reason::InUse(users));
    }
    if !unknown.is_empty() {
        return Err(Reason::Unknown(unknown));
    }
    Ok(())
}

/// Replaces users that the kernel only counts by those that can be named.
fn named(roots: &SysPaths, medium: &OpenMedium, reason: Reason) -> Reason {
    let Reason::InUse(counted) = reason else {
        return reason;
    };
    let users = find_users_of_medium(roots, medium).users;
    Reason::InUse(if users.is_empty() { counted } else { users })
}

impl WritePermit {
    /// The medium that the permit is valid for.
    #[must_use]
    pub fn id(&self) -> FileId {
        self.medium.file_id()
    }

    /// The medium.
    pub(super) fn medium(&self) -> &Arc<OpenMedium> {
        &self.medium
    }

    /// Kernel names of the other paths to the disk, which are claimed as well.
    pub(super) fn other_paths(&self) -> Vec<String> {
        self.other_paths
            .iter()
            .map(|(name, _)| name.clone())
            .collect()
    }

    /// A descriptor for one plan, with or without `O_DIRECT`, for reading and writing. Writes that are to be durable
    /// have to say so themselves (`RWF_DSYNC`).
    ///
    /// # Errors
    /// When the target is not the one that was opened any more, when the file system has no `O_DIRECT`, or while a
    /// plan with the other flag runs.
    pub fn open(&self, direct: bool) -> Result<PermittedFile, DriveError> {
        let medium = &self.medium;
        let name = &medium.target.name;
        if medium.target.kind == TargetKind::ScratchFile {
            let mut flags = OFlags::RDWR | OFlags::CLOEXEC;
            flags.set(OFlags::DIRECT, direct);
            return Ok(PermittedFile {
                file: medium.reopen(flags)?.into(),
                _sharing: None,
            });
        }
        let held = medium.file();
        if medium.device_number().is_some() && medium.difference_to(&held).is_some() {
            return Err(medium.changed_error());
        }
        let mut sharing = self.sharing.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = match sharing.1.upgrade() {
            Some(shared) if sharing.0 == direct => shared,
            Some(_) => return Err(io_error_context("open", name)(rustix::io::Errno::BUSY)),
            None => Arc::default(),
        };
        let mut flags = OFlags::empty();
        flags.set(OFlags::DIRECT, direct);
        fcntl_setfl(&*held, flags).map_err(io_error_context("open", name))?;
        let file = held
            .try_clone()
            .map_err(io_error_context("open", name))?
            .into();
        self.is_cached.fetch_or(!direct, Ordering::AcqRel);
        *sharing = (direct, Arc::downgrade(&shared));
        Ok(PermittedFile {
            file,
            _sharing: Some(shared),
        })
    }

    /// Writes back what was written to a block device by way of its page cache, and waits for it. The end of the
    /// permit does the same, before others can use the device.
    pub(crate) fn write_back(&self) {
        if self.medium.device_number().is_some() && self.is_cached.load(Ordering::Acquire) {
            claim::write_back(&*self.medium.file());
        }
    }
}

impl Drop for WritePermit {
    fn drop(&mut self) {
        if self.medium.target.kind != TargetKind::ScratchFile {
            self.write_back();
            self.medium.give_up();
        }
    }
}
