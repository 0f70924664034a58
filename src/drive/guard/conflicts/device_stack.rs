//! What is stacked on a device, what it is stacked on, and what else lies on that.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::OFlags;
use rustix::io::Errno;

use super::device_mapper::{self, Piece};
use super::exports::{self, Export};
use super::loop_devices::{self, AttachedLoop};
use super::mount_tables::{self, MountTables, PlacedMount};
use super::overlay::{self, RealFile};
use super::same_file::{self, FileStamp, Sameness};
use super::{Alias, AliasKind, Conflict, Unresolved, Usage, device_nodes, same_disk, unknown};
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
    /// `st_dev` of all mounts.
    mount_numbers: HashSet<(u32, u32)>,
    /// A process of each other mount namespace and root directory.
    mount_views: Vec<u32>,
    needs_device: Vec<String>,
    swaps: Vec<Swap>,
    loops: Vec<AttachedLoop>,
    members: Vec<(String, String)>,
    exports: Vec<Export>,
    /// Devices whose uses have been looked at.
    seen: Vec<String>,
    /// The target and everything that it lies on.
    own: Vec<String>,
    /// Everything with bytes of the target.
    shared: Vec<SharedFile>,
    /// Other devices with the same bytes, which must not be taken by anybody.
    aliases: Vec<Alias>,
    /// Whether a file of an overlay may have its attributes in one layer and its bytes in another.
    has_metacopy: bool,
    /// Sectors of the whole disk that a partition has.
    sectors: Option<(u64, u64)>,
    /// What the target itself is.
    itself: Option<FileId>,
}

/// Something with bytes of the target.
#[derive(Debug, Clone)]
struct SharedFile {
    id: FileId,
    name: String,
    /// A regular file, open as a path only, where it could be found.
    file: Option<Rc<File>>,
}

