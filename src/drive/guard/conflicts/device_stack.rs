//! What is stacked on a device, what it is stacked on, and what else lies on that.

use std::fs;
use std::io;
use std::path::PathBuf;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::device_mapper::{self, Piece};
use super::exports::{self, Export};
use super::loop_devices::{self, AttachedLoop};
use super::mount_tables::{self, Backing, PlacedMount};
use super::{Conflict, Depth, Unresolved, Usage, device_nodes, same_disk, unknown};
use crate::drive::guard::Refusal;
use crate::drive::identity::{self, entries, harmless};
use crate::drive::mounts::{self, Swap};
use crate::drive::target::FileId;
use crate::roots::Roots;

/// The state of one search.
pub(super) struct Search<'a> {
    pub(super) roots: &'a Roots,
    pub(super) usage: Usage,
    mounts: Vec<PlacedMount>,
    needs_device: Vec<String>,
    swaps: Vec<Swap>,
    loops: Vec<AttachedLoop>,
    members: Vec<(String, String)>,
    exports: Vec<Export>,
    /// Devices whose uses have been looked at.
    seen: Vec<String>,
    /// The target and everything that it lies on.
    own: Vec<String>,
    /// Everything with bytes of the target, by name.
    shared: Vec<(FileId, String)>,
    /// Other devices with the same bytes, which must not be taken by anybody.
    aliases: Vec<String>,
    /// Sectors of the whole disk that a partition has.
    sectors: Option<(u64, u64)>,
    /// What the target itself is.
    itself: Option<FileId>,
}

impl<'a> Search<'a> {
    /// Reads the tables of the kernel.
    pub(super) fn new(roots: &'a Roots, name: &str, depth: Depth) -> Result<Self, Refusal> {
        let everywhere = depth != Depth::Tables;
        Ok(Self {
            roots,
            usage: Usage::default(),
            mounts: mount_tables::read(roots, everywhere)
                .map_err(unknown(name, "read the table of mounts"))?,
            needs_device: mount_tables::types_with_device(roots),
            swaps: mounts::swaps(roots).map_err(unknown(name, "read the table of swaps"))?,
            loops: loop_devices::list(roots).map_err(unknown(name, "list the loop devices"))?,
            members: members(roots),
            exports: exports::list(roots),
            seen: Vec::new(),
            own: Vec::new(),
            shared: Vec::new(),
            aliases: Vec::new(),
            sectors: None,
            itself: None,
        })
    }

    /// Everything that leads to the bytes of what has that identity.
    pub(super) fn target(&mut self, id: FileId, name: &str) -> Result<(), Refusal> {
        self.itself = Some(id);
        match id {
            FileId::Device(major, minor) => {
                let absent = unknown(name, "find it in /sys/class/block");
                let device = identity::name_of(self.roots, (major, minor))
                    .ok_or_else(|| absent(io::ErrorKind::NotFound.into()))?;
                self.own.push(device.clone());
                self.device_and_parts(&device);
                self.below(&device);
            }
            FileId::Inode(..) => self.file(id, name),
        }
        self.unidentified_users();
        Ok(())
    }

    /// What was found, without repetitions.
    pub(super) fn finish(mut self) -> Usage {
        self.usage.conflicts.sort();
        self.usage.conflicts.dedup();
        self.usage.unresolved.sort();
        self.usage.unresolved.dedup();
        self.usage
    }

