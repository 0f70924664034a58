//! Room by injected sizes, and on file systems in memory that are larger than the memory.

use super::*;
use crate::drive::target;
use crate::requirement::{Requirement, skip};

const GIB: u64 = 1 << 30;

fn limit(whole: u64, left: u64, name: &str) -> Limit {
    Limit {
        whole,
        left,
        name: name.to_owned(),
    }
}

#[test]
fn the_reserve_is_a_gibibyte_or_a_twentieth() {
    assert_eq!(Room::new(10 * GIB, 5 * GIB).reserve, GIB);
    assert_eq!(Room::new(100 * GIB, 5 * GIB).reserve, 5 * GIB);
    assert_eq!(Room::new(100 * GIB, 4 * GIB).usable(), 0);
}

#[test]
fn the_choice_leaves_half_of_what_may_be_used() {
    assert_eq!(Room::new(100 * GIB, 50 * GIB).choice(), Some(GIB));
    assert_eq!(Room::new(10 * GIB, 2 * GIB).choice(), Some(GIB / 2));
    assert_eq!(Room::new(10 * GIB, GIB + (16 << 20)).choice(), None);
}

#[test]
fn room_in_memory_is_the_least_of_all_limits() {
    let large = || Room::new(400 * GIB, 400 * GIB);
    let machine = || limit(24 * GIB, 20 * GIB, "the machine");
    let room = large().within_memory(true, vec![machine()]);
    assert_eq!(room.limit.as_deref(), Some("the machine"));
    assert_eq!(room.usable(), 20 * GIB - 24 * GIB / 20);
    let group = limit(4 * GIB, 3 * GIB, "the group");
    let room = large().within_memory(true, vec![machine(), group.clone()]);
    assert_eq!(
        (room.limit.as_deref(), room.usable()),
        (Some("the group"), 2 * GIB)
    );
    // A limit of the file system itself that is less.
    let small = Room::new(2 * GIB, GIB + 4096);
    let room = small
        .clone()
        .within_memory(true, vec![machine(), group.clone()]);
    assert_eq!(room, small);
    // None of its own (ramfs, tmpfs with size=0), and none at all that is known.
    let room = Room::new(0, 0).within_memory(false, vec![group]);
    assert_eq!(room.usable(), 2 * GIB);
    assert_eq!(large().within_memory(true, Vec::new()), large());
}

#[test]
fn refusal_names_the_limit_of_memory() {
    let group = limit(
        GIB / 4,
        GIB / 8,
        "memory.max (256 MiB) of the control group /job",
    );
    let room = Room::new(400 * GIB, 400 * GIB).within_memory(true, vec![group]);
    let text = room.refuse("/tmp", 100 * GIB).to_string();
    let expected = "/tmp lies in memory, of which memory.max (256 MiB) of the control group /job \
                    leaves 128 MiB, and 1 GiB have to stay free: no room for a scratch file of 100 GiB";
    assert_eq!(text, expected);
}

/// A file system mounted by the shell at `$at`, in a directory of its own, and unmounted.
struct Mounted(tempfile::TempDir, Vec<&'static str>);

impl Mounted {
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

impl Drop for Mounted {
    fn drop(&mut self) {
        for point in &self.1 {
            let path = self.0.path().join(point);
            let _ = std::process::Command::new("umount").arg(path).output();
        }
    }
}

/// Asserts that a scratch file of 300 GiB, which no machine of a test has as memory, is refused, and
/// so is overwriting a file with a hole of that size where holes are told; a small scratch file is not.
fn assert_bounded(directory: &std::path::Path, tells_holes: bool) {
    let roots = Roots::default();
    let facts = memory::limits(&roots);
    if facts.iter().all(|limit| limit.left > 250 * GIB) {
        return skip(Requirement::Tmpfs, "more than 250 GiB of memory");
    }
    let refused = target::open(&roots, directory, Some(300 * GIB)).unwrap_err();
    assert!(
        matches!(&refused, DriveError::NoRoom { limit: Some(_), .. }),
        "{refused}"
    );
    if !tells_holes {
        return;
    }
    let path = directory.join("sparse");
    File::create(&path).unwrap().set_len(300 * GIB).unwrap();
    let medium = target::open(&roots, &path, None).unwrap();
    let refused = crate::drive::scratch::check_holes(&medium, 0..300 * GIB, None).unwrap_err();
    let by_memory = matches!(&refused, DriveError::NoRoomForHoles { limit: Some(_), .. });
    assert!(by_memory, "{refused}");
    if facts.iter().all(|limit| limit.left > 2 * GIB) {
        target::open(&roots, directory, Some(1 << 20)).unwrap();
    }
}

#[test]
fn tmpfs_larger_than_the_memory_is_not_filled() {
    let script = "mount -t tmpfs -o size=400g none $at";
    if let Some(mounted) = Mounted::new(script, vec![""]) {
        assert_bounded(mounted.0.path(), true);
    }
}

#[test]
fn ramfs_is_bounded_by_the_memory() {
    if let Some(mounted) = Mounted::new("mount -t ramfs none $at", vec![""]) {
        assert_bounded(mounted.0.path(), false);
    }
}

#[test]
fn overlay_that_writes_to_tmpfs_is_bounded_by_the_memory() {
    let script = "mkdir $at/merged && mkdir $at/tmpfs && mount -t tmpfs -o size=400g none $at/tmpfs; \
                  cd $at/tmpfs; mkdir lower upper work; mount -t overlay overlay \
                  -o lowerdir=$PWD/lower,upperdir=$PWD/upper,workdir=$PWD/work $at/merged";
    if let Some(mounted) = Mounted::new(script, vec!["merged", "tmpfs"]) {
        assert_bounded(&mounted.0.path().join("merged"), true);
    }
}
