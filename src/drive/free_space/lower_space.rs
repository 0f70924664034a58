//! The free space below a medium: images, snapshots, pools and devices in memory are found once, because it is
//! asked for several times a second while the medium is written.

use std::fs::File;

use super::image::{self, BackingImage, UntoldDevices};
use super::memory_device::MemoryDevice;
use super::store::SpaceStore;
use super::unwritten;
use super::{FreeSpace, SpaceCount, file_system};
use crate::drive::error::DriveError;
use crate::drive::space_limit::SpaceLimit;
use crate::roots::SysPaths;

/// The images and the devices in memory that a medium lies in, and the snapshots and pools that it needs space
/// in, on any level.
#[derive(Debug, Default)]
pub struct LowerSpace {
    images: Vec<BackingImage>,
    stores: Vec<SpaceStore>,
    memory_devices: Vec<MemoryDevice>,
}

/// The free space of something below a medium.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drive) struct LowerRoom {
    /// What is left there.
    pub room: FreeSpace,
    /// What a write to the medium takes of it.
    pub demand: SpaceDemand,
}

/// What writes to a medium take of the free space of something below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive) enum SpaceDemand {
    /// New blocks of an image, or memory of a device, up to that many bytes in all.
    NewBlocks {
        /// The bytes.
        bytes: u64,
    },
    /// At least that many bytes of a snapshot or a pool for each write.
    Units {
        /// The bytes.
        unit_bytes: u64,
    },
}

impl LowerSpace {
    /// What is below the file system of a file; all of the machine where it does not tell.
    #[must_use]
    pub fn below_file(roots: &SysPaths, file: &File) -> Self {
        LowerSpaceSearch::new(roots, UntoldDevices::AllOfMachine).below_file(file)
    }

    /// What is below the file system of an output, as far as it tells: an output may be open for days, and
    /// must not keep images open or wait for servers that it has nothing to do with.
    #[must_use]
    pub fn below_output(roots: &SysPaths, file: &File) -> Self {
        LowerSpaceSearch::new(roots, UntoldDevices::None).below_file(file)
    }

    /// What is below a block device.
    pub(in crate::drive) fn below_device(roots: &SysPaths, number: (u32, u32)) -> Self {
        let mut search = LowerSpaceSearch::new(roots, UntoldDevices::AllOfMachine);
        search.devices = image::devices_below(roots, number);
        search.below_devices()
    }

    /// Whether nothing is below the medium.
    pub(super) fn is_empty(&self) -> bool {
        self.images.is_empty() && self.stores.is_empty() && self.memory_devices.is_empty()
    }

    /// Whether a write can need space below the medium.
    pub(in crate::drive) fn is_needed(&self, roots: &SysPaths) -> bool {
        let mut images = self.images.iter();
        let mut memory_devices = self.memory_devices.iter();
        !self.stores.is_empty()
            || images.any(|image| image.new_block_bytes(roots) > 0)
            || memory_devices.any(|device| device.rooms(roots).iter().any(|(_, bytes)| *bytes > 0))
    }

    /// The free space of all that writes can need space of.
    pub(in crate::drive) fn rooms(&self, roots: &SysPaths, count: SpaceCount) -> Vec<LowerRoom> {
        self.rooms_where(roots, count, |_| true)
    }

    /// What of it has no usable space left.
    pub(in crate::drive) fn exhausted(&self, roots: &SysPaths) -> Vec<LowerRoom> {
        self.rooms_where(roots, SpaceCount::WhileWriting, |room| {
            room.usable_bytes() == 0
        })
    }

    /// Whether all that writes can need space of has that many bytes free beside a reserve, or beside its
    /// own reserve if that is less.
    #[must_use]
    pub fn has_free(&self, roots: &SysPaths, bytes: u64, reserve: u64) -> bool {
        let lacks = |room: &FreeSpace| !room.has_free(bytes, reserve);
        self.rooms_where(roots, SpaceCount::WhileWriting, lacks)
            .is_empty()
    }

