//! Notices that a medium comes into use while it is written. A block device is held, but nothing
//! keeps anybody from attaching a loop device to a regular file, or from mounting it.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};

use super::conflicts::{SearchDepth, UnresolvedUse};
use super::{KnownUse, Refusal, check_unused};
use crate::drive::identity::directory_entries;
use crate::drive::medium::{OpenMedium, TargetKind};
use crate::drive::{DriveError, scratch};
use crate::roots::SysPaths;

/// Watches a medium that is being written. Asked several times a second.
#[derive(Debug)]
pub struct WriteWatch {
    sys_paths: SysPaths,
    medium: Arc<OpenMedium>,
    /// The table of mounts, which can be polled for changes (proc_pid_mountinfo(5)).
    mounts: Option<File>,
    attachments: Vec<AttachmentKey>,
    swaps: Vec<u8>,
    /// Questions that were open when the permit was given.
    known_use: Arc<KnownUse>,
    /// Looks in succession that took too long.
    consecutive_slow_checks: u32,
}

impl WriteWatch {
    /// Begins to watch, with what was known when the permit was given; `None` for a scratch file,
    /// which nobody else can reach.
    #[must_use]
    pub(crate) fn new(
        roots: &SysPaths,
        medium: &Arc<OpenMedium>,
        known: Arc<KnownUse>,
    ) -> Option<Self> {
        if medium.target.kind == TargetKind::ScratchFile {
            return None;
        }
        Some(Self {
            sys_paths: roots.clone(),
            medium: Arc::clone(medium),
            mounts: File::open(roots.proc.join("self/mountinfo")).ok(),
            // What changed since the permit was given is looked at the first time.
            attachments: Vec::new(),
            swaps: Vec::new(),
            known_use: known,
            consecutive_slow_checks: 0,
        })
    }

    /// Why writing must stop, when that came up since the last call.
    pub fn check_conflicts(&mut self) -> Option<Refusal> {
        if !self.has_changed() {
            return None;
        }
        check_unused(
            &self.sys_paths,
            &self.medium,
            SearchDepth::KernelTablesOnly,
            &self.known_use,
        )
        .err()
    }

    /// Why a file with holes must not be written any more: its file system has no room left.
    #[must_use]
    pub(crate) fn space_shortage(&self) -> Option<DriveError> {
        match self.medium.target.kind {
            TargetKind::File => scratch::space_shortage(&self.medium),
            _ => None,
        }
    }

    /// Counts a look; yields how many in succession were slow.
    pub(crate) fn count_slow_check(&mut self, is_slow: bool) -> u32 {
        self.consecutive_slow_checks = if is_slow {
            self.consecutive_slow_checks + 1
        } else {
            0
        };
        self.consecutive_slow_checks
    }

    /// Why a target must not be written any more that cannot be watched.
    #[must_use]
    pub(crate) fn unwatchable_error(name: &str, reason: &'static str) -> DriveError {
        DriveError::Refused(Refusal::Unresolved {
            name: name.to_owned(),
            unresolved: vec![UnresolvedUse::UseWhileWriting { reason }],
        })
    }

    /// Whether anything was mounted, attached or swapped to since the last call.
    fn has_changed(&mut self) -> bool {
        let attached = read_attachments(&self.sys_paths);
        let swaps = fs::read(self.sys_paths.proc.join("swaps")).unwrap_or_default();
        let same = attached == self.attachments && swaps == self.swaps;
        (self.attachments, self.swaps) = (attached, swaps);
        !same || self.mounts_changed()
    }

    fn mounts_changed(&self) -> bool {
        let Some(mounts) = &self.mounts else {
            return true;
        };
        let borrowed = mounts.as_fd();
        let mut polled = [PollFd::new(&borrowed, PollFlags::PRI)];
        let now = Timespec::default();
        // An error that cannot be told from a change counts as one.
        rustix::event::poll(&mut polled, Some(&now)).is_err() || !polled[0].revents().is_empty()
    }
}

/// Something that is attached to something. A loop device that is attached anew within a moment
/// keeps its name, but not its sequence number.
type AttachmentKey = (String, Vec<u8>, Vec<u8>);

/// The loop devices that are attached to something, and the file systems that are mounted from
/// files, also in other mount namespaces.
fn read_attachments(roots: &SysPaths) -> Vec<AttachmentKey> {
    let directory = roots.sys.join("class/block");
    let read =
        |name: &str, file: &str| fs::read(directory.join(name).join(file)).unwrap_or_default();
    let mut names = directory_entries(&directory);
    names.retain(|name| name.starts_with("loop") && directory.join(name).join("loop").exists());
    let loops = names.into_iter().map(|name| {
        let (sequence, file) = (read(&name, "diskseq"), read(&name, "loop/backing_file"));
        (name, sequence, file)
    });
    let mounted = directory_entries(&roots.sys.join("fs/erofs"));
    loops
        .chain(
            mounted
                .into_iter()
                .map(|name| (name, Vec::new(), Vec::new())),
        )
        .collect()
}