    /// Takes every other device with the same bytes for ourselves: that fails when a file system of
    /// whatever mount namespace lies on it, and keeps others off while the result lives.
    pub(super) fn probe(&mut self) {
        for name in std::mem::take(&mut self.aliases) {
            let Some(number) = self.number(&name) else {
                continue;
            };
            let device = harmless(&name);
            match device_nodes::open(self.roots, &name, number, OFlags::EXCL) {
                Ok(file) => self.usage.holds.push(file.into()),
                Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
                    self.usage.conflicts.push(Conflict::Taken { device });
                }
                Err(error) => self.usage.unresolved.push(Unresolved::Device {
                    device,
                    reason: error.to_string(),
                }),
            }
        }
    }

    /// Whether something has, or may have, bytes of the target.
    pub(super) fn shares(&self, id: FileId) -> bool {
        let itself = self.itself.into_iter();
        let mut all = itself.chain(self.shared.iter().map(|(id, _)| *id));
        all.any(|known| known == id || self.is_same_in_overlay(known, id))
    }

    /// What to call something that shares bytes with the target.
    pub(super) fn name_of(&self, id: FileId, target: &str) -> String {
        let known = self.shared.iter().find(|(known, _)| *known == id);
        known.map_or_else(|| target.to_owned(), |(_, name)| name.clone())
    }

    /// Files that the target lies in.
    pub(super) fn files(&self) -> Vec<FileId> {
        let ids = self.shared.iter().map(|(id, _)| *id);
        ids.filter(|id| matches!(id, FileId::Inode(..))).collect()
    }

    /// An overlay shows a file under a device number of its own and keeps the inode's number.
    fn is_same_in_overlay(&self, one: FileId, other: FileId) -> bool {
        let (FileId::Inode(device, inode), FileId::Inode(theirs, same)) = (one, other) else {
            return false;
        };
        inode == same && (self.is_overlay(device) != self.is_overlay(theirs))
    }

    fn is_overlay(&self, device: u64) -> bool {
        let number = mounts::split_number(device);
        self.mounts
            .iter()
            .any(|placed| placed.mount.file_system == "overlay" && placed.mount.number == number)
    }

    /// The same for what a loop device is attached to, which may also be a file of an overlay that
    /// no visible mount namespace has.
    fn may_be_backing(&self, one: FileId, other: FileId) -> bool {
        if one == other || self.is_same_in_overlay(one, other) {
            return true;
        }
        let (FileId::Inode(device, inode), FileId::Inode(theirs, same)) = (one, other) else {
            return false;
        };
        inode == same && (self.is_unknown(device) || self.is_unknown(theirs))
    }

    /// Whether a device number belongs to no visible mount and to no block device.
    fn is_unknown(&self, device: u64) -> bool {
        let number = mounts::split_number(device);
        number.0 == 0
            && self
                .mounts
                .iter()
                .all(|placed| placed.mount.number != number)
    }

    /// A device, its partitions, and all that lies on them.
    fn device_and_parts(&mut self, name: &str) {
        self.device(name);
        for part in self.parts(name) {
            self.device(&part);
        }
    }

    fn parts(&self, name: &str) -> Vec<String> {
        let directory = self.directory(name);
        let mut parts = entries(&directory);
        parts.retain(|part| directory.join(part).join("partition").exists());
        parts
    }

    /// Uses of one device and of all that is stacked on it. A circle is not possible in a kernel,
    /// but in a file of a test.
    fn device(&mut self, name: &str) {
        if self.seen.iter().any(|seen| seen == name) {
            return;
        }
        self.seen.push(name.to_owned());
        let Some(number) = self.number(name) else {
            return;
        };
        let id = FileId::Device(number.0, number.1);
        self.shared.push((id, harmless(name)));
        self.direct_uses(name, number);
        for holder in entries(&self.directory(name).join("holders")) {
            if !self.own.contains(&holder) {
                self.usage.conflicts.push(Conflict::Held {
                    device: name.to_owned(),
                    by: harmless(&holder),
                });
                self.device_and_parts(&holder);
            }
        }
        self.attached(id, name);
    }

    /// Mounts, swap and exports of the device with that number.
    fn direct_uses(&mut self, name: &str, number: (u32, u32)) {
        let device = || name.to_owned();
        for placed in self
            .mounts
            .iter()
            .filter(|placed| placed.mount.is_on(number))
        {
            self.usage.conflicts.push(placed.conflict(name));
        }
        if self.swaps.iter().any(|swap| swap.number == Some(number)) {
            self.usage
                .conflicts
                .push(Conflict::Swap { device: device() });
        }
        for (_, file_system) in self.members.iter().filter(|(member, _)| member == name) {
            self.usage.conflicts.push(Conflict::Member {
                device: device(),
                file_system: file_system.clone(),
            });
        }
        self.exported(FileId::Device(number.0, number.1), name);
    }

    fn exported(&mut self, id: FileId, name: &str) {
        for export in &self.exports {
            match export.what {
                Some(what) if self.may_be_backing(what, id) => {
                    self.usage.conflicts.push(Conflict::Exported {
                        device: name.to_owned(),
                        by: export.by.clone(),
                    });
                }
                Some(_) => {}
                None => self.usage.unresolved.push(Unresolved::Export {
                    by: export.by.clone(),
                }),
            }
        }
    }

    /// Loop devices attached to a device or file, and what lies on them.
    fn attached(&mut self, id: FileId, name: &str) {
        for by in self.loops_on(id) {
            self.usage.conflicts.push(Conflict::Loop {
                device: name.to_owned(),
                by: by.clone(),
            });
            self.device_and_parts(&by);
        }
    }

    /// Loop devices attached to that, except the target and what it lies on.
    fn loops_on(&self, id: FileId) -> Vec<String> {
        self.loops
            .iter()
            .filter(|one| !self.own.contains(&one.name))
            .filter(|one| {
                let backing = one.backing.as_ref();
                backing.is_ok_and(|backing| self.may_be_backing(*backing, id))
            })
            .map(|one| one.name.clone())
            .collect()
    }

    /// Everything that a device lies on, and what else lies on that.
    fn below(&mut self, name: &str) {
        self.whole_of(name);
        self.backing_of(name);
        let slaves = entries(&self.directory(name).join("slaves"));
        let new: Vec<String> = slaves
            .iter()
            .filter(|slave| !self.own.contains(slave))
            .cloned()
            .collect();
        // All paths of a multipath device are its own.
        self.own.extend(new.iter().cloned());
        for slave in &new {
            self.lower(slave, name);
        }
        if slaves.is_empty() {
            self.other_paths(name);
        }
    }

    /// A partition is in use also when the whole of which it is a part is taken as one, or when
    /// another partition has the same sectors.
    fn whole_of(&mut self, name: &str) {
        let Some(whole) = identity::read(self.roots, name).and_then(|drive| drive.parent) else {
            return;
        };
        if self.own.contains(&whole) {
            return;
        }
        self.own.push(whole.clone());
        self.sectors = self.extent(name);
        self.device(&whole);
        for part in self.overlapping_parts(&whole) {
            self.device(&part);
        }
        self.below(&whole);
    }

    /// Partitions of a whole disk that have sectors of the target.
    fn overlapping_parts(&self, whole: &str) -> Vec<String> {
        let mut parts = self.parts(whole);
        if let Some((start, length)) = self.sectors {
            parts.retain(|part| {
                self.extent(part).is_none_or(|(other, size)| {
                    other < start.saturating_add(length) && start < other.saturating_add(size)
                })
            });
        }
        parts
    }

    /// First sector and number of sectors of a partition.
    fn extent(&self, part: &str) -> Option<(u64, u64)> {
        let directory = self.directory(part);
        let number = |file: &str| -> Option<u64> {
            let text = fs::read_to_string(directory.join(file)).ok()?;
            text.trim().parse().ok()
        };
        Some((number("start")?, number("size")?))
    }

    /// What a loop device is attached to: it does not hold it.
    fn backing_of(&mut self, name: &str) {
        let Some(own) = self.loops.iter().find(|one| one.name == name).cloned() else {
            return;
        };
        // Its bytes are a part of those below, which one is not followed.
        self.sectors = None;
        match own.backing {
            Ok(FileId::Device(major, minor)) => {
                let Some(lower) = identity::name_of(self.roots, (major, minor)) else {
                    return self.usage.unresolved.push(Unresolved::Device {
                        device: format!("{major}:{minor}"),
                        reason: "it is not in /sys/class/block".to_owned(),
                    });
                };
                if !self.own.contains(&lower) {
                    self.own.push(lower.clone());
                    self.aliases.push(lower.clone());
                    self.siblings(FileId::Device(major, minor));
                    self.device_and_parts(&lower);
                    self.below(&lower);
                }
            }
            Ok(file) => {
                self.siblings(file);
                self.file(file, &own.path);
            }
            Err(reason) => self.usage.unresolved.push(Unresolved::LoopDevice {
                device: own.name,
                reason,
            }),
        }
    }

    /// Other loop devices on the file or device that the target is attached to. They are no conflict
    /// as long as nobody uses them.
    fn siblings(&mut self, backing: FileId) {
        for sibling in self.loops_on(backing) {
            self.sibling(&sibling, "what it is attached to");
        }
        // They have been looked at.
        self.loops
            .retain(|one| !self.seen.contains(&one.name) || self.own.contains(&one.name));
    }

    /// Another device with the same bytes: a conflict when it is used.
    fn sibling(&mut self, name: &str, lower: &str) {
        let before = self.usage.conflicts.len();
        self.device_and_parts(name);
        if self.usage.conflicts.len() > before {
            self.usage.conflicts.push(Conflict::SameSectors {
                device: harmless(name),
                lower: lower.to_owned(),
            });
        }
        self.aliases.push(name.to_owned());
    }

    /// A device that the target holds: its other holders have other sectors, or are siblings.
    fn lower(&mut self, name: &str, upper: &str) {
        let Some(number) = self.number(name) else {
            return;
        };
        let id = FileId::Device(number.0, number.1);
        self.seen.push(name.to_owned());
        self.shared.push((id, harmless(name)));
        self.direct_uses(name, number);
        self.attached(id, name);
        for holder in entries(&self.directory(name).join("holders")) {
            if !self.own.contains(&holder) && !self.are_disjoint(upper, &holder, number) {
                self.sibling(&holder, &harmless(name));
            }
        }
        self.below(name);
    }

    /// Whether two device-mapper devices provably have no sector of a lower device in common.
    fn are_disjoint(&self, one: &str, other: &str, lower: (u32, u32)) -> bool {
        let pieces = |name: &str| -> Option<Vec<Piece>> {
            device_mapper::pieces(self.roots, self.number(name)?).ok()
        };
        let (Some(one), Some(other)) = (pieces(one), pieces(other)) else {
            return false;
        };
        device_mapper::are_disjoint(&one, &other, lower)
    }

    /// The same disk by another path.
    fn other_paths(&mut self, name: &str) {
        for other in same_disk::others(self.roots, name) {
            if self.own.contains(&other) {
                continue;
            }
            let before = self.usage.conflicts.len();
            self.device(&other);
            let parts = self.overlapping_parts(&other);
            for part in &parts {
                self.device(part);
            }
            if self.usage.conflicts.len() > before {
                self.usage.conflicts.push(Conflict::SameSectors {
                    device: harmless(&other),
                    lower: format!("the disk that is also {}", harmless(name)),
                });
            }
            match self.sectors {
                None => self.aliases.push(other),
                Some(_) => self.aliases.extend(parts),
            }
        }
    }

    /// A regular file: swapped to, attached to a loop device, exported, or mounted as it is.
    fn file(&mut self, id: FileId, name: &str) {
        self.shared.push((id, harmless(name)));
        let same = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|facts| self.may_be_backing(FileId::of(&facts), id))
        };
        if self.swaps.iter().any(|swap| same(&swap.path)) {
            self.usage.conflicts.push(Conflict::Swap {
                device: harmless(name),
            });
        }
        for placed in &self.mounts {
            match placed.file(self.roots, &self.needs_device) {
                Some(Backing::File(file)) if self.may_be_backing(file, id) => {
                    self.usage.conflicts.push(placed.conflict(&harmless(name)));
                }
                Some(Backing::Unknown(question)) => self.usage.unresolved.push(question),
                Some(Backing::File(_)) | None => {}
            }
        }
        self.exported(id, &harmless(name));
        self.attached(id, &harmless(name));
    }

    /// Loop devices that cannot be asked, by the path that sysfs shows: all that is known to a user
    /// who may not open them.
    pub(super) fn loops_by_path(&mut self, id: FileId, name: &str) {
        let unasked = self.loops.iter().filter(|one| one.backing.is_err());
        let attached = unasked.filter(|one| {
            fs::metadata(&one.path).is_ok_and(|facts| self.may_be_backing(FileId::of(&facts), id))
        });
        let conflicts = attached.map(|one| Conflict::Loop {
            device: harmless(name),
            by: one.name.clone(),
        });
        let conflicts: Vec<_> = conflicts.collect();
        self.usage.conflicts.extend(conflicts);
    }

    /// A loop device that cannot be asked may be attached to anything, and a file system be mounted
    /// from any file.
    pub(super) fn unidentified_users(&mut self) {
        for one in &self.loops {
            if let Err(reason) = &one.backing {
                self.usage.unresolved.push(Unresolved::LoopDevice {
                    device: format!("{} ({})", one.name, one.path),
                    reason: reason.clone(),
                });
            }
        }
        if !matches!(self.itself, Some(FileId::Inode(..))) {
            return;
        }
        for placed in &self.mounts {
            if let Some(Backing::Unknown(question)) = placed.file(self.roots, &self.needs_device) {
                self.usage.unresolved.push(question);
            }
        }
    }

    fn directory(&self, name: &str) -> PathBuf {
        self.roots.sys.join("class/block").join(name)
    }

    fn number(&self, name: &str) -> Option<(u32, u32)> {
        mounts::parse_number(&fs::read_to_string(self.directory(name).join("dev")).ok()?)
    }
}

/// Devices of mounted file systems that have several: name of the device, and the file system.
fn members(roots: &Roots) -> Vec<(String, String)> {
    let directory = roots.sys.join("fs/btrfs");
    let mut members = Vec::new();
    for identity in entries(&directory) {
        for device in entries(&directory.join(&identity).join("devices")) {
            members.push((device, format!("btrfs {}", harmless(&identity))));
        }
    }
    members
}
