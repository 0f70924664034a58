//! Devices and file systems in an image that gets new blocks when it is written, because it is sparse,
//! shares them with a copy, or lies on a copy-on-write file system: when the file system of the image is full, the kernel
//! drops data that it has accepted from others.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use crate::guard::sandbox::{
    GuardSandbox, IMAGE_BYTES, assert_refused, assert_written, command_output, overwrite_command,
    run_overwrite, run_overwrite_in_mount_namespace,
};
use crate::loop_device::LoopDevice;
use crate::process::wait_until;
use crate::requirement::{Requirement, skip};

const MIB: u64 = 1 << 20;
/// What stays free of a file system of up to 20 GiB.
const RESERVE_BYTES: u64 = 1 << 30;

/// Mounts a file system that is smaller than the reserve; its directory.
fn mount_small_file_system(sandbox: &mut GuardSandbox) -> Option<(LoopDevice, PathBuf)> {
    mount_file_system(sandbox, 8 * IMAGE_BYTES, &EXT4)
}

/// How a file system is made, and what a test that needs it requires.
type FileSystem = (&'static [&'static str], Requirement);
const EXT4: FileSystem = (&["mkfs.ext4", "-q"], Requirement::Ext4);
const BTRFS: FileSystem = (&["mkfs.btrfs", "-q"], Requirement::Btrfs);
const XFS: FileSystem = (&["mkfs.xfs", "-q"], Requirement::Xfs);

/// Mounts a file system of that size, which needs little space itself; its directory.
fn mount_file_system(
    sandbox: &mut GuardSandbox,
    size: u64,
    (program, requirement): &FileSystem,
) -> Option<(LoopDevice, PathBuf)> {
    let image = sandbox.path("small");
    File::create(&image).unwrap().set_len(size).unwrap();
    let device = LoopDevice::attach(&image, &[])?;
    let words = [&program[1..], &[device.path()]].concat();
    if command_output(program[0], &words).is_none() {
        skip(*requirement, format!("no {}", program[0]));
        return None;
    }
    let point = sandbox.path("mounted-0");
    let arguments = [device.path(), point.to_str().unwrap()];
    sandbox
        .mount(&arguments, *requirement)
        .then_some((device, point))
}

/// Attaches a loop device to a sparse image of that size in that directory.
fn attach_sparse_image(directory: &Path, size: u64) -> Option<(PathBuf, LoopDevice)> {
    let image = directory.join("image");
    File::create(&image).unwrap().set_len(size).unwrap();
    let device = LoopDevice::attach(&image, &[])?;
    Some((image, device))
}

/// Mounts a file system in a sparse image of 4 GiB in that directory; its directory.
fn mount_sparse_image(sandbox: &mut GuardSandbox, directory: &Path) -> Option<PathBuf> {
    let image = directory.join("image");
    File::create(&image).unwrap().set_len(4 << 30).unwrap();
    let image = image.to_str().unwrap();
    let format = ["-q", "-F", "-O", "^has_journal", image];
    if command_output("mkfs.ext4", &format).is_none() {
        skip(Requirement::Ext4, "no mkfs.ext4");
        return None;
    }
    let point = sandbox.path("inner");
    let words = ["-o", "loop", image, point.to_str().unwrap()];
    sandbox.mount(&words, Requirement::Loop).then_some(point)
}

/// Makes a file of [`IMAGE_BYTES`] whose blocks are all allocated and written.
fn write_image(path: &Path) {
    std::fs::write(path, vec![7; IMAGE_BYTES as usize]).unwrap();
    File::open(path).unwrap().sync_all().unwrap();
}

/// Runs a program again after sync(1) as long as it says that what others have written, such as other tests,
/// leaves too little space.
fn output_after_sync(run: impl Fn() -> Output) -> Output {
    for _ in 0..20 {
        let output = run();
        if !String::from_utf8_lossy(&output.stderr).contains("run `sync`") {
            return output;
        }
        assert!(command_output("sync", &[]).is_some());
    }
    run()
}