impl<'a> Search<'a> {
    /// Reads the tables of the kernel.
    pub(super) fn new(roots: &'a Roots, name: &str) -> Result<Self, Refusal> {
        let MountTables {
            mounts,
            numbers,
            processes,
            question,
        } = mount_tables::read(roots).map_err(unknown(name, "read the table of mounts"))?;
        Ok(Self {
            roots,
            usage: Usage {
                unresolved: question.into_iter().collect(),
                ..Usage::default()
            },
            has_metacopy: overlay::has_metacopy(roots, mounts.iter().map(|it| &it.mount)),
            mounts,
            mount_numbers: numbers,
            mount_views: processes,
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
    pub(super) fn target(
        &mut self,
        id: FileId,
        name: &str,
        anchor: Option<&File>,
    ) -> Result<(), Refusal> {
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
            FileId::Inode(..) => {
                let file = anchor.and_then(|anchor| same_file::as_path(anchor).ok());
                self.file(id, name, file);
            }
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

    /// The other devices with the same bytes.
    pub(super) fn aliases(&self) -> Vec<Alias> {
        let mut aliases = self.aliases.clone();
        aliases.sort();
        aliases.dedup();
        aliases
    }

    /// Takes every other device with the same bytes for ourselves: that fails when a file system of
    /// whatever mount namespace lies on it, and keeps others off while the result lives.
    pub(super) fn probe(&mut self) {
        self.usage.aliases = self.aliases();
        for Alias { name, .. } in std::mem::take(&mut self.aliases) {
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

    /// Whether something has, or may have, bytes of the target. `path` leads to it; with an empty
    /// one only its numbers count.
    pub(super) fn shares(&self, id: FileId, path: &Path) -> bool {
        let same = |known: &SharedFile| match self.sameness(id, &|| FileStamp::at(path), known) {
            Sameness::Same => true,
            Sameness::Different => false,
            Sameness::Unknown => !path.as_os_str().is_empty(),
        };
        self.itself == Some(id) || self.shared.iter().any(same)
    }

    /// Whether what a path leads to certainly has bytes of the target.
    fn is_same(&self, id: FileId, path: &Path) -> bool {
        let stamp = || FileStamp::at(path);
        let is_it = |known| self.sameness(id, &stamp, known) == Sameness::Same;
        self.itself == Some(id) || self.shared.iter().any(is_it)
    }

    /// What to call something that shares bytes with the target.
    pub(super) fn name_of(&self, id: FileId, target: &str) -> String {
        let known = self.shared.iter().find(|known| known.id == id);
        known.map_or_else(|| target.to_owned(), |known| known.name.clone())
    }

    /// Files that the target lies in.
    pub(super) fn files(&self) -> Vec<(FileId, Option<Rc<File>>)> {
        let files = self.shared.iter();
        files
            .filter(|known| matches!(known.id, FileId::Inode(..)))
            .map(|known| (known.id, known.file.clone()))
            .collect()
    }

    /// Whether what has that identity and stamp is something with bytes of the target.
    fn sameness(
        &self,
        id: FileId,
        stamp: &dyn Fn() -> Option<FileStamp>,
        known: &SharedFile,
    ) -> Sameness {
        if id == known.id {
            return Sameness::Same;
        }
        let (FileId::Inode(theirs, _), FileId::Inode(device, _)) = (id, known.id) else {
            return Sameness::Different;
        };
        let in_overlay = self.may_be_overlay(theirs) || self.may_be_overlay(device);
        if theirs == device || !in_overlay {
            return Sameness::Different;
        }
        let own = || known.file.as_ref().and_then(|file| FileStamp::of(file));
        match same_file::compare(&own, stamp) {
            // The times are those of the upper file, the bytes those of a lower one.
            Sameness::Different
                if self.has_metacopy
                    && own().map(|own| own.size()) == stamp().map(|other| other.size()) =>
            {
                Sameness::Unknown
            }
            sameness => sameness,
        }
    }

    /// Whether files with that device number may be those of an overlay: of a visible one, or of a
    /// file system that has no block device and no visible mount. (An overlay gives the files of
    /// some layers a number that its mount does not show.)
    fn may_be_overlay(&self, device: u64) -> bool {
        let number = mounts::split_number(device);
        let is_overlay = |placed: &PlacedMount| {
            placed.mount.file_system == "overlay" && placed.mount.number == number
        };
        self.is_unknown(device) || self.mounts.iter().any(is_overlay)
    }

    /// Whether a device number belongs to no visible mount and to no block device.
    fn is_unknown(&self, device: u64) -> bool {
        let number = mounts::split_number(device);
        number.0 == 0 && !self.mount_numbers.contains(&number)
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
        let known = SharedFile::device(number, name);
        self.shared.push(known.clone());
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
        self.attached(&known);
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
        self.exported(&SharedFile::device(number, name));
    }

    fn exported(&mut self, known: &SharedFile) {
        let mut usage = Usage::default();
        for export in &self.exports {
            let by = export.by.clone();
            let sameness = export.what.map_or(Sameness::Unknown, |what| {
                self.sameness(what, &|| None, known)
            });
            match sameness {
                Sameness::Same => usage.conflicts.push(Conflict::Exported {
                    device: known.name.clone(),
                    by,
                }),
                Sameness::Different => {}
                Sameness::Unknown => usage.unresolved.push(Unresolved::Export { by }),
            }
        }
        self.usage.conflicts.extend(usage.conflicts);
        self.usage.unresolved.extend(usage.unresolved);
    }

    /// Loop devices attached to a device or file, and what lies on them.
    fn attached(&mut self, known: &SharedFile) {
        for by in self.loops_on(known) {
            self.usage.conflicts.push(Conflict::Loop {
                device: known.name.clone(),
                by: by.clone(),
            });
            self.device_and_parts(&by);
        }
    }

    /// Loop devices attached to that, except the target and what it lies on. One that may be is a
    /// question.
    fn loops_on(&mut self, known: &SharedFile) -> Vec<String> {
        let mut found = Vec::new();
        let mut questions = Vec::new();
        for one in &self.loops {
            let Ok(backing) = one.backing else {
                continue;
            };
            if self.own.contains(&one.name) {
                continue;
            }
            let stamp = || FileStamp::of(&self.find_file(&one.file, backing)?);
            match self.sameness(backing, &stamp, known) {
                Sameness::Same => found.push(one.name.clone()),
                Sameness::Different => {}
                Sameness::Unknown => questions.push(Unresolved::LoopDevice {
                    device: one.description(),
                    reason: "its file may be one of an overlay".to_owned(),
                }),
            }
        }
        self.usage.unresolved.extend(questions);
        found
    }

    /// The file with that identity at a path of this mount namespace or of another one.
    fn find_file(&self, path: &Path, id: FileId) -> Option<File> {
        let inner = path.strip_prefix("/").ok()?;
        let elsewhere = self.mount_views.iter().map(|process| {
            let root = self.roots.proc.join(format!("{process}/root"));
            root.join(inner)
        });
        std::iter::once(path.to_owned())
            .chain(elsewhere)
            .find_map(|path| same_file::find(&path, id))
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
                    self.aliases.push(Alias {
                        name: lower.clone(),
                        kind: AliasKind::Lower { upper: own.name },
                    });
                    self.siblings(&SharedFile::device((major, minor), &lower));
                    self.device_and_parts(&lower);
                    self.below(&lower);
                }
            }
            Ok(id) => {
                let file = same_file::find(&own.file, id);
                if let (None, FileId::Inode(device, _)) = (&file, id)
                    && self.may_be_overlay(device)
                {
                    self.usage.unresolved.push(Unresolved::LoopDevice {
                        device: own.name,
                        reason: "its file may be one of an overlay".to_owned(),
                    });
                }
                self.siblings(&SharedFile {
                    id,
                    name: own.path.clone(),
                    file: file
                        .as_ref()
                        .and_then(|file| file.try_clone().ok())
                        .map(Rc::new),
                });
                self.file(id, &own.path, file);
            }
            Err(reason) => self.usage.unresolved.push(Unresolved::LoopDevice {
                device: own.name,
                reason,
            }),
        }
    }

    /// Other loop devices on the file or device that the target is attached to. They are no conflict
    /// as long as nobody uses them.
    fn siblings(&mut self, backing: &SharedFile) {
        for sibling in self.loops_on(backing) {
            let kind = AliasKind::Loop {
                lower: backing.name.clone(),
            };
            self.sibling(&sibling, "what it is attached to", kind);
        }
        // They have been looked at.
        self.loops
            .retain(|one| !self.seen.contains(&one.name) || self.own.contains(&one.name));
    }

    /// Another device with the same bytes: a conflict when it is used.
    fn sibling(&mut self, name: &str, lower: &str, kind: AliasKind) {
        let before = self.usage.conflicts.len();
        self.device_and_parts(name);
        if self.usage.conflicts.len() > before {
            self.usage.conflicts.push(Conflict::SameSectors {
                device: harmless(name),
                lower: lower.to_owned(),
            });
        }
        self.aliases.push(Alias {
            name: name.to_owned(),
            kind,
        });
    }

    /// A device that the target holds: its other holders have other sectors, or are siblings.
    fn lower(&mut self, name: &str, upper: &str) {
        let Some(number) = self.number(name) else {
            return;
        };
        let known = SharedFile::device(number, name);
        self.seen.push(name.to_owned());
        self.shared.push(known.clone());
        self.direct_uses(name, number);
        self.attached(&known);
        for holder in entries(&self.directory(name).join("holders")) {
            if !self.own.contains(&holder) && !self.are_disjoint(upper, &holder, number) {
                let lower = harmless(name);
                let kind = AliasKind::Holder {
                    lower: lower.clone(),
                };
                self.sibling(&holder, &lower, kind);
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
            let same = match self.sectors {
                None => vec![other.clone()],
                Some(_) => parts,
            };
            self.aliases.extend(same.into_iter().map(|path| Alias {
                name: path,
                kind: AliasKind::Path {
                    disk: harmless(name),
                },
            }));
        }
    }

    /// A regular file: swapped to, attached to a loop device, exported, or mounted as it is; and the
    /// file of the upper directory where it is one of an overlay.
    fn file(&mut self, id: FileId, name: &str, file: Option<File>) {
        let mut files = vec![(id, file.map(Rc::new))];
        if let (_, Some(file)) = &files[0] {
            match overlay::real_file(self.roots, file) {
                RealFile::Itself | RealFile::Lower => {}
                RealFile::Upper(real) => {
                    let real = same_file::as_path(&real).ok();
                    let facts = real.as_ref().and_then(|real| real.metadata().ok());
                    files.extend(facts.map(|facts| (FileId::of(&facts), real.map(Rc::new))));
                }
                RealFile::Unknown { at } => {
                    self.usage.unresolved.push(Unresolved::Overlay { at });
                }
            }
        }
        for (id, file) in files {
            self.real_file(SharedFile {
                id,
                name: harmless(name),
                file,
            });
        }
    }

    /// Loop devices that cannot be asked, by the path that sysfs shows: all that is known to a user
    /// who may not open them.
    pub(super) fn loops_by_path(&mut self, name: &str) {
        let unasked = self.loops.iter().filter(|one| one.backing.is_err());
        let attached = unasked.filter(|one| {
            fs::metadata(&one.file).is_ok_and(|facts| self.is_same(FileId::of(&facts), &one.file))
        });
        let conflicts: Vec<_> = attached
            .map(|one| Conflict::Loop {
                device: harmless(name),
                by: one.name.clone(),
            })
            .collect();
        self.usage.conflicts.extend(conflicts);
    }

    fn real_file(&mut self, known: SharedFile) {
        self.shared.push(known.clone());
        let is_it = |id: FileId, path: &Path| {
            let stamp = || FileStamp::at(path);
            self.sameness(id, &stamp, &known) != Sameness::Different
        };
        let is_swap = self.swaps.iter().any(|swap| {
            fs::metadata(&swap.path).is_ok_and(|facts| is_it(FileId::of(&facts), &swap.path))
        });
        let mut conflicts = Vec::new();
        for placed in &self.mounts {
            let backing = placed.file(self.roots, &self.needs_device);
            match backing.and_then(|backing| backing.file) {
                Some((path, id)) if is_it(id, &path) => {
                    conflicts.push(placed.conflict(&known.name));
                }
                _ => {}
            }
        }
        if is_swap {
            self.usage.conflicts.push(Conflict::Swap {
                device: known.name.clone(),
            });
        }
        self.usage.conflicts.extend(conflicts);
        self.files_mounted();
        self.exported(&known);
        self.attached(&known);
    }

    /// A file system may be mounted from any file.
    fn files_mounted(&mut self) {
        let questions = self.mounts.iter().filter_map(|placed| {
            let backing = placed.file(self.roots, &self.needs_device)?;
            backing.question
        });
        self.usage.unresolved.extend(questions);
        let unseen = mount_tables::in_files(self.roots);
        self.usage.unresolved.extend(unseen);
    }

    /// A loop device that cannot be asked may be attached to anything.
    fn unidentified_users(&mut self) {
        for one in &self.loops {
            if let Err(reason) = &one.backing {
                self.usage.unresolved.push(Unresolved::LoopDevice {
                    device: one.description(),
                    reason: reason.clone(),
                });
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

impl SharedFile {
    fn device(number: (u32, u32), name: &str) -> Self {
        Self {
            id: FileId::Device(number.0, number.1),
            name: harmless(name),
            file: None,
        }
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
