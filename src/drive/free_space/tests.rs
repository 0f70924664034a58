//! Free space from given sizes, and on in-memory file systems that are larger than the memory.

use std::fs::File;

use super::*;
use crate::drive::medium;
use crate::memory;
use crate::memory::MemoryLimit;
use crate::requirement::{Requirement, skip};

const GIB: u64 = 1 << 30;

fn memory_limit(whole: u64, left: u64, name: &str) -> MemoryLimit {
    MemoryLimit {
        total_bytes: whole,
        available_bytes: left,
        swap_bytes: 0,
        limit_name: name.to_owned(),
    }
}

#[test]
fn reserve_is_larger_of_1_gib_and_5_percent() {
    assert_eq!(FreeSpace::new(10 * GIB, 5 * GIB).reserve_bytes, GIB);
    assert_eq!(FreeSpace::new(100 * GIB, 5 * GIB).reserve_bytes, 5 * GIB);
    assert_eq!(FreeSpace::new(100 * GIB, 4 * GIB).usable_bytes(), 0);
}

#[test]
fn default_scratch_size_is_at_most_half_of_usable_space() {
    assert_eq!(
        FreeSpace::new(100 * GIB, 50 * GIB).default_scratch_bytes(),
        Some(GIB)
    );
    assert_eq!(
        FreeSpace::new(10 * GIB, 2 * GIB).default_scratch_bytes(),
        Some(GIB / 2)
    );
    assert_eq!(
        FreeSpace::new(10 * GIB, GIB + (16 << 20)).default_scratch_bytes(),
        None
    );
}

#[test]
fn free_space_in_memory_is_minimum_of_all_limits() {
    let large = || FreeSpace::new(400 * GIB, 400 * GIB);
    let machine = || memory_limit(24 * GIB, 20 * GIB, "the machine");
    let room = large().limited_by_memory(true, vec![machine()]);
    assert_eq!(
        room.limit,
        Some(SpaceLimit::Memory("the machine".to_owned()))
    );
    assert_eq!(room.usable_bytes(), 20 * GIB - 24 * GIB / 20);
    let group = memory_limit(4 * GIB, 3 * GIB, "the group");
    let room = large().limited_by_memory(true, vec![machine(), group.clone()]);
    assert_eq!(
        (room.limit.clone(), room.usable_bytes()),
        (Some(SpaceLimit::Memory("the group".to_owned())), 2 * GIB)
    );
    // A smaller limit of the file system itself.
    let small = FreeSpace::new(2 * GIB, GIB + 4096);
    let room = small
        .clone()
        .limited_by_memory(true, vec![machine(), group.clone()]);
    assert_eq!(room, small);
    // No limit of its own (ramfs, tmpfs with size=0), and no known memory limit.
    let room = FreeSpace::new(0, 0).limited_by_memory(false, vec![group]);
    assert_eq!(room.usable_bytes(), 2 * GIB);
    assert_eq!(large().limited_by_memory(true, Vec::new()), large());
}

#[test]
fn insufficient_space_error_names_memory_limit() {
    let group = memory_limit(
        GIB / 4,
        GIB / 8,
        "memory.max (256 MiB) of the control group /job",
    );
    let room = FreeSpace::new(400 * GIB, 400 * GIB).limited_by_memory(true, vec![group]);
    let text = room.insufficient_space("/tmp", 100 * GIB).to_string();
    let expected = "/tmp is in memory, of which memory.max (256 MiB) of the control group /job \
                    leaves 128 MiB, and 1 GiB must stay free: not enough space for a scratch file of 100 GiB";
    assert_eq!(text, expected);
}

#[test]
fn error_about_the_limit_of_a_device_in_memory_names_it() {
    let room = FreeSpace {
        free_bytes: 223 << 20,
        reserve_bytes: 64 << 20,
        limit: Some(SpaceLimit::MemoryDevice("zram0".to_owned())),
        unwritten_bytes: 0,
    };
    let text = room.insufficient_space("/var/log", 512 << 20);
    let expected = "/var/log is in the memory of zram0, whose limit (mem_limit) leaves 223 MiB, and 64 MiB \
                    must stay free: not enough space for a scratch file of 512 MiB";
    assert_eq!(text.to_string(), expected);
}

#[test]
fn error_about_a_snapshot_names_it() {
    let room = FreeSpace {
        free_bytes: 8 << 20,
        reserve_bytes: 5 << 20,
        limit: Some(SpaceLimit::Store("the snapshot home-daily".to_owned())),
        unwritten_bytes: 0,
    };
    let text = room.clone().insufficient_space("/home", 32 << 20);
    let expected = "/home may need space in the snapshot home-daily, which has 8 MiB left, and 5 MiB \
                    must stay free: not enough space for a scratch file of 32 MiB";
    assert_eq!(text.to_string(), expected);
    assert!(text.advice().contains("lvextend"));
    let text = room.insufficient_for_holes("/dev/vg/home", 4 << 20);
    let expected = "4 MiB of /dev/vg/home are copied, or get new blocks, when they are written: it \
                    may need space in the snapshot home-daily, which has 8 MiB left, and 5 MiB must \
                    stay free";
    assert_eq!(text.to_string(), expected);
}