/// btrfs reports blocks as free until the transaction that allocated them is committed, up to 30 s later.
#[test]
fn space_that_btrfs_has_allocated_and_not_committed_is_not_free() {
    let mut sandbox = GuardSandbox::new();
    let Some((_device, directory)) = mount_file_system(&mut sandbox, 4 << 30, &BTRFS) else {
        return;
    };
    let write_new = |path: &Path| {
        let output = format!("of={}", path.display());
        let words = ["if=/dev/zero", "bs=1M", "count=256", "oflag=direct"];
        let words = [&words[..], &["conv=fsync", &output]].concat();
        assert!(command_output("dd", &words).is_some());
    };
    // A new group of blocks would be committed at once: those of this file are free again.
    let removed = directory.join("removed");
    write_new(&removed);
    std::fs::remove_file(&removed).unwrap();
    assert!(command_output("sync", &["-f", directory.to_str().unwrap()]).is_some());
    let before = free_bytes(&directory);
    write_new(&directory.join("others"));
    let is_committed = free_bytes(&directory) < before - 128 * MIB;
    let size = format!("{}MiB", (before - RESERVE_BYTES) / MIB - 128);
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command.arg("run").arg("random-read").arg(&directory);
    command.args(["--scratch-size", &size, "--requests", "20"]);
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("run `sync`") || is_committed, "{message}");
}

#[test]
fn device_in_sparse_image_without_room_below_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_small_file_system(&mut sandbox) else {
        return;
    };
    let Some((_image, device)) = attach_sparse_image(&directory, 1 << 30) else {
        return;
    };
    assert_refused(&run_overwrite(device.path()), "space below the image");
    drop(device);
    let image = directory.join("allocated");
    let size = IMAGE_BYTES.to_string();
    command_output("fallocate", &["--length", &size, image.to_str().unwrap()]).unwrap();
    let Some(allocated) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_written(&run_overwrite(allocated.path()));
}

#[test]
fn line_that_needs_space_below_is_omitted() {
    let directory = tempfile::tempdir().unwrap();
    let fio_gap = |device: &LoopDevice| {
        let output = run_overwrite(device.path());
        assert_written(&output);
        let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let reproduce = &document["runs"][0]["reproduce"];
        assert_ne!(reproduce["fio"].is_null(), reproduce["fio_gap"].is_null());
        reproduce["fio_gap"].as_str().map(str::to_owned)
    };
    let Some((image, device)) = attach_sparse_image(directory.path(), IMAGE_BYTES) else {
        return;
    };
    assert_eq!(fio_gap(&device).as_deref(), Some("space-below"));
    drop(device);
    write_image(&image);
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_eq!(fio_gap(&device), None);
}

#[test]
fn scratch_file_in_sparse_image_without_room_below_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_small_file_system(&mut sandbox) else {
        return;
    };
    let Some(point) = mount_sparse_image(&mut sandbox, &directory) else {
        return;
    };
    let mut command = overwrite_command(point.as_os_str(), &["--scratch-size", "32MiB"]);
    let output = command.args(["--requests", "20"]).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("space below the image"), "{message}");
}

#[test]
fn run_names_the_image_in_which_its_scratch_file_stays_allocated() {
    let mut sandbox = GuardSandbox::new();
    let directory = sandbox.path("images");
    std::fs::create_dir(&directory).unwrap();
    let Some(point) = mount_sparse_image(&mut sandbox, &directory) else {
        return;
    };
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["run", "random-read"])
        .arg(&point)
        .args(["--scratch-size", "16MiB", "--requests", "20"])
        .env("XDG_STATE_HOME", sandbox.path("state"))
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{message}");
    let image = directory.join("image");
    let notice = format!("takes up to 16 MiB of the image {}", image.display());
    assert!(message.contains(&notice), "{message}");
}

#[test]
fn space_that_others_need_when_their_data_is_written_back_is_not_taken() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_file_system(&mut sandbox, 1700 * MIB, &EXT4) else {
        return;
    };
    let Some(point) = mount_sparse_image(&mut sandbox, &directory) else {
        return;
    };
    let usable = (free_bytes(&directory) - RESERVE_BYTES) / MIB;
    // In the file system of the image, and not in the image yet.
    let others = vec![7; (usable / 2 * MIB) as usize];
    std::fs::write(point.join("others"), others).unwrap();
    let size = format!("{}MiB", usable * 3 / 4);
    for place in [&point, &directory] {
        let mut command = overwrite_command(place.as_os_str(), &["--scratch-size", &size]);
        let output = command.args(["--requests", "20"]).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{place:?}: {message}");
        assert!(message.contains("must stay free"), "{place:?}: {message}");
    }
}

/// Limits what a subvolume of a new btrfs may hold; its directory.
fn mount_limited_subvolume(
    sandbox: &mut GuardSandbox,
    limit: u64,
) -> Option<(LoopDevice, PathBuf)> {
    let (device, directory) = mount_file_system(sandbox, 4 << 30, &BTRFS)?;
    let subvolume = directory.join("limited");
    let name = subvolume.to_str().unwrap();
    let point = directory.to_str().unwrap();
    if command_output("btrfs", &["quota", "enable", point]).is_none() {
        skip(Requirement::Btrfs, "no quotas of btrfs");
        return None;
    }
    assert!(command_output("btrfs", &["subvolume", "create", name]).is_some());
    let bytes = limit.to_string();
    assert!(command_output("btrfs", &["qgroup", "limit", &bytes, name]).is_some());
    Some((device, subvolume))
}

