//! Walks the device stack: upper devices, lower devices, and other devices on those.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{Advice, OFlags};
use rustix::io::Errno;

use crate::drive::guard::busy_retry::retry_while_busy;
use crate::drive::guard::conflicts::alias::{Alias, AliasKind};
use crate::drive::guard::conflicts::device_mapper::MappedRange;
use crate::drive::guard::conflicts::exports::ExportedTarget;
use crate::drive::guard::conflicts::loop_devices::AttachedLoop;
use crate::drive::guard::conflicts::medium_usage::{ImageFile, MediumUsage, unreadable_table};
use crate::drive::guard::conflicts::mount_tables::{MountTables, PlacedMount, file_at};
use crate::drive::guard::conflicts::nfs_clients::NfsOpenFile;
use crate::drive::guard::conflicts::overlay::UnderlyingFile;
use crate::drive::guard::conflicts::partition_layout::{
    DiskLayout, DiskPartition, EXAMINED_BYTES, PartitionShare,
};
use crate::drive::guard::conflicts::same_file::{FileSameness, FileStamp};
use crate::drive::guard::conflicts::sector_extent::{SectorExtent, ranges_overlap};
use crate::drive::guard::conflicts::use_conflict::{UnresolvedUse, UseConflict};
use crate::drive::guard::conflicts::{
    device_mapper, device_nodes, exports, flash_memory, loop_devices, mount_tables, nfs_clients,
    overlay, partition_layout, same_disk, same_file,
};
use crate::drive::guard::refusal::Refusal;
use crate::drive::guard::{map_tables, siblings};
use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::{list_directory, read_device_number, read_number};
use crate::drive::medium::FileId;
use crate::drive::mounts::SwapEntry;
use crate::drive::{identity, mounts};
use crate::foreign_tree::ForeignTree;
use crate::roots::SysPaths;

/// State of one search.
pub(super) struct StackSearch<'a> {
    pub(super) sys_paths: &'a SysPaths,
    pub(super) usage: MediumUsage,
    mounts: Vec<PlacedMount>,
    /// `st_dev` of all mounts.
    mount_device_ids: HashSet<(u32, u32)>,
    /// One process of each other mount namespace and root directory.
    mount_namespace_processes: Vec<u32>,
    file_system_types_with_device: Vec<String>,
    swaps: Vec<SwapEntry>,
    loops: Vec<AttachedLoop>,
    multi_device_members: Vec<(String, String)>,
    exports: Vec<ExportedTarget>,
    /// Devices whose uses have been collected.
    visited_devices: Vec<String>,
    /// The target and all its lower devices.
    target_devices: Vec<String>,
    /// All files and devices that share bytes with the target.
    shared_files: Vec<SharedFile>,
    /// Other devices with the same bytes, which no one else may hold exclusively.
    aliases: Vec<Alias>,
    /// Whether an overlay file may have its attributes in one layer and its data in another.
    has_metacopy: bool,
    /// The target, and the lower devices that the device on them holds exclusively.
    held_devices: Vec<String>,
    /// Lower devices whose own lower devices have been searched, each with what the target covers
    /// of it.
    searched_extents: Vec<(String, SectorExtent)>,
    /// Partitions, each with its disk, of whose table the target has sectors.
    partitions_by_table: Vec<(String, String)>,
    /// Containers with metadata of a controller, of which arrays are below the target.
    md_containers: Vec<String>,
    /// Identity of the target itself.
    target_id: Option<FileId>,
    /// Device number of memory files (memfd_create(2), shmat(2)), which no mount shows and no
    /// overlay contains.
    memory_files_device: Option<u64>,
}

/// A file or device that shares bytes with the target.
#[derive(Debug, Clone)]
struct SharedFile {
    id: FileId,
    name: String,
    /// A regular file, opened with `O_PATH`, if it was found.
    file: Option<Rc<File>>,
}

impl<'a> StackSearch<'a> {
    /// Reads the kernel's tables.
    pub(super) fn new(roots: &'a SysPaths, name: &str) -> Result<Self, Refusal> {
        let MountTables {
            mounts,
            device_ids: numbers,
            namespace_processes: processes,
            unresolved: question,
        } = mount_tables::read_all_mounts(roots)
            .map_err(unreadable_table(name, "read the table of mounts"))?;
        Ok(Self {
            sys_paths: roots,
            usage: MediumUsage {
                unresolved: question.into_iter().collect(),
                ..MediumUsage::default()
            },
            has_metacopy: overlay::has_metacopy(roots, mounts.iter().map(|it| &it.mount)),
            mounts,
            mount_device_ids: numbers,
            mount_namespace_processes: processes,
            file_system_types_with_device: mount_tables::device_file_system_types(roots),
            swaps: mounts::swaps(roots)
                .map_err(unreadable_table(name, "read the table of swaps"))?,
            loops: loop_devices::list_attached_loops(roots)
                .map_err(unreadable_table(name, "list the loop devices"))?,
            multi_device_members: multi_device_members(roots)
                .map_err(unreadable_table(name, "list the members of file systems"))?,
            exports: exports::list_exports(roots),
            visited_devices: Vec::new(),
            target_devices: Vec::new(),
            shared_files: Vec::new(),
            aliases: Vec::new(),
            held_devices: Vec::new(),
            searched_extents: Vec::new(),
            partitions_by_table: Vec::new(),
            md_containers: Vec::new(),
            target_id: None,
            memory_files_device: same_file::memory_files_device(),
        })
    }

    /// Excludes images of loop devices and swap files that have a name: a file that was deleted is none
    /// of them, even where they cannot be compared with it.
    pub(super) fn exclude_files_with_names(&mut self, deleted: FileId) {
        self.loops.retain(|one| {
            one.may_be_deleted() || one.backing.as_ref().is_ok_and(|id| *id == deleted)
        });
        self.swaps
            .retain(|swap| file_at(&ForeignTree::own(), &swap.path) == Some(deleted));
    }