    /// The free space, before anything is written without the bytes that are promised to others. The blocks of
    /// an image are looked up only where its free space is wanted: that takes time for large ones.
    fn rooms_where(
        &self,
        roots: &SysPaths,
        count: SpaceCount,
        is_wanted: impl Fn(&FreeSpace) -> bool,
    ) -> Vec<LowerRoom> {
        let promised = match count {
            SpaceCount::BeforeWriting if !self.is_empty() => unwritten::unwritten_bytes(roots),
            SpaceCount::BeforeWriting | SpaceCount::WhileWriting => 0,
        };
        let lower_room = |room: Option<FreeSpace>, new_bytes: &dyn Fn() -> u64| {
            let room = Some(room?.without(promised)).filter(&is_wanted)?;
            let bytes = new_bytes();
            let demand = SpaceDemand::NewBlocks { bytes };
            (bytes > 0).then_some(LowerRoom { room, demand })
        };
        let images = self.images.iter().filter_map(|image| {
            let room = image_room(roots, image, count);
            lower_room(room, &|| image.new_block_bytes(roots))
        });
        let memory_devices = self.memory_devices.iter();
        let memory_rooms = memory_devices.flat_map(|device| device.rooms(roots));
        let memory_rooms =
            memory_rooms.filter_map(|(room, bytes)| lower_room(Some(room), &|| bytes));
        let stores = self.stores.iter().filter_map(|store| {
            let (room, unit_bytes) = FreeSpace::of_store(roots, store)?;
            let room = room.without(promised);
            let demand = SpaceDemand::Units { unit_bytes };
            is_wanted(&room).then_some(LowerRoom { room, demand })
        });
        images.chain(memory_rooms).chain(stores).collect()
    }
}

/// Looks for what is below a medium, from the top down.
struct LowerSpaceSearch<'a> {
    roots: &'a SysPaths,
    untold: UntoldDevices,
    /// The devices on any level, by name, each once.
    devices: Vec<String>,
    found: LowerSpace,
}

impl<'a> LowerSpaceSearch<'a> {
    fn new(roots: &'a SysPaths, untold: UntoldDevices) -> Self {
        Self {
            roots,
            untold,
            devices: Vec::new(),
            found: LowerSpace::default(),
        }
    }

    fn below_file(mut self, file: &File) -> LowerSpace {
        self.add_file(file);
        self.below_devices()
    }

    fn below_devices(mut self) -> LowerSpace {
        let mut next = 0;
        while let Some(name) = self.devices.get(next).cloned() {
            if let Some(image) = image::backing_image(self.roots, &name) {
                self.add_image(image);
            }
            let found = &mut self.found;
            found
                .stores
                .extend(SpaceStore::of_device(self.roots, &name));
            let in_memory = MemoryDevice::of_device(self.roots, &name);
            found.memory_devices.extend(in_memory);
            next += 1;
        }
        let pools = SpaceStore::of_zfs_volumes(self.roots, &self.devices);
        self.found.stores.extend(pools);
        self.found
    }

    /// The devices and images that the file system of a file is on.
    fn add_file(&mut self, file: &File) {
        for name in image::devices_below_file(self.roots, file, self.untold) {
            if !self.devices.contains(&name) {
                self.devices.push(name);
            }
        }
        // A user may name an image that is on the file system that it is said to be below.
        let is_new = |image: &BackingImage| {
            let mut known = self.found.images.iter();
            known.all(|other| other.path != image.path)
        };
        let image = image::image_of_server(self.roots, file).filter(is_new);
        if let Some(image) = image {
            self.add_image(image);
        }
    }

    fn add_image(&mut self, image: BackingImage) {
        let place = image.place.try_clone();
        self.found.images.push(image);
        if let Ok(place) = place {
            self.add_file(&place);
        }
    }
}

/// Bytes of the file system of a file that have been promised to others: the kernel has not written them to
/// an image there yet. What was written to its files is no longer free, on btrfs once it is committed.
fn promised_bytes(roots: &SysPaths, file: &File) -> u64 {
    let uncommitted = unwritten::uncommitted_bytes(roots, file);
    match image::is_below_an_image(roots, file) {
        true => unwritten::unwritten_bytes(roots).saturating_add(uncommitted),
        false => uncommitted,
    }
}