#[test]
fn scratch_file_and_image_leave_half_of_a_small_quota() {
    // An image that cannot be compared with a file of an overlay of another test counts as in use.
    let mut sandbox = GuardSandbox::exclusive();
    let Some((_lower, directory)) = mount_limited_subvolume(&mut sandbox, 96 * MIB) else {
        return;
    };
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| {
        let path = directory.join(name);
        std::fs::create_dir(&path).unwrap();
        path.display().to_string()
    });
    let merged = sandbox.path("merged");
    let layers = format!("lowerdir={lower},upperdir={upper},workdir={work}");
    let words = ["-t", "overlay", "overlay", "-o", &layers];
    let words = [&words[..], &[merged.to_str().unwrap()]].concat();
    let has_overlay = sandbox.mount(&words, Requirement::Overlay);
    for place in [Some(&directory), has_overlay.then_some(&merged)]
        .into_iter()
        .flatten()
    {
        let run = |size: &str| {
            let mut command = overwrite_command(place.as_os_str(), &["--scratch-size", size]);
            command.args(["--requests", "20"]).output().unwrap()
        };
        let output = run("64MiB");
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("the quota group 0/"), "{message}");
        assert_written(&output_after_sync(|| run("16MiB")));
    }
    let Some((_image, device)) = attach_sparse_image(&directory, 64 * MIB) else {
        return;
    };
    assert_written(&output_after_sync(|| run_overwrite(device.path())));
    let others = directory.join("others");
    std::fs::write(&others, vec![7; 60 * MIB as usize]).unwrap();
    assert!(command_output("sync", &["-f", others.to_str().unwrap()]).is_some());
    assert_refused(&run_overwrite(device.path()), "the quota group 0/");
}

fn free_bytes(directory: &Path) -> u64 {
    let facts = rustix::fs::statvfs(directory).unwrap();
    facts.f_bavail * facts.f_frsize
}

#[test]
fn device_in_image_on_copy_on_write_file_system_without_room_is_refused() {
    // An image that cannot be compared with a file of an overlay of another test counts as in use.
    let mut sandbox = GuardSandbox::exclusive();
    let Some((_lower, directory)) = mount_file_system(&mut sandbox, 8 * IMAGE_BYTES, &BTRFS) else {
        return;
    };
    let [image, in_place] = ["image", "in-place"].map(|name| directory.join(name));
    File::create(&in_place).unwrap();
    let name = in_place.to_str().unwrap();
    assert!(command_output("chattr", &["+C", name]).is_some());
    for file in [&image, &in_place] {
        write_image(file);
    }
    assert_refused(&run_overwrite(&image), "get new blocks");
    assert_written(&run_overwrite(&in_place));
    let attached = [&image, &in_place].map(|file| LoopDevice::attach(file, &[]).unwrap());
    assert_refused(&run_overwrite(attached[0].path()), "space below the image");
    assert_written(&run_overwrite(attached[1].path()));
}

#[test]
fn file_and_image_with_shared_blocks_are_refused_without_room_for_new_ones() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_file_system(&mut sandbox, 320 * MIB, &XFS) else {
        return;
    };
    let [file, copy] = ["file", "copy"].map(|name| directory.join(name));
    write_image(&file);
    let names = [&file, &copy].map(|path| path.to_str().unwrap());
    if command_output("cp", &["--reflink=always", names[0], names[1]]).is_none() {
        return skip(Requirement::Xfs, "this XFS shares no blocks");
    }
    assert_refused(&run_overwrite(&file), "get new blocks");
    let attached = LoopDevice::attach(&file, &[]).unwrap();
    assert_refused(&run_overwrite(attached.path()), "space below the image");
    std::fs::remove_file(&copy).unwrap();
    rustix::fs::syncfs(File::open(&directory).unwrap()).unwrap();
    assert_written(&run_overwrite(attached.path()));
    drop(attached);
    assert_written(&run_overwrite(&file));
}

