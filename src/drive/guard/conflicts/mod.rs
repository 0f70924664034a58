//! Who uses the bytes of a medium: the medium itself, what lies on it, what it lies on, and
//! everything else that leads to the same bytes.
//!
//! What cannot be found out is kept as [`Unresolved`] and counts as a use.

pub mod device_mapper;
mod device_nodes;
mod device_stack;
pub mod exports;
pub mod file_locks;
mod loop_devices;
mod mount_tables;
pub mod open_users;
mod overlay;
mod passthrough;
mod process_list;
mod same_disk;
mod same_file;
mod sole_opener;
mod words;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Instant;

use super::Refusal;
use super::hold::Hold;
use crate::drive::target::{FileId, Medium, TargetKind};
use crate::roots::Roots;
use device_stack::Search;
use file_locks::{PATIENCE, PAUSE};
use open_users::{OpenKind, OpenUsers, Unseen};
use overlay::RealFile;

/// One use that forbids writing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conflict {
    /// A file system is mounted.
    Mounted {
        /// The device that it lies on, or the file.
        device: String,
        /// Where.
        at: String,
    },
    /// A file system is mounted in another mount namespace, such as a container's.
    MountedElsewhere {
        /// The device that it lies on, or the file.
        device: String,
        /// Where in that namespace.
        at: String,
        /// A process of that namespace.
        process: u32,
    },
    /// A mounted file system of several devices has it among them.
    Member {
        /// The device.
        device: String,
        /// Type and identity of the file system, such as `btrfs UUID`.
        file_system: String,
    },
    /// The kernel swaps to it.
    Swap {
        /// The device or file.
        device: String,
    },
    /// A loop device is attached to it.
    Loop {
        /// The device or file.
        device: String,
        /// The loop device.
        by: String,
    },
    /// Another device lies on it.
    Held {
        /// The device.
        device: String,
        /// What lies on it.
        by: String,
    },
    /// Another device in use has, or may have, the same sectors.
    SameSectors {
        /// The other device.
        device: String,
        /// What both lie on, or the disk that both are paths to.
        lower: String,
    },
    /// A device that came up meanwhile is another path to the same disk.
    OtherPath {
        /// The device.
        device: String,
        /// The disk, by the name of the path that is used.
        disk: String,
    },
    /// The kernel serves it to other machines.
    Exported {
        /// The device or file.
        device: String,
        /// By what, such as `nvmet subsystem NAME`.
        by: String,
    },
    /// A process has it open.
    Open {
        /// The device or file.
        device: String,
        /// Its number.
        process: u32,
        /// Its name.
        command: String,
        /// Whether by a shared writable mapping, and not by a descriptor.
        mapped: bool,
    },
    /// A process has it mapped, for whatever purpose.
    Mapped {
        /// The device or file.
        device: String,
        /// Its number.
        process: u32,
        /// Its name.
        command: String,
    },
    /// A process reads it and serves a FUSE file system, perhaps from it.
    Served {
        /// The device or file.
        device: String,
        /// Its number.
        process: u32,
        /// Its name.
        command: String,
    },
    /// Somebody whom /proc does not show has it open for writing.
    OpenUnseen {
        /// The file.
        device: String,
    },
    /// Somebody holds a lock on it.
    Locked {
        /// The device or file.
        device: String,
        /// Number and name of the process, where they can be told.
        by: Option<(u32, String)>,
    },
    /// Another program, or a file system elsewhere, has taken a device with the same bytes for
    /// itself (`O_EXCL`).
    Taken {
        /// That device.
        device: String,
    },
    /// Another program, or a file system elsewhere, has taken it for itself (`O_EXCL`).
    Exclusive,
}