impl FreeSpace {
    /// Free space on the file system of an open file, whatever is below it.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub(in crate::drive) fn of_own_file_system(
        roots: &SysPaths,
        file: &File,
        directory: &str,
        count: SpaceCount,
    ) -> Result<Self, DriveError> {
        // First, since what is written back in between counts in the free space.
        let promised = match count {
            SpaceCount::BeforeWriting => promised_bytes(roots, file),
            SpaceCount::WhileWriting => 0,
        };
        Ok(Self::of_file_system(roots, file, directory)?.without(promised))
    }

    /// Free space on the file system of an open file and below it.
    ///
    /// # Errors
    /// When the kernel does not report it.
    pub(in crate::drive) fn of_file(
        roots: &SysPaths,
        file: &File,
        directory: &str,
        lower: &LowerSpace,
        count: SpaceCount,
    ) -> Result<Self, DriveError> {
        let own = Self::of_own_file_system(roots, file, directory, count)?;
        let below = lower.rooms(roots, count).into_iter();
        // When the file system of an image is full, this one loses data of others that the kernel has
        // accepted.
        let limits = |lower: &LowerRoom| match lower.demand {
            SpaceDemand::NewBlocks { bytes } => bytes > lower.room.usable_bytes(),
            SpaceDemand::Units { .. } => true,
        };
        Ok(below
            .filter(limits)
            .map(|lower| lower.room)
            .chain([own.clone()])
            .min_by_key(|room| (room.usable_bytes(), room.free_bytes))
            .unwrap_or(own))
    }
}

