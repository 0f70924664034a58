//! Notices that a medium comes into use while it is written. A block device is held, but nothing
//! keeps anybody from attaching a loop device to a regular file, or from mounting it.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};

use super::conflicts::{Depth, Unresolved};
use super::{KnownUse, Refusal, check};
use crate::drive::identity::entries;
use crate::drive::target::{Medium, TargetKind};
use crate::drive::{DriveError, scratch};
use crate::roots::Roots;

/// Watches a medium that is being written. Asked several times a second.
#[derive(Debug)]
pub struct WriteWatch {
    roots: Roots,
    medium: Arc<Medium>,
    /// The table of mounts, which can be polled for changes (proc_pid_mountinfo(5)).
    mounts: Option<File>,
    attached: Vec<Attachment>,
    swaps: Vec<u8>,
    /// Questions that were open when the permit was given.
    known: Arc<KnownUse>,
    /// Looks in succession that took too long.
    slow_looks: u32,
}

impl WriteWatch {
    /// Begins to watch, with what was known when the permit was given; `None` for a scratch file,
    /// which nobody else can reach.
    #[must_use]
    pub(crate) fn new(roots: &Roots, medium: &Arc<Medium>, known: Arc<KnownUse>) -> Option<Self> {
        if medium.target.kind == TargetKind::Scratch {
            return None;
        }
        Some(Self {
            roots: roots.clone(),
            medium: Arc::clone(medium),
            mounts: File::open(roots.proc.join("self/mountinfo")).ok(),
            // What changed since the permit was given is looked at the first time.
            attached: Vec::new(),
            swaps: Vec::new(),
            known,
            slow_looks: 0,
        })
    }

    /// Why writing must stop, when that came up since the last call.
    pub fn look(&mut self) -> Option<Refusal> {
        if !self.has_changed() {
            return None;
        }
        check(&self.roots, &self.medium, Depth::Tables, &self.known).err()
    }

    /// Why a file with holes must not be written any more: its file system has no room left.
    #[must_use]
    pub(crate) fn shortage(&self) -> Option<DriveError> {
        match self.medium.target.kind {
            TargetKind::File => scratch::shortage(&self.medium),
            _ => None,
        }
    }

    /// Counts a look; yields how many in succession were slow.
    pub(crate) fn count_slow(&mut self, is_slow: bool) -> u32 {
        self.slow_looks = if is_slow { self.slow_looks + 1 } else { 0 };
        self.slow_looks
    }

    /// Why a target must not be written any more that cannot be watched.
    #[must_use]
    pub(crate) fn blind(name: &str, reason: &'static str) -> DriveError {
        DriveError::Refused(Refusal::Unresolved {
            name: name.to_owned(),
            unresolved: vec![Unresolved::Watch { reason }],
        })
    }

    /// Whether anything was mounted, attached or swapped to since the last call.
    fn has_changed(&mut self) -> bool {
        let attached = attached(&self.roots);
        let swaps = fs::read(self.roots.proc.join("swaps")).unwrap_or_default();
        let same = attached == self.attached && swaps == self.swaps;
        (self.attached, self.swaps) = (attached, swaps);
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
type Attachment = (String, Vec<u8>, Vec<u8>);

/// The loop devices that are attached to something, and the file systems that are mounted from
/// files, also in other mount namespaces.
fn attached(roots: &Roots) -> Vec<Attachment> {
    let directory = roots.sys.join("class/block");
    let read =
        |name: &str, file: &str| fs::read(directory.join(name).join(file)).unwrap_or_default();
    let mut names = entries(&directory);
    names.retain(|name| name.starts_with("loop") && directory.join(name).join("loop").exists());
    let loops = names.into_iter().map(|name| {
        let (sequence, file) = (read(&name, "diskseq"), read(&name, "loop/backing_file"));
        (name, sequence, file)
    });
    let mounted = entries(&roots.sys.join("fs/erofs"));
    loops
        .chain(
            mounted
                .into_iter()
                .map(|name| (name, Vec::new(), Vec::new())),
        )
        .collect()
}