/// One question about the use of a medium that could not be answered.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unresolved {
    /// What a loop device is attached to.
    LoopDevice {
        /// The loop device.
        device: String,
        /// Why not.
        reason: String,
    },
    /// Which file a file system is mounted from.
    MountedFile {
        /// Where it is mounted.
        at: String,
        /// What the table of mounts says.
        source: String,
    },
    /// Which file a file system is mounted from that no visible table of mounts may have.
    FileSystem {
        /// Its name in sysfs.
        name: String,
    },
    /// Who has a file open for reading.
    Reader,
    /// Whether a device with the same bytes is taken.
    Device {
        /// The device.
        device: String,
        /// Why not.
        reason: String,
    },
    /// Which file of the upper directory an overlay's file is.
    Overlay {
        /// The mount point of the overlay.
        at: String,
    },
    /// What is served to other machines.
    Export {
        /// By what.
        by: String,
    },
    /// Which processes have it open.
    Processes(Unseen),
    /// Whether it came into use while it was written.
    Watch {
        /// Why not.
        reason: &'static str,
    },
    /// What is mounted in other mount namespaces.
    Mounts {
        /// Why not.
        reason: &'static str,
    },
    /// Whether anybody has the file open: no lease can be taken on it.
    Lease {
        /// Why not.
        reason: String,
    },
}

/// Another device with bytes of a medium, which nobody uses.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Alias {
    /// The kernel's name.
    pub name: String,
    /// How it comes to the same bytes.
    pub kind: AliasKind,
}

/// How a device comes to bytes of a medium.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AliasKind {
    /// A loop device that is attached to what the medium is attached to.
    Loop {
        /// The file or device.
        lower: String,
    },
    /// A device-mapper or md device on what the medium lies on.
    Holder {
        /// The lower device.
        lower: String,
    },
    /// Another path to the disk.
    Path {
        /// The disk, by the name of the path that leads to the medium.
        disk: String,
    },
    /// The device that a loop device is attached to.
    Lower {
        /// The loop device.
        upper: String,
    },
}

impl Alias {
    /// What it is when it came up while a medium is written: it is not held, and somebody can mount
    /// it in any mount namespace.
    pub(super) fn conflict(&self) -> Conflict {
        let by = self.name.clone();
        match &self.kind {
            AliasKind::Loop { lower } => Conflict::Loop {
                device: lower.clone(),
                by,
            },
            AliasKind::Holder { lower } => Conflict::Held {
                device: lower.clone(),
                by,
            },
            AliasKind::Path { disk } => Conflict::OtherPath {
                device: by,
                disk: disk.clone(),
            },
            AliasKind::Lower { upper } => Conflict::Loop {
                device: by,
                by: upper.clone(),
            },
        }
    }
}

/// Who uses a medium.
#[derive(Debug, Default)]
pub(super) struct Usage {
    /// What forbids writing, the most telling first.
    pub conflicts: Vec<Conflict>,
    /// What could not be found out.
    pub unresolved: Vec<Unresolved>,
    /// What the tables of the kernel left open before anything else was asked.
    pub questions: Vec<Unresolved>,
    /// Other devices with the same bytes.
    pub aliases: Vec<Alias>,
    /// Other devices with the same bytes, held so that nobody can mount or stack anything on them.
    pub holds: Vec<OwnedFd>,
}

/// How much is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// Everything; nobody holds the medium for us yet.
    Full,
    /// Everything but locks and leases, which we hold ourselves by now.
    Held,
    /// What a few tables tell: mounts of this namespace, swaps, loop devices, what is stacked.
    Tables,
}

/// Everything that forbids writing a medium. Questions that are `known` were there when the kernel
/// proved that nobody else has the file open: from then on only new ones count.
pub(super) fn find(
    roots: &Roots,
    medium: &Medium,
    depth: Depth,
    known: &[Unresolved],
) -> Result<Usage, Refusal> {
    let name = &medium.target.name;
    let mut search = Search::new(roots, name)?;
    search.target(medium.id(), name, Some(medium.anchor()))?;
    search.usage.questions = search.usage.unresolved.clone();
    if depth != Depth::Full {
        // Which file of an overlay it is was found out before, and it is being written now.
        search.usage.unresolved.retain(|question| {
            !known.contains(question) && !matches!(question, Unresolved::Overlay { .. })
        });
    }
    if depth == Depth::Tables {
        search.usage.aliases = search.aliases();
    } else {
        search.probe();
        if medium.target.kind != TargetKind::Scratch {
            openers(roots, medium, &mut search, depth);
        }
    }
    Ok(search.finish())
}