#[test]
fn written_file_in_sparse_image_without_room_below_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_small_file_system(&mut sandbox) else {
        return;
    };
    let Some(point) = mount_sparse_image(&mut sandbox, &directory) else {
        return;
    };
    // Its blocks are allocated, and nothing tells whether those of the image below them are.
    let file = point.join("file");
    write_image(&file);
    assert_refused(&run_overwrite(&file), "space below the image");
}

#[test]
fn device_whose_image_was_deleted_is_refused_without_room_below() {
    // An image that cannot be compared with a file of an overlay of another test counts as in use.
    let mut sandbox = GuardSandbox::exclusive();
    let Some((_lower, directory)) = mount_small_file_system(&mut sandbox) else {
        return;
    };
    let Some((image, device)) = attach_sparse_image(&directory, 1 << 30) else {
        return;
    };
    std::fs::remove_file(&image).unwrap();
    assert_refused(&run_overwrite(device.path()), "space below the image");
}

/// In a container the only mount of the host's file system may be that of a file, such as `/etc/hosts`.
#[test]
fn device_whose_image_is_below_a_mounted_file_is_refused_without_room_below() {
    let mut sandbox = GuardSandbox::exclusive();
    let Some((_lower, directory)) = mount_small_file_system(&mut sandbox) else {
        return;
    };
    let Some((_image, device)) = attach_sparse_image(&directory, 1 << 30) else {
        return;
    };
    let (inner, outer) = (directory.join("hosts"), sandbox.path("hosts"));
    File::create(&inner).unwrap();
    File::create(&outer).unwrap();
    let script = "mount --bind \"$1\" \"$2\" && mount -t tmpfs none \"$3\" || exit 127; shift 3; exec \"$@\"";
    let arguments = [&*inner, &outer, &directory];
    let output = run_overwrite_in_mount_namespace(script, &arguments, device.path());
    if matches!(output.status.code(), Some(125..=127)) {
        return skip(Requirement::Namespaces, "no mount namespace");
    }
    assert_refused(&output, "space below the image");
}

#[test]
fn scratch_file_on_copy_on_write_file_system_stops_at_the_reserve() {
    let mut sandbox = GuardSandbox::new();
    let Some((_lower, directory)) = mount_file_system(&mut sandbox, 3 << 30, &BTRFS) else {
        return;
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command.arg("run").arg("random-write").arg(&directory);
    command.args([
        "--scratch-size",
        "64MiB",
        "--duration",
        "60s",
        "--ramp",
        "0s",
    ]);
    command.args(["--block-size", "64KiB", "--rate", "400/s", "--json", "-"]);
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let before = free_bytes(&directory);
    let mut child = command.spawn().unwrap();
    wait_until("the scratch file", || {
        free_bytes(&directory) + 60 * MIB < before || child.try_wait().unwrap().is_some()
    });
    // Others use up the space but for some seconds of the run.
    let filler = File::create(directory.join("filler")).unwrap();
    let size = free_bytes(&directory) - RESERVE_BYTES - 64 * MIB;
    rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, size).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(message.contains("get new blocks"), "{message}");
    let free = free_bytes(&directory);
    assert!(free > RESERVE_BYTES - 128 * MIB, "{free} bytes are free");
}

#[test]
fn run_on_a_device_in_a_sparse_image_stops_at_the_reserve_below() {
    // What other tests have written and is not written back would leave too little space for the run to begin.
    let mut sandbox = GuardSandbox::exclusive();
    assert!(command_output("sync", &[]).is_some());
    let Some((_lower, directory)) = mount_file_system(&mut sandbox, 1700 * MIB, &EXT4) else {
        return;
    };
    let Some((image, device)) = attach_sparse_image(&directory, 256 * MIB) else {
        return;
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command.args(["run", "random-write", device.path()]);
    command.args([
        "--overwrite",
        device.path(),
        "--duration",
        "60s",
        "--ramp",
        "0s",
    ]);
    command.args(["--block-size", "64KiB", "--rate", "200/s", "--json", "-"]);
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_until("a block of the image", || {
        std::fs::metadata(&image).unwrap().blocks() > 0 || child.try_wait().unwrap().is_some()
    });
    // Others use up the space but for a second of the run.
    let filler = File::create(directory.join("filler")).unwrap();
    let size = free_bytes(&directory) - RESERVE_BYTES - 12 * MIB;
    rustix::fs::fallocate(&filler, rustix::fs::FallocateFlags::empty(), 0, size).unwrap();
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(message.contains("space below the image"), "{message}");
    // The space of a few looks may be missing.
    std::thread::sleep(Duration::from_millis(100));
    let free = free_bytes(&directory);
    assert!(free > RESERVE_BYTES - 32 * MIB, "{free} bytes are free");
}
