//! What stays free of a file system, of the memory that it is in, and of what is below it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::guard::sandbox::{
    GuardSandbox, IMAGE_BYTES, assert_refused, assert_written, command_output, run_overwrite,
    wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// How a file system is made, and what a test that needs it requires.
type FileSystem = (&'static [&'static str], Requirement);
const EXT4: FileSystem = (&["mkfs.ext4", "-q"], Requirement::Ext4);
const BTRFS: FileSystem = (&["mkfs.btrfs", "-q"], Requirement::Btrfs);
const XFS: FileSystem = (&["mkfs.xfs", "-q"], Requirement::Xfs);

/// Mounts a file system of that size in a sparse file; its directory.
fn mount_file_system(
    sandbox: &mut GuardSandbox,
    size: u64,
    (program, requirement): &FileSystem,
) -> Option<(LoopDevice, PathBuf)> {
    let image = sandbox.path("image");
    File::create(&image).unwrap().set_len(size).unwrap();
    let device = LoopDevice::attach(&image, &[])?;
    let words = [&program[1..], &[device.path()]].concat();
    if command_output(program[0], &words).is_none() {
        skip(*requirement, format!("no {}", program[0]));
        return None;
    }
    let point = sandbox.path("mounted-0");
    let arguments = [device.path(), point.to_str().unwrap()];
    let is_mounted = sandbox.mount(&arguments, *requirement);
    is_mounted.then_some((device, point))
}

fn run_with_scratch_file(directory: &Path, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command.args(["run", "random-read"]).arg(directory);
    command.args(words).args(["--requests", "20"]);
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.output().unwrap()
}

fn free_bytes(directory: &Path) -> u64 {
    let facts = rustix::fs::statvfs(directory).unwrap();
    facts.f_bavail * facts.f_frsize
}

/// Takes all space but `left` bytes, without writing it.
fn fill_leaving(directory: &Path, left: u64) -> PathBuf {
    let path = directory.join(format!("filler-{left}"));
    let filler = File::create(&path).unwrap();
    let length = free_bytes(directory) - left;
    rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, length).unwrap();
    // btrfs counts it then.
    rustix::fs::syncfs(&filler).unwrap();
    path
}

#[test]
fn scratch_file_leaves_a_part_of_the_file_system_and_its_own_size() {
    let mut sandbox = GuardSandbox::new();
    let Some((_device, directory)) = mount_file_system(&mut sandbox, 196 * GIB, &XFS) else {
        return;
    };
    // Free space, each time less; wanted size, and the size that would fit where it is refused.
    let cases = [
        (8800, Some("64MiB"), None),
        (8800, Some("5GiB"), Some(4400_u64)),
        (1100, Some("64MiB"), None),
        (1100, Some("80MiB"), Some(76)),
        (1030, Some("64MiB"), Some(0)),
        (1030, None, Some(0)),
    ];
    let mut filled = u64::MAX;
    for (free, wanted, fitting) in cases {
        if free < filled {
            fill_leaving(&directory, free * MIB);
            filled = free;
        }
        let size = wanted.map_or(vec![], |size| vec!["--scratch-size", size]);
        let output = run_with_scratch_file(&directory, &size);
        let message = String::from_utf8_lossy(&output.stderr);
        let Some(fitting) = fitting else {
            assert!(output.status.success(), "{free} {wanted:?}: {message}");
            continue;
        };
        assert_eq!(
            output.status.code(),
            Some(1),
            "{free} {wanted:?}: {message}"
        );
        assert!(message.contains("must stay free"), "{message}");
        // The file system takes some blocks itself.
        let is_named = |mib: u64| message.contains(&format!("--scratch-size {mib}MiB fits"));
        let names_a_size = (fitting.saturating_sub(4)..=fitting).any(is_named);
        assert_eq!(names_a_size, fitting > 0, "{free} {wanted:?}: {message}");
    }
}

#[test]
fn file_with_holes_is_refused_without_room_for_new_blocks() {
    // Type of file system, and whether it writes allocated blocks in place.
    for (system, in_place) in [(EXT4, true), (XFS, true), (BTRFS, false)] {
        let mut sandbox = GuardSandbox::new();
        let Some((_device, directory)) = mount_file_system(&mut sandbox, 600 * MIB, &system) else {
            continue;
        };
        let [file, holes] = ["file", "holes"].map(|name| directory.join(name));
        std::fs::write(&file, vec![7; IMAGE_BYTES as usize]).unwrap();
        File::create(&holes).unwrap().set_len(IMAGE_BYTES).unwrap();
        rustix::fs::syncfs(File::open(&directory).unwrap()).unwrap();
        // Less than 5 %.
        let filler = fill_leaving(&directory, 20 * MIB);
        assert_refused(&run_overwrite(&holes), "get new blocks");
        if in_place {
            assert_written(&run_overwrite(&file));
        } else {
            assert_refused(&run_overwrite(&file), "get new blocks");
        }
        std::fs::remove_file(filler).unwrap();
        rustix::fs::syncfs(File::open(&directory).unwrap()).unwrap();
        wait_until("the space is free", || free_bytes(&directory) > 200 * MIB);
        assert_written(&run_overwrite(&holes));
    }
}

#[test]
fn file_with_shared_blocks_is_refused_without_room_for_new_ones() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_file_system(&mut sandbox, 600 * MIB, &XFS) else {
        return;
    };
    let [file, copy] = ["file", "copy"].map(|name| directory.join(name));
    std::fs::write(&file, vec![7; IMAGE_BYTES as usize]).unwrap();
    let names = [&file, &copy].map(|path| path.to_str().unwrap());
    if command_output("cp", &["--reflink=always", names[0], names[1]]).is_none() {
        return skip(Requirement::Xfs, "this XFS shares no blocks");
    }
    fill_leaving(&directory, 20 * MIB);
    assert_refused(&run_overwrite(&file), "get new blocks");
    std::fs::remove_file(&copy).unwrap();
    rustix::fs::syncfs(File::open(&directory).unwrap()).unwrap();
    assert_written(&run_overwrite(&file));
}

#[test]
fn space_of_an_image_below_is_said_to_be_unknown() {
    let mut sandbox = GuardSandbox::new();
    let Some((_device, directory)) = mount_file_system(&mut sandbox, 600 * MIB, &EXT4) else {
        return;
    };
    let output = run_with_scratch_file(&directory, &["--scratch-size", "16MiB"]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let image = sandbox.path("image");
    let notice = format!(
        "the free space of the file system of the image {}",
        image.display()
    );
    assert!(message.contains(&notice), "{message}");
}