    /// Searches everything that leads to the bytes of the target with that identity.
    pub(super) fn search_target(
        &mut self,
        id: FileId,
        name: &str,
        anchor: Option<&File>,
    ) -> Result<(), Refusal> {
        self.target_id = Some(id);
        match id {
            FileId::Device(major, minor) => {
                let absent = unreadable_table(name, "find it in /sys/class/block");
                let device = identity::block_device_name(self.sys_paths, (major, minor))
                    .ok_or_else(|| absent(io::ErrorKind::NotFound.into()))?;
                self.add_target_device(&device);
                self.held_devices.push(device.clone());
                self.search_device_and_partitions(&device);
                self.search_lower_devices(&device, &SectorExtent::All);
            }
            FileId::Inode(..) => {
                let file = anchor.and_then(|anchor| same_file::reopen_as_path(anchor).ok());
                self.search_file(id, name, file);
            }
        }
        self.collect_unidentified_users();
        Ok(())
    }

    /// Searches devices, their partitions, and everything on them, but nothing below them.
    pub(super) fn search_upwards<'n>(&mut self, names: impl IntoIterator<Item = &'n str>) {
        for name in names {
            self.search_device_and_partitions(name);
        }
        self.collect_unidentified_users();
    }

    /// The results, without duplicates.
    pub(super) fn into_usage(mut self) -> MediumUsage {
        let mdmon = UseConflict::mdmon_of_containers(&self.usage.conflicts, &self.md_containers);
        let mdmon: Vec<_> = mdmon.collect();
        self.usage.conflicts.extend(mdmon);
        let is_open = |partition: &str| {
            let mut conflicts = self.usage.conflicts.iter();
            conflicts.any(|it| it.opened_device() == Some(partition))
        };
        let open = self.partitions_by_table.iter();
        let lost: Vec<_> = open
            .filter(|(partition, _)| is_open(partition))
            .map(|(partition, disk)| UseConflict::PartitionTable {
                partition: partition.clone(),
                disk: disk.clone(),
            })
            .collect();
        self.usage.conflicts.extend(lost);
        self.usage.conflicts.sort();
        self.usage.conflicts.dedup();
        self.usage.unresolved.sort();
        self.usage.unresolved.dedup();
        self.usage
    }

    /// The other devices with the same bytes that can be held: nobody can hold a device that
    /// another one of the stack of the target holds, or a partition of a disk that is held.
    pub(super) fn aliases(&self) -> Vec<Alias> {
        let mut aliases = self.aliases.clone();
        aliases.sort();
        aliases.dedup_by(|one, other| one.name == other.name);
        let names: HashSet<String> = aliases.iter().map(|one| one.name.clone()).collect();
        let is_held = |name: &String| self.held_devices.contains(name);
        aliases.retain(|one| {
            let disk = siblings::whole_disk_name(&self.sysfs_directory(&one.name));
            !is_held(&one.name) && !disk.is_some_and(|disk| is_held(&disk) || names.contains(&disk))
        });
        aliases
    }

    /// Opens every other device with the same bytes exclusively. That fails when a file system of
    /// any mount namespace uses it, and excludes other users during the lifetime of the result.
    pub(super) fn take_aliases(&mut self) {
        self.usage.aliases = self.aliases();
        for Alias { name, kind } in self.usage.aliases.clone() {
            let Some(number) = self.read_device_number(&name) else {
                continue;
            };
            let device = sanitized(&name);
            let open =
                || device_nodes::open_device_node(self.sys_paths, &name, number, OFlags::EXCL);
            match retry_while_busy(open) {
                Ok(file) => self.usage.alias_holds.push(file.into()),
                Err(error) if error.raw_os_error() == Some(Errno::BUSY.raw_os_error()) => {
                    self.usage.conflicts.push(match kind {
                        AliasKind::PartitionByTable { disk } => {
                            UseConflict::PartitionOpenedExclusively {
                                partition: device,
                                disk,
                            }
                        }
                        _ => UseConflict::AliasOpenedExclusively { device },
                    });
                }
                Err(error) => self.usage.unresolved.push(UnresolvedUse::AliasInUse {
                    device,
                    reason: error.to_string(),
                }),
            }
        }
    }

    /// Whether a file or device shares bytes with the target. `path` leads to it; with an empty path
    /// only the identity is compared.
    pub(super) fn compare_with_all(&self, id: FileId, path: &Path) -> FileSameness {
        if self.target_id == Some(id) {
            return FileSameness::Same;
        }
        let stamp = || FileStamp::of_path(path);
        let mut sameness = FileSameness::Different;
        for known in &self.shared_files {
            match self.compare_with_shared(id, &stamp, known) {
                FileSameness::Same => return FileSameness::Same,
                FileSameness::Different => {}
                FileSameness::Unknown if path.as_os_str().is_empty() => {}
                FileSameness::Unknown if self.are_outside_overlays(path, known) => {}
                FileSameness::Unknown => sameness = FileSameness::Unknown,
            }
        }
        sameness
    }

    /// Whether neither the file at a path nor a shared one is in an overlay, so that their identities
    /// tell whether they are the same. File systems that nobody has mounted, of memory for example,
    /// have device numbers that are as unknown as those of overlays.
    fn are_outside_overlays(&self, path: &Path, known: &SharedFile) -> bool {
        let FileId::Inode(device, _) = known.id else {
            return true;
        };
        !self.may_be_overlay(device) && overlay::is_overlay_path(path) == Some(false)
    }

    /// The question about a file that cannot be compared: the one without a path, or the target.
    pub(super) fn incomparable_file(&self, target: &str) -> UnresolvedUse {
        let mut files = self.shared_files.iter();
        let unopened =
            files.find(|known| matches!(known.id, FileId::Inode(..)) && known.file.is_none());
        UnresolvedUse::IncomparableFile {
            file: unopened.map_or_else(|| target.to_owned(), |known| known.name.clone()),
        }
    }

    /// Whether the file at a path certainly shares bytes with the target.
    fn certainly_shares_bytes(&self, id: FileId, path: &Path) -> bool {
        let stamp = || FileStamp::of_path(path);
        let is_it = |known| self.compare_with_shared(id, &stamp, known) == FileSameness::Same;
        self.target_id == Some(id) || self.shared_files.iter().any(is_it)
    }

    /// Collects clients of the NFS server that have a shared file open for writing; yields those that
    /// may have. The lease shows them for a regular file as target, but not for the image below a
    /// loop device.
    pub(super) fn collect_nfs_clients(&mut self) -> Vec<UnresolvedUse> {
        let found = self.find_nfs_clients();
        self.usage.conflicts.extend(found.conflicts);
        found.unresolved
    }

    /// The clients of the NFS server that have a shared file open for writing, and those that may have.
    pub(super) fn find_nfs_clients(&self) -> MediumUsage {
        let mut usage = MediumUsage::default();
        let is_file = |known: &&SharedFile| matches!(known.id, FileId::Inode(..));
        let files: Vec<&SharedFile> = self.shared_files.iter().filter(is_file).collect();
        if files.is_empty() {
            return usage;
        }
        let opened = match nfs_clients::list_open_files(self.sys_paths) {
            Ok(opened) => opened,
            Err(error) => {
                let table = self.sys_paths.proc.join("fs/nfsd/clients");
                usage.unresolved = vec![UnresolvedUse::unreadable(&table, &error)];
                return usage;
            }
        };
        for known in files {
            for open in &opened {
                let (device, client) = (known.name.clone(), open.client.clone());
                match self.compare_with_nfs_file(open, known) {
                    FileSameness::Same => usage
                        .conflicts
                        .push(UseConflict::OpenByNfsClient { device, client }),
                    FileSameness::Different => {}
                    FileSameness::Unknown => usage
                        .unresolved
                        .push(UnresolvedUse::OpenByNfsClient { device, client }),
                }
            }
        }
        usage
    }

    /// The server names a file by the device number of its file system. On some (btrfs) files have
    /// other device numbers, which no mount shows: there the inode alone says that it may be the same.
    fn compare_with_nfs_file(&self, open: &NfsOpenFile, known: &SharedFile) -> FileSameness {
        let (major, minor) = open.file_system;
        let file_system = rustix::fs::makedev(major, minor);
        let sameness =
            self.compare_with_shared(FileId::Inode(file_system, open.inode), &|| None, known);
        let is_outside_overlays = || {
            let file = known.file.as_ref();
            file.is_some_and(|file| !overlay::is_overlay(file)) && !self.may_be_overlay(file_system)
        };
        match (sameness, known.id) {
            (FileSameness::Unknown, FileId::Inode(_, inode))
                if inode != open.inode && is_outside_overlays() =>
            {
                FileSameness::Different
            }
            (sameness, _) => sameness,
        }
    }

    /// The display name of a file or device that shares bytes with the target.
    pub(super) fn shared_name(&self, id: FileId, target: &str) -> String {
        let known = self.shared_files.iter().find(|known| known.id == id);
        known.map_or_else(|| target.to_owned(), |known| known.name.clone())
    }

    /// Regular files that contain the target.
    pub(super) fn shared_regular_files(&self) -> Vec<(FileId, Option<Rc<File>>)> {
        let files = self.shared_files.iter();
        files
            .filter(|known| matches!(known.id, FileId::Inode(..)))
            .map(|known| (known.id, known.file.clone()))
            .collect()
    }

    /// The images of loop devices below a target that is a block device, as far as they were found.
    pub(super) fn images(&self) -> Vec<ImageFile> {
        if !matches!(self.target_id, Some(FileId::Device(..))) {
            return Vec::new();
        }
        let files = self.shared_files.iter();
        files
            .filter(|known| matches!(known.id, FileId::Inode(..)))
            .filter_map(|known| {
                Some(ImageFile {
                    name: known.name.clone(),
                    file: Rc::clone(known.file.as_ref()?),
                })
            })
            .collect()
    }

    /// Whether the file with that identity and these timestamps shares bytes with the target.
    fn compare_with_shared(
        &self,
        id: FileId,
        stamp: &dyn Fn() -> Option<FileStamp>,
        known: &SharedFile,
    ) -> FileSameness {
        if id == known.id {
            return FileSameness::Same;
        }
        let (FileId::Inode(theirs, _), FileId::Inode(device, _)) = (id, known.id) else {
            return FileSameness::Different;
        };
        let in_overlay = self.may_be_overlay(theirs) || self.may_be_overlay(device);
        if theirs == device || !in_overlay {
            return FileSameness::Different;
        }
        let own = || {
            known
                .file
                .as_ref()
                .and_then(|file| FileStamp::of_file(file))
        };
        match same_file::compare_file_stamps(&own, stamp) {
            // The timestamps are those of the upper file, the data is that of a lower one.
            FileSameness::Different
                if self.has_metacopy
                    && own().map(|own| own.size()) == stamp().map(|other| other.size()) =>
            {
                FileSameness::Unknown
            }
            sameness => sameness,
        }
    }

    /// Whether files with that device number may belong to an overlay: a visible one, or a file
    /// system without a block device and without a visible mount. (An overlay gives files of some
    /// layers a device number that its mount does not show.)
    fn may_be_overlay(&self, device: u64) -> bool {
        if self.memory_files_device == Some(device) {
            return false;
        }
        let number = mounts::split_device_number(device);
        let is_overlay = |placed: &PlacedMount| {
            placed.mount.file_system == "overlay" && placed.mount.device_id == number
        };
        self.is_unknown_device(device) || self.mounts.iter().any(is_overlay)
    }

    /// Whether a device number belongs neither to a visible mount nor to a block device.
    fn is_unknown_device(&self, device: u64) -> bool {
        let number = mounts::split_device_number(device);
        number.0 == 0 && !self.mount_device_ids.contains(&number)
    }

    /// Searches a device, its partitions, and everything stacked on them.
    fn search_device_and_partitions(&mut self, name: &str) {
        self.search_device(name);
        for part in self.partitions(name) {
            self.search_device(&part);
        }
    }

    fn partitions(&mut self, name: &str) -> Vec<String> {
        let directory = self.sysfs_directory(name);
        let mut parts = self.list_directory(&directory);
        parts.retain(|part| directory.join(part).join("partition").exists());
        parts
    }

    /// Collects uses of one device and of all devices stacked on it. The kernel never reports a
    /// cycle, but a test tree may contain one.
    fn search_device(&mut self, name: &str) {
        if self.visited_devices.iter().any(|seen| seen == name) {
            return;
        }
        self.visited_devices.push(name.to_owned());
        let Some(number) = self.read_device_number(name) else {
            return;
        };
        let known = SharedFile::for_device(number, name);
        self.shared_files.push(known.clone());
        self.collect_direct_uses(name, number);
        for holder in self.list_directory(&self.sysfs_directory(name).join("holders")) {
            if !self.target_devices.contains(&holder) {
                self.usage.conflicts.push(UseConflict::HeldByDevice {
                    device: name.to_owned(),
                    by: sanitized(&holder),
                });
                self.search_device_and_partitions(&holder);
            }
        }
        self.collect_attached_loops(&known);
    }

    /// Collects mounts, swap and exports of the device with that number.
    fn collect_direct_uses(&mut self, name: &str, number: (u32, u32)) {
        let device = || name.to_owned();
        for placed in self
            .mounts
            .iter()
            .filter(|placed| placed.mount.is_on(number))
        {
            self.usage.conflicts.push(placed.to_conflict(name));
        }
        if self.swaps.iter().any(|swap| swap.number == Some(number)) {
            self.usage
                .conflicts
                .push(UseConflict::UsedAsSwap { device: device() });
        }
        for (_, file_system) in self
            .multi_device_members
            .iter()
            .filter(|(member, _)| member == name)
        {
            self.usage.conflicts.push(UseConflict::FileSystemMember {
                device: device(),
                file_system: file_system.clone(),
            });
        }
        self.collect_exports(&SharedFile::for_device(number, name));
    }

    fn collect_exports(&mut self, known: &SharedFile) {
        let mut usage = MediumUsage::default();
        for export in self.exports.iter().filter(|export| export.can_be(known.id)) {
            let sameness = export.exported_id().map_or(FileSameness::Unknown, |what| {
                self.compare_with_shared(what, &|| None, known)
            });
            match sameness {
                FileSameness::Same => usage.conflicts.push(export.conflict(&known.name)),
                FileSameness::Different => {}
                FileSameness::Unknown => usage.unresolved.push(export.question()),
            }
        }
        self.usage.conflicts.extend(usage.conflicts);
        self.usage.unresolved.extend(usage.unresolved);
    }

    /// Searches loop devices attached to a device or file, and everything on them.
    fn collect_attached_loops(&mut self, known: &SharedFile) {
        for by in self.loop_devices_on(known) {
            self.usage.conflicts.push(UseConflict::AttachedLoopDevice {
                device: known.name.clone(),
                by: by.clone(),
            });
            self.search_device_and_partitions(&by);
        }
    }

    /// Loop devices attached to a file or device, except the target and its lower devices. A loop
    /// device that may be attached becomes an unresolved use.
    fn loop_devices_on(&mut self, known: &SharedFile) -> Vec<String> {
        let mut found = Vec::new();
        let mut questions = Vec::new();
        for one in &self.loops {
            let Ok(backing) = one.backing else {
                continue;
            };
            if self.target_devices.contains(&one.name) {
                continue;
            }
            let stamp = || FileStamp::of_file(&self.open_by_identity(&one.backing_path, backing)?);
            match self.compare_with_shared(backing, &stamp, known) {
                FileSameness::Same => found.push(one.name.clone()),
                FileSameness::Different => {}
                FileSameness::Unknown => questions.push(UnresolvedUse::LoopDevice {
                    device: one.description(),
                    reason: "its file may be one of an overlay".to_owned(),
                }),
            }
        }
        self.usage.unresolved.extend(questions);
        found
    }

    /// Opens the file with that identity at a path of this or another mount namespace.
    fn open_by_identity(&self, path: &Path, id: FileId) -> Option<File> {
        let elsewhere = self.mount_namespace_processes.iter().map(|process| {
            let process = self.sys_paths.proc.join(process.to_string());
            ForeignTree::with_root(process.join("root"), &process)
        });
        std::iter::once(ForeignTree::own())
            .chain(elsewhere)
            .find_map(|tree| same_file::open_identified_path(&tree, path, id))
    }

    /// A device that the target consists of, or that the target is a part of.
    fn add_target_device(&mut self, name: &str) {
        if self.target_devices.iter().any(|known| known == name) {
            return;
        }
        self.target_devices.push(name.to_owned());
        self.md_containers.extend(self.md_container(name));
        if flash_memory::is_on_flash_memory(self.sys_paths, name) {
            self.usage.unresolved.push(UnresolvedUse::FlashMemory {
                device: sanitized(name),
            });
        }
    }

    /// The container that an md array is a part of (kernel Documentation/admin-guide/md.rst,
    /// `metadata_version`: `external:/CONTAINER/INDEX`, with `-` instead of the first slash while it is
    /// read-only).
    fn md_container(&self, name: &str) -> Option<String> {
        let path = self.sysfs_directory(name).join("md/metadata_version");
        let text = fs::read_to_string(path).ok()?;
        let place = text.trim().strip_prefix("external:")?;
        let place = place.strip_prefix(['/', '-'])?;
        Some(sanitized(place.split('/').next()?))
    }

    /// Searches all lower devices of a device, and the other devices on them. `extent`: what the
    /// target covers of the device.
    fn search_lower_devices(&mut self, name: &str, extent: &SectorExtent) {
        let search = (name.to_owned(), extent.clone());
        if self.searched_extents.contains(&search) {
            return;
        }
        self.searched_extents.push(search);
        self.search_whole_disk(name, extent);
        self.search_loop_backing(name);
        let slaves = self.list_directory(&self.sysfs_directory(name).join("slaves"));
        // All paths of a multipath device belong to it.
        for slave in &slaves {
            self.add_target_device(slave);
            self.held_devices.push(slave.clone());
        }
        for slave in &slaves {
            self.search_lower_device(slave, name);
        }
        if slaves.is_empty() {
            self.search_other_paths(name, extent);
            self.search_served_backing(name);
        }
    }

    /// A partition is also in use when its whole disk is held, or when another partition covers the
    /// same sectors.
    fn search_whole_disk(&mut self, name: &str, extent: &SectorExtent) {
        let Some(whole) =
            identity::read_block_device(self.sys_paths, name).and_then(|drive| drive.parent)
        else {
            return;
        };
        let extent = extent.on_whole_disk(self.partition_sectors(name).as_ref());
        self.add_target_device(&whole);
        self.search_device(&whole);
        self.search_overlapping_partitions(&whole, &extent);
        self.search_lower_devices(&whole, &extent);
    }

    /// Searches the partitions of a lower disk that have sectors of the target, or whose table has.
    fn search_overlapping_partitions(&mut self, whole: &str, extent: &SectorExtent) {
        let disk = sanitized(whole);
        for (part, share) in self.overlapping_partitions(whole, extent) {
            self.search_partition(&part, share, whole);
            let disk = disk.clone();
            self.aliases.push(Alias {
                name: part,
                kind: match share {
                    PartitionShare::Data => AliasKind::Partition { disk },
                    PartitionShare::Table => AliasKind::PartitionByTable { disk },
                },
            });
        }
    }

    /// Collects uses of a partition that the target has something of.
    fn search_partition(&mut self, part: &str, share: PartitionShare, whole: &str) {
        let before = self.usage.conflicts.len();
        self.search_device(part);
        if share == PartitionShare::Table {
            let (partition, disk) = (sanitized(part), sanitized(whole));
            self.partitions_by_table
                .push((partition.clone(), disk.clone()));
            if self.usage.conflicts.len() > before {
                let lost = UseConflict::PartitionTable { partition, disk };
                self.usage.conflicts.push(lost);
            }
        }
    }

    /// Partitions of a whole disk that have sectors of the target, or whose table has, and that are
    /// not below it.
    fn overlapping_partitions(
        &mut self,
        whole: &str,
        extent: &SectorExtent,
    ) -> Vec<(String, PartitionShare)> {
        let layout = self.disk_layout(whole);
        let extent = match layout.partitions.is_empty() || self.has_distinct_sectors(whole) {
            true => extent,
            false => &SectorExtent::All,
        };
        let parts = layout.partitions.iter();
        parts
            .filter(|part| !self.target_devices.contains(&part.name))
            .filter_map(|part| Some((part.name.clone(), layout.share_of(part, extent)?)))
            .collect()
    }

    /// The partitions of a whole disk, and where its partition table is.
    fn disk_layout(&mut self, whole: &str) -> DiskLayout {
        let directory = self.sysfs_directory(whole);
        let partitions: Vec<DiskPartition> = self
            .partitions(whole)
            .into_iter()
            .map(|name| DiskPartition {
                number: read_number(&self.sysfs_directory(&name).join("partition")),
                sectors: self.partition_sectors(&name),
                name,
            })
            .collect();
        let block_bytes = read_number(&directory.join("queue/logical_block_size")).unwrap_or(512);
        // Nothing depends on the table of a disk without partitions.
        let beginning = (!partitions.is_empty())
            .then(|| self.read_beginning(whole))
            .flatten();
        let sectors = read_number(&directory.join("size")).unwrap_or(0);
        let table = partition_layout::table_sectors(beginning.as_deref(), block_bytes, sectors);
        DiskLayout {
            partitions,
            table,
            block_bytes,
        }
    }

    /// The first bytes of a disk, which are not kept in its page cache: they may change by way of a
    /// partition.
    fn read_beginning(&self, whole: &str) -> Option<Vec<u8>> {
        let number = self.device_number(whole)?;
        let device =
            device_nodes::open_device_node(self.sys_paths, whole, number, OFlags::empty()).ok()?;
        let mut bytes = vec![0; EXAMINED_BYTES];
        let read = device.read_exact_at(&mut bytes, 0);
        let range = NonZeroU64::new(EXAMINED_BYTES as u64);
        let _ = rustix::fs::fadvise(&device, 0, range, Advice::DontNeed);
        read.ok().map(|()| bytes)
    }

    /// The sectors of a partition on its disk.
    fn partition_sectors(&self, part: &str) -> Option<Range<u64>> {
        let directory = self.sysfs_directory(part);
        let start = read_number(&directory.join("start"))?;
        let sectors = read_number(&directory.join("size"))?;
        Some(start..start.checked_add(sectors)?)
    }

    /// Searches the backing file of a loop device, which the loop device does not hold.
    fn search_loop_backing(&mut self, name: &str) {
        let Some(own) = self.loops.iter().find(|one| one.name == name).cloned() else {
            return;
        };
        match own.backing {
            Ok(FileId::Device(major, minor)) => {
                let kind = AliasKind::BackingDevice { upper: own.name };
                self.search_backing_device((major, minor), Some(kind));
            }
            Ok(id) => {
                let file = self.open_by_identity(&own.backing_path, id);
                if let (None, FileId::Inode(device, _)) = (&file, id)
                    && self.may_be_overlay(device)
                {
                    self.usage.unresolved.push(UnresolvedUse::LoopDevice {
                        device: own.name,
                        reason: "its file has no path here, and may be one of an overlay"
                            .to_owned(),
                    });
                }
                self.search_backing_file(id, &own.shown_path, file);
            }
            Err(error) => self.usage.unresolved.push(UnresolvedUse::LoopDevice {
                device: own.name,
                reason: error.to_string(),
            }),
        }
    }

    /// Searches what an exporter of this machine serves as a disk, which a client on this machine has as the disk of that
    /// name. Other clients are not known.
    fn search_served_backing(&mut self, name: &str) {
        let Some(wwid) = same_disk::wwid_of_disk(self.sys_paths, name) else {
            return;
        };
        let is_served = |export: &ExportedTarget| {
            let disk = export.served_as();
            disk.is_some_and(|disk| disk.identity.is_disk(&wwid))
        };
        let all = std::mem::take(&mut self.exports).into_iter();
        let (served, others): (Vec<_>, Vec<_>) = all.partition(is_served);
        // That this exporter has it open is no use by others.
        self.exports = others;
        for export in served {
            match (export.exported_id(), export.exporter_and_path()) {
                (Some(FileId::Device(major, minor)), Some((exporter, _))) => {
                    let is_held = export.served_as().is_some_and(|disk| disk.is_held);
                    let kind = (!is_held).then(|| AliasKind::ServedDevice {
                        exporter: exporter.to_owned(),
                    });
                    self.search_backing_device((major, minor), kind);
                }
                (Some(id), Some((_, Some(path)))) => {
                    let file = self.open_by_identity(path, id);
                    self.search_backing_file(id, &sanitized(&path.to_string_lossy()), file);
                }
                _ => self.usage.unresolved.push(export.question()),
            }
        }
    }

    /// Searches the device that another one has its bytes from. `alias`: how, unless that one holds it.
    fn search_backing_device(&mut self, number: (u32, u32), alias: Option<AliasKind>) {
        let Some(lower) = identity::block_device_name(self.sys_paths, number) else {
            let (major, minor) = number;
            return self.usage.unresolved.push(UnresolvedUse::AliasInUse {
                device: format!("{major}:{minor}"),
                reason: "it is not in /sys/class/block".to_owned(),
            });
        };
        self.add_target_device(&lower);
        match alias {
            Some(kind) => self.aliases.push(Alias {
                name: lower.clone(),
                kind,
            }),
            None => self.held_devices.push(lower.clone()),
        }
        self.search_sibling_loops(&SharedFile::for_device(number, &lower));
        self.search_device_and_partitions(&lower);
        // Which part of it is used is not evaluated.
        self.search_lower_devices(&lower, &SectorExtent::All);
    }

    /// Searches the file that a device has its bytes from.
    fn search_backing_file(&mut self, id: FileId, name: &str, file: Option<File>) {
        self.search_sibling_loops(&SharedFile {
            id,
            name: name.to_owned(),
            file: file
                .as_ref()
                .and_then(|file| file.try_clone().ok())
                .map(Rc::new),
        });
        self.search_file(id, name, file);
    }

    /// Other loop devices on the backing file or device of the target. They are a conflict only if
    /// they are in use.
    fn search_sibling_loops(&mut self, backing: &SharedFile) {
        for sibling in self.loop_devices_on(backing) {
            let kind = AliasKind::SiblingLoopDevice {
                lower: backing.name.clone(),
            };
            self.check_sibling(&sibling, "what it is attached to", kind);
        }
        // They have already been searched.
        self.loops.retain(|one| {
            !self.visited_devices.contains(&one.name) || self.target_devices.contains(&one.name)
        });
    }

    /// Another device with the same bytes: a conflict if it is in use.
    fn check_sibling(&mut self, name: &str, lower: &str, kind: AliasKind) {
        let before = self.usage.conflicts.len();
        self.search_device_and_partitions(name);
        if self.usage.conflicts.len() > before {
            self.usage.conflicts.push(UseConflict::OverlappingSectors {
                device: sanitized(name),
                lower: lower.to_owned(),
            });
        }
        self.aliases.push(Alias {
            name: name.to_owned(),
            kind,
        });
    }

    /// A lower device of the target, below `upper`: its other holders use other sectors, or are
    /// siblings. Its partitions may be in use without `O_EXCL`.
    fn search_lower_device(&mut self, name: &str, upper: &str) {
        let Some(number) = self.read_device_number(name) else {
            return;
        };
        let known = SharedFile::for_device(number, name);
        self.visited_devices.push(name.to_owned());
        self.shared_files.push(known.clone());
        self.collect_direct_uses(name, number);
        self.collect_attached_loops(&known);
        for holder in self.list_directory(&self.sysfs_directory(name).join("holders")) {
            if !self.target_devices.contains(&holder)
                && !self.mapped_devices_are_disjoint(upper, &holder, number)
            {
                let lower = sanitized(name);
                let kind = AliasKind::StackedDevice {
                    lower: lower.clone(),
                };
                self.check_sibling(&holder, &lower, kind);
            }
        }
        let extent = self.mapped_extent(upper, number);
        self.search_overlapping_partitions(name, &extent);
        self.search_lower_devices(name, &extent);
    }

    /// What a device covers of a lower device: all of it unless it is a device-mapper device whose
    /// table names sectors.
    fn mapped_extent(&self, upper: &str, lower: (u32, u32)) -> SectorExtent {
        let table = self
            .device_number(upper)
            .and_then(|number| device_mapper::read_mapped_ranges(self.sys_paths, number).ok());
        let pieces = table.unwrap_or_default().into_iter();
        let sectors: Option<Vec<Range<u64>>> = pieces
            .filter(|piece| piece.lower_device == lower)
            .map(|piece| piece.sectors)
            .collect();
        match sectors {
            Some(ranges) if !ranges.is_empty() => SectorExtent::Ranges(ranges),
            _ => SectorExtent::All,
        }
    }

    /// Whether two device-mapper devices provably share no sector of a lower device, nor of what that
    /// is on.
    fn mapped_devices_are_disjoint(&self, one: &str, other: &str, lower: (u32, u32)) -> bool {
        let pieces = |name: &str| -> Option<Vec<MappedRange>> {
            device_mapper::read_mapped_ranges(self.sys_paths, self.device_number(name)?).ok()
        };
        let (Some(one), Some(other)) = (pieces(one), pieces(other)) else {
            return false;
        };
        let name = identity::block_device_name(self.sys_paths, lower);
        device_mapper::ranges_are_disjoint(&one, &other, lower)
            && name.is_some_and(|name| self.has_distinct_sectors(&name))
    }

    /// Whether different sectors of a device are different ones of what it is on: no table of a
    /// device-mapper device below leads to the same sectors twice.
    fn has_distinct_sectors(&self, name: &str) -> bool {
        let stack = map_tables::read_stack(
            &self.sys_paths.sys.join("class/block"),
            Some(name.to_owned()),
        );
        let is_distinct = |map: &str| {
            let table = self
                .device_number(map)
                .and_then(|number| device_mapper::read_table(self.sys_paths, number).ok());
            table.is_some_and(|table| {
                device_mapper::lines_are_disjoint(&table, &|one, other| {
                    self.may_share_lower_sectors(one, other)
                })
            })
        };
        stack.is_ok_and(|stack| {
            let mut maps = stack.iter().filter(|(name, _)| name.starts_with("dm-"));
            maps.all(|(map, _)| is_distinct(map))
        })
    }

    /// Whether two devices have, or may have, sectors in common: partitions of one disk are compared,
    /// any other devices have none if nothing is below both.
    fn may_share_lower_sectors(&self, one: (u32, u32), other: (u32, u32)) -> bool {
        let name = |number| identity::block_device_name(self.sys_paths, number);
        let (Some(one), Some(other)) = (name(one), name(other)) else {
            return true;
        };
        let whole = |name: &str| siblings::whole_disk_name(&self.sysfs_directory(name));
        if let (Some(disk), Some(own), Some(theirs)) = (
            whole(&one).filter(|disk| whole(&other).as_ref() == Some(disk)),
            self.partition_sectors(&one),
            self.partition_sectors(&other),
        ) {
            return ranges_overlap(&own, &theirs) || !self.has_distinct_sectors(&disk);
        }
        let below = |name: String| {
            map_tables::read_stack(&self.sys_paths.sys.join("class/block"), Some(name))
        };
        let (Ok(one), Ok(other)) = (below(one), below(other)) else {
            return true;
        };
        one.iter()
            .any(|(name, _)| other.iter().any(|(theirs, _)| theirs == name))
    }

    /// Searches other paths to the same disk, of which the target covers `extent`.
    fn search_other_paths(&mut self, name: &str, extent: &SectorExtent) {
        let others = same_disk::other_paths_of_disk(self.sys_paths, name);
        let others = others.unwrap_or_else(|error| {
            let directory = self.sys_paths.sys.join("class/block");
            self.add_unreadable(&directory, &error);
            Vec::new()
        });
        for other in others {
            let is_target = self.target_devices.contains(&other);
            let before = self.usage.conflicts.len();
            if !is_target {
                self.search_device(&other);
            }
            let overlapping = self.overlapping_partitions(&other, extent);
            for (part, share) in &overlapping {
                self.search_partition(part, *share, &other);
            }
            if self.usage.conflicts.len() > before {
                self.usage.conflicts.push(UseConflict::OverlappingSectors {
                    device: sanitized(&other),
                    lower: format!("the disk that is also {}", sanitized(name)),
                });
            }
            // Whoever holds a partition keeps others from holding the disk, and the reverse.
            let parts = self.partitions(&other);
            let has_other_users = is_target
                || parts.iter().any(|part| self.target_devices.contains(part))
                || (*extent != SectorExtent::All && !parts.is_empty());
            let same = match has_other_users {
                true => overlapping.into_iter().map(|(part, _)| part).collect(),
                false => vec![other],
            };
            self.aliases.extend(same.into_iter().map(|path| Alias {
                name: path,
                kind: AliasKind::DiskPath {
                    disk: sanitized(name),
                },
            }));
        }
    }

    /// A regular file: used as swap, attached to a loop device, exported, or mounted directly; for
    /// an overlay file also the file in the upper directory.
    fn search_file(&mut self, id: FileId, name: &str, file: Option<File>) {
        let mut files = vec![(id, file.map(Rc::new))];
        if let (_, Some(file)) = &files[0] {
            let path = same_file::path_of(self.sys_paths, file);
            let mounts = self.mounts.iter().map(|placed| &placed.mount);
            let above = path.map(|path| overlay::stacked_mounts_above(&path, mounts));
            self.usage.unresolved.extend(above.into_iter().flatten());
            match overlay::underlying_file(self.sys_paths, file) {
                UnderlyingFile::NotOverlay | UnderlyingFile::LowerLayer => {}
                UnderlyingFile::UpperLayer(real) => {
                    let real = same_file::reopen_as_path(&real).ok();
                    let facts = real.as_ref().and_then(|real| real.metadata().ok());
                    files.extend(
                        facts.map(|facts| (FileId::of_metadata(&facts), real.map(Rc::new))),
                    );
                }
                UnderlyingFile::Unknown(question) => self.usage.unresolved.push(question),
            }
        }
        for (id, file) in files {
            self.search_overlay_file(SharedFile {
                id,
                name: sanitized(name),
                file,
            });
        }
    }

    /// Loop devices that cannot be queried, by the path that sysfs shows. A user who may not open
    /// the device sees nothing else.
    pub(super) fn collect_loops_by_path(&mut self, name: &str) {
        let unasked = self.loops.iter().filter(|one| one.backing.is_err());
        let attached = unasked.filter(|one| {
            file_at(&ForeignTree::own(), &one.backing_path)
                .is_some_and(|id| self.certainly_shares_bytes(id, &one.backing_path))
        });
        let conflicts: Vec<_> = attached
            .map(|one| UseConflict::AttachedLoopDevice {
                device: sanitized(name),
                by: one.name.clone(),
            })
            .collect();
        self.usage.conflicts.extend(conflicts);
    }

    fn search_overlay_file(&mut self, known: SharedFile) {
        self.shared_files.push(known.clone());
        let compare = |id: FileId, path: &Path| {
            let stamp = || FileStamp::of_path(path);
            self.compare_with_shared(id, &stamp, &known)
        };
        let swaps = self.swaps.iter().filter_map(|swap| {
            let id = file_at(&ForeignTree::own(), &swap.path)?;
            let device = known.name.clone();
            let conflict = UseConflict::UsedAsSwap { device };
            Some((compare(id, &swap.path), conflict))
        });
        let mounts = self.mounts.iter().filter_map(|placed| {
            let backing =
                placed.mount_source(self.sys_paths, &self.file_system_types_with_device)?;
            let (path, id) = backing.file?;
            Some((compare(id, &path), placed.to_conflict(&known.name)))
        });
        let mut usage = MediumUsage::default();
        for (sameness, conflict) in swaps.chain(mounts) {
            match sameness {
                FileSameness::Same => usage.conflicts.push(conflict),
                FileSameness::Different => {}
                FileSameness::Unknown => usage.unresolved.push(UnresolvedUse::IncomparableFile {
                    file: known.name.clone(),
                }),
            }
        }
        self.usage.conflicts.extend(usage.conflicts);
        self.usage.unresolved.extend(usage.unresolved);
        self.collect_mounts_from_files();
        self.collect_exports(&known);
        self.collect_attached_loops(&known);
    }

    /// A file system may be mounted from any file.
    fn collect_mounts_from_files(&mut self) {
        let questions = self.mounts.iter().filter_map(|placed| {
            let backing =
                placed.mount_source(self.sys_paths, &self.file_system_types_with_device)?;
            backing.unresolved
        });
        self.usage.unresolved.extend(questions);
        let unseen = mount_tables::unidentified_file_mounts(self.sys_paths);
        self.usage.unresolved.extend(unseen);
    }

    /// A loop device that cannot be queried may be attached to any file.
    fn collect_unidentified_users(&mut self) {
        for one in &self.loops {
            if let Err(error) = &one.backing {
                self.usage.unresolved.push(UnresolvedUse::LoopDevice {
                    device: one.description(),
                    reason: error.to_string(),
                });
            }
        }
    }

    fn sysfs_directory(&self, name: &str) -> PathBuf {
        self.sys_paths.sys.join("class/block").join(name)
    }

    /// Names in a directory of the kernel. One that cannot be read is a question.
    fn list_directory(&mut self, directory: &Path) -> Vec<String> {
        list_directory(directory).unwrap_or_else(|error| {
            self.add_unreadable(directory, &error);
            Vec::new()
        })
    }

    fn add_unreadable(&mut self, path: &Path, error: &io::Error) {
        let question = UnresolvedUse::unreadable(path, error);
        self.usage.unresolved.push(question);
    }

    /// The number of a device; `None` when it is gone, or is a question.
    fn read_device_number(&mut self, name: &str) -> Option<(u32, u32)> {
        let path = self.sysfs_directory(name).join("dev");
        match fs::read_to_string(&path) {
            Ok(text) => mounts::parse_device_number(&text),
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    self.add_unreadable(&path, &error);
                }
                None
            }
        }
    }

    fn device_number(&self, name: &str) -> Option<(u32, u32)> {
        read_device_number(&self.sysfs_directory(name))
    }
}

impl SharedFile {
    fn for_device(number: (u32, u32), name: &str) -> Self {
        Self {
            id: FileId::Device(number.0, number.1),
            name: sanitized(name),
            file: None,
        }
    }
}

/// Devices of mounted file systems that have several: name of the device, and the file system.
fn multi_device_members(roots: &SysPaths) -> io::Result<Vec<(String, String)>> {
    let directory = roots.sys.join("fs/btrfs");
    let mut members = Vec::new();
    for identity in list_directory(&directory)? {
        for device in list_directory(&directory.join(&identity).join("devices"))? {
            members.push((device, format!("btrfs {}", sanitized(&identity))));
        }
    }
    Ok(members)
}