/// The free space of the file system of an image; `None` where that is unknown, as of some file systems in user
/// space.
fn image_room(roots: &SysPaths, image: &BackingImage, count: SpaceCount) -> Option<FreeSpace> {
    if !file_system::tells_space(roots, &image.place) {
        return None;
    }
    let uncommitted = match count {
        SpaceCount::BeforeWriting => unwritten::uncommitted_bytes(roots, &image.place),
        SpaceCount::WhileWriting => 0,
    };
    let room = FreeSpace::of_file_system(roots, &image.place, &image.path).ok()?;
    let room = room.without(uncommitted);
    let limit = room.limit.clone();
    let limit = limit.or_else(|| Some(SpaceLimit::Image(image.path.clone())));
    Some(FreeSpace { limit, ..room })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn promised_bytes_are_free_below_a_medium_only_once_it_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let image = || BackingImage {
            path: "/image".to_owned(),
            place: File::open(directory.path()).unwrap(),
            unread_bytes: Some(1 << 20),
        };
        let lower = LowerSpace {
            images: vec![image()],
            ..LowerSpace::default()
        };
        let (_root, roots) = SysPaths::with_files(&[]);
        assert!(lower.exhausted(&roots).is_empty());
        let count = SpaceCount::BeforeWriting;
        assert!(lower.rooms(&roots, count)[0].room.free_bytes > 0);
        let (_root, roots) = SysPaths::with_files(&[("proc/vmstat", "nr_dirty 99999999999\n")]);
        let room = lower.rooms(&roots, count).remove(0).room;
        assert!(room.free_bytes == 0 && room.unwritten_bytes > 0, "{room:?}");
        let room = lower.rooms(&roots, SpaceCount::WhileWriting).remove(0).room;
        assert!(room.free_bytes > 0 && room.unwritten_bytes == 0, "{room:?}");
        assert!(lower.exhausted(&roots).is_empty());
        assert!(lower.has_free(&roots, 1, 0));
    }

    #[test]
    fn image_on_a_file_system_without_a_size_has_unknown_space() {
        // That of /proc reports none either.
        let image = BackingImage {
            path: "/image".to_owned(),
            place: File::open("/proc/self/stat").unwrap(),
            unread_bytes: Some(1 << 20),
        };
        let lower = LowerSpace {
            images: vec![image],
            ..LowerSpace::default()
        };
        let (_root, roots) = SysPaths::with_files(&[]);
        assert!(lower.rooms(&roots, SpaceCount::WhileWriting).is_empty());
        assert!(lower.has_free(&roots, 1 << 20, 1 << 20));
    }

    #[test]
    fn medium_on_a_device_in_memory_needs_memory() {
        let memory = "MemTotal: 8388608 kB\nMemAvailable: 2097152 kB\n";
        let (root, roots) = SysPaths::with_files(&[
            ("proc/meminfo", memory),
            ("sys/class/block/dm-0/dev", "254:0\n"),
            ("sys/class/block/dm-0/slaves/ram0/dev", "1:0\n"),
            ("sys/class/block/ram0/dev", "1:0\n"),
            ("sys/class/block/ram0/size", "8388608\n"),
        ]);
        let lower = LowerSpace::below_device(&roots, (254, 0));
        assert!(lower.is_needed(&roots));
        let room = lower.rooms(&roots, SpaceCount::WhileWriting).remove(0);
        assert_eq!(room.demand, SpaceDemand::NewBlocks { bytes: 4 << 30 });
        assert_eq!(room.room.usable_bytes(), 1 << 30);
        assert!(lower.has_free(&roots, 1 << 30, 1 << 20));
        assert!(lower.exhausted(&roots).is_empty());
        let meminfo = root.path().join("proc/meminfo");
        std::fs::write(meminfo, "MemTotal: 8388608 kB\nMemAvailable: 1024 kB\n").unwrap();
        assert_eq!(lower.exhausted(&roots).len(), 1);
        assert!(!lower.has_free(&roots, 1 << 10, 1 << 20));
    }

    #[test]
    fn medium_on_a_device_with_a_limit_of_memory_keeps_a_reserve_of_the_limit() {
        let stat = |used_mib: u64| format!("0 0 {} 268435456 0 0 0 0 0\n", used_mib << 20);
        let (root, roots) = SysPaths::with_files(&[
            (
                "proc/meminfo",
                "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n",
            ),
            ("sys/class/block/zram0/dev", "253:0\n"),
            ("sys/class/block/zram0/size", "8388608\n"),
            ("sys/class/block/zram0/mm_stat", &stat(56)),
        ]);
        let lower = LowerSpace::below_device(&roots, (253, 0));
        assert!(lower.is_needed(&roots));
        // The memory of the machine has room for all that the limit leaves.
        let rooms = lower.rooms(&roots, SpaceCount::WhileWriting);
        let left: Vec<_> = rooms
            .iter()
            .map(|lower| (lower.room.usable_bytes() >> 20, lower.demand))
            .collect();
        let demand = |mib: u64| SpaceDemand::NewBlocks { bytes: mib << 20 };
        assert_eq!(left, [(3072, demand(200)), (136, demand(4096))]);
        assert!(lower.has_free(&roots, 100 << 20, 64 << 20));
        assert!(!lower.has_free(&roots, 150 << 20, 64 << 20));
        assert!(lower.exhausted(&roots).is_empty());
        let device = root.path().join("sys/class/block/zram0");
        std::fs::write(device.join("mm_stat"), stat(192)).unwrap();
        assert_eq!(lower.exhausted(&roots).len(), 1);
    }

    #[test]
    fn bytes_of_a_file_system_are_promised_where_it_has_an_image() {
        let file = tempfile::tempfile().unwrap();
        let info = format!("proc/self/fdinfo/{}", file.as_raw_fd());
        let table = "1 1 8:1 / / rw - ext4 /dev/sda1 rw\n\
                     2 1 0:40 / /data rw - btrfs /dev/sdb rw\n\
                     3 1 0:50 / /server rw - nfs4 server:/ rw\n\
                     4 1 0:60 / /merged rw - overlay overlay rw,upperdir=/data/upper\n\
                     5 1 8:1 / /data/bound rw - ext4 /dev/sda1 rw\n";
        // No file has any of these paths.
        let promised = |mount: u32, image: &str, read_only: &str| {
            let (_root, roots) = SysPaths::with_files(&[
                ("proc/vmstat", "nr_dirty 2\n"),
                ("proc/self/mountinfo", table),
                (&info, &format!("mnt_id:\t{mount}\n")),
                ("sys/class/block/loop0/loop/backing_file", image),
                ("sys/class/block/loop0/ro", read_only),
            ]);
            promised_bytes(&roots, &file)
        };
        let all = 2 * rustix::param::page_size() as u64;
        assert_eq!(promised(1, "/srv/image\n", "0\n"), all);
        assert_eq!(
            promised(1, "/srv/image\n", "1\n"),
            0,
            "nothing is written to it"
        );
        assert_eq!(promised(1, "/data/bound/image (deleted)\n", "0\n"), all);
        assert_eq!(promised(2, "/data/subvolume/image\n", "0\n"), all);
        assert_eq!(promised(2, "/merged/image\n", "0\n"), all);
        assert_eq!(promised(4, "/data/image\n", "0\n"), all);
        assert_eq!(promised(3, "/server/image\n", "0\n"), all);
        for mount in [1, 2, 4] {
            assert_eq!(promised(mount, "/server/image\n", "0\n"), 0, "{mount}");
        }
    }
}