/// How the kernel uses a file as a medium: a loop device or file system lies in it, it is swapped to
/// or exported. Most questions without an answer are no use here: what is asked about is a file that
/// somebody named as an output, and hardly any is a medium. `written`: the file, open for writing,
/// where its bytes are going to change: then a file system that is mounted from a file counts, for no
/// table shows all of its files, unless nobody else has this one open; and a loop device that may not
/// be asked, where somebody has.
pub(super) fn find_for_file(
    roots: &Roots,
    id: FileId,
    name: &str,
    written: Option<&File>,
) -> Result<Usage, Refusal> {
    let mut search = Search::new(roots, name)?;
    search.target(id, name, written)?;
    search.loops_by_path(name);
    let Some(written) = written else {
        search.usage.unresolved.clear();
        return Ok(search.finish());
    };
    let mut answer = None;
    let mut is_open_elsewhere =
        || *answer.get_or_insert_with(|| sole_opener::is_open_elsewhere(roots, written));
    search.usage.unresolved.retain(|question| match question {
        Unresolved::MountedFile { .. } | Unresolved::FileSystem { .. } => {
            is_open_elsewhere() != Some(false)
        }
        // There are such devices on many machines, always attached.
        Unresolved::LoopDevice { .. } => is_open_elsewhere() == Some(true),
        _ => false,
    });
    Ok(search.finish())
}

/// Everything that the tables of the kernel tell of what has that identity.
#[cfg(test)]
pub(super) fn find_for(roots: &Roots, id: FileId, name: &str) -> Result<Usage, Refusal> {
    let mut search = Search::new(roots, name)?;
    search.target(id, name, None)?;
    search.usage.aliases = search.aliases();
    Ok(search.finish())
}

/// Whether opening a medium for writing makes a copy of all of it: it is a file in a lower directory
/// of an overlay.
pub(super) fn is_copied_when_opened(roots: &Roots, medium: &Medium) -> bool {
    medium.target.kind == TargetKind::File
        && matches!(overlay::real_file(roots, medium.anchor()), RealFile::Lower)
}

/// Locks and open descriptors.
fn openers(roots: &Roots, medium: &Medium, search: &mut Search<'_>, depth: Depth) {
    let name = &medium.target.name;
    let is_device = matches!(medium.id(), FileId::Device(..));
    if depth == Depth::Full
        && is_device
        && search.usage.conflicts.is_empty()
        && let Err(Refusal::InUse { conflicts, .. }) = Hold::is_free(medium)
    {
        search.usage.conflicts.extend(conflicts);
    }
    if depth == Depth::Full {
        let locked = file_locks::find(roots, medium.anchor(), &search.files(), name);
        search.usage.conflicts.extend(locked);
    }
    let found = lasting_users(roots, search);
    for user in found.users {
        let device = search.name_of(user.id, name);
        let (process, command) = (user.process, user.command);
        let conflict = match user.kind {
            OpenKind::Written | OpenKind::MappedForWriting => Conflict::Open {
                device,
                process,
                command,
                mapped: user.kind == OpenKind::MappedForWriting,
            },
            OpenKind::Mapped => Conflict::Mapped {
                device,
                process,
                command,
            },
            OpenKind::Served => Conflict::Served {
                device,
                process,
                command,
            },
            OpenKind::Locked => Conflict::Locked {
                device,
                by: Some((process, command)),
            },
        };
        search.usage.conflicts.push(conflict);
    }
    match medium.id() {
        FileId::Inode(..) if depth == Depth::Full => {
            sole_opener::ask(roots, medium, found.unseen, search);
        }
        // The lease was asked for before the file was locked for ourselves.
        FileId::Inode(..) => {}
        FileId::Device(..) => {
            let unseen = found.unseen.map(Unresolved::Processes);
            search.usage.unresolved.extend(unseen);
        }
    }
}

/// Who has it open for writing for longer than a moment.
fn lasting_users(roots: &Roots, search: &Search<'_>) -> OpenUsers {
    let began = Instant::now();
    loop {
        let found = open_users::find(roots, &|id, path| search.shares(id, path));
        if found.users.is_empty() || began.elapsed() > PATIENCE {
            return found;
        }
        std::thread::sleep(PAUSE);
    }
}

/// A [`Refusal`] for a table that cannot be read.
fn unknown(name: &str, tried: &'static str) -> impl FnOnce(io::Error) -> Refusal {
    let name = name.to_owned();
    move |source| Refusal::Unknown {
        name,
        tried,
        source,
    }
}