#[test]
fn advice_names_sync_where_unwritten_data_alone_takes_the_space() {
    let room = FreeSpace::new(20 * GIB, 4 * GIB).without(2 * GIB);
    assert_eq!(room.usable_bytes(), GIB);
    let fits = room.clone().insufficient_space("/srv", 3 * GIB);
    assert!(fits.advice().contains("`sync`"), "{}", fits.advice());
    assert!(fits.advice().contains("2 GiB"), "{}", fits.advice());
    let larger = room.clone().insufficient_space("/srv", 4 * GIB);
    assert!(!larger.advice().contains("sync"), "{}", larger.advice());
    let fits = room.clone().insufficient_for_holes("/srv/image", 3 * GIB);
    assert!(fits.advice().contains("`sync`"), "{}", fits.advice());
    let room = FreeSpace::new(20 * GIB, 4 * GIB);
    let other = room.insufficient_for_holes("/srv/image", 4 * GIB);
    assert!(!other.advice().contains("sync"), "{}", other.advice());
}

/// A file system mounted by the shell at `$at`, in its own directory, and unmounted on drop.
struct TestMount(tempfile::TempDir, Vec<&'static str>);

impl TestMount {
    fn new(script: &str, points: Vec<&'static str>) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mut shell = std::process::Command::new("sh");
        shell.args(["-ec", script]).env("at", directory.path());
        let mounted = Self(directory, points);
        if !shell.output().unwrap().status.success() {
            skip(
                Requirement::Tmpfs,
                format!("{script}: failed (root is needed)"),
            );
            return None;
        }
        Some(mounted)
    }
}

impl Drop for TestMount {
    fn drop(&mut self) {
        for point in &self.1 {
            let path = self.0.path().join(point);
            let _ = std::process::Command::new("umount").arg(path).output();
        }
    }
}

/// Asserts that a scratch file of 300 GiB, more than any test machine's memory, is refused, and so
/// is overwriting a file with a hole of that size if the file system reports holes. A small
/// scratch file is not refused.
fn assert_scratch_refused(directory: &std::path::Path, tells_holes: bool) {
    let roots = SysPaths::default();
    let facts = memory::memory_limits(&roots);
    if facts.iter().all(|limit| limit.available_bytes > 250 * GIB) {
        return skip(Requirement::Tmpfs, "more than 250 GiB of memory");
    }
    let refused = medium::open_target(&roots, directory, Some(300 * GIB)).unwrap_err();
    assert!(
        matches!(
            &refused,
            DriveError::InsufficientSpace { limit: Some(_), .. }
        ),
        "{refused}"
    );
    if !tells_holes {
        return;
    }
    let path = directory.join("sparse");
    File::create(&path).unwrap().set_len(300 * GIB).unwrap();
    let medium = medium::open_target(&roots, &path, None).unwrap();
    let refused =
        crate::drive::scratch::check_space_for_holes(&medium, 0..300 * GIB, None).unwrap_err();
    let by_memory = matches!(
        &refused,
        DriveError::InsufficientSpaceForHoles { limit: Some(_), .. }
    );
    assert!(by_memory, "{refused}");
    if facts.iter().all(|limit| limit.available_bytes > 2 * GIB) {
        medium::open_target(&roots, directory, Some(1 << 20)).unwrap();
    }
}

#[test]
fn scratch_on_tmpfs_larger_than_memory_is_refused() {
    let script = "mount -t tmpfs -o size=400g none $at";
    if let Some(mounted) = TestMount::new(script, vec![""]) {
        assert_scratch_refused(mounted.0.path(), true);
    }
}

#[test]
fn scratch_on_ramfs_is_limited_by_memory() {
    if let Some(mounted) = TestMount::new("mount -t ramfs none $at", vec![""]) {
        assert_scratch_refused(mounted.0.path(), false);
    }
}

#[test]
fn scratch_on_overlay_with_tmpfs_upper_is_limited_by_memory() {
    let script = "mkdir $at/merged && mkdir $at/tmpfs && mount -t tmpfs -o size=400g none $at/tmpfs; \
                  cd $at/tmpfs; mkdir lower upper work; mount -t overlay overlay \
                  -o lowerdir=$PWD/lower,upperdir=$PWD/upper,workdir=$PWD/work $at/merged";
    if let Some(mounted) = TestMount::new(script, vec!["merged", "tmpfs"]) {
        assert_scratch_refused(&mounted.0.path().join("merged"), true);
    }
}
