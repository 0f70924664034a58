//! What may be a target at all: by its kind and size, and an existing file by the type of its file system, on
//! which a lease has to count everybody who opens the file.

use std::fs::{self, File};
use std::path::Path;

use crate::file_system::LoopFileSystem;
use crate::guard::fuse_file::FuseFile;
use crate::guard::sandbox::{
    GuardSandbox, IMAGE_BYTES, assert_refused, assert_written, overwrite_command, run_overwrite,
};
use crate::loop_device::LoopDevice;
use crate::requirement::Requirement;

fn write_zeroes(path: &Path, bytes: u64) {
    fs::write(path, vec![0; usize::try_from(bytes).unwrap()]).unwrap();
    File::open(path).unwrap().sync_all().unwrap();
}

/// Asserts that an existing file is written, but not while another program has it open.
#[track_caller]
fn assert_written_when_unused(file: &Path) {
    write_zeroes(file, IMAGE_BYTES);
    let reader = File::open(file).unwrap();
    assert_refused(&run_overwrite(file), "");
    drop(reader);
    assert_written(&run_overwrite(file));
}

#[test]
fn existing_file_is_written_on_file_systems_of_this_machine_when_nobody_has_it_open() {
    for (kind, requirement) in [
        ("ext4", Requirement::Ext4),
        ("xfs", Requirement::Xfs),
        ("btrfs", Requirement::Btrfs),
        ("f2fs", Requirement::Kernel),
    ] {
        if let Some(mounted) = LoopFileSystem::new(kind, requirement) {
            assert_written_when_unused(&mounted.file_path("file"));
        }
    }
    let mut sandbox = GuardSandbox::new();
    let point = sandbox.path("tmpfs");
    let words = ["-t", "tmpfs", "none", point.to_str().unwrap()];
    if sandbox.mount(&words, Requirement::Tmpfs) {
        assert_written_when_unused(&point.join("file"));
    }
}

/// Asserts that an existing file is refused with its directory as the way, and that the directory is one.
#[track_caller]
fn assert_directory_is_the_way(file: &Path) {
    let before = fs::read(file).unwrap();
    assert_refused(&run_overwrite(file), "directory");
    assert!(fs::read(file).unwrap() == before);
    let words = ["--scratch-size", "4MiB", "--requests", "20"];
    let mut command = overwrite_command(file.parent().unwrap().as_os_str(), &words);
    assert_written(&command.output().unwrap());
}

/// overlayfs grants a lease, which does not count who has the upper file open.
#[test]
fn existing_file_on_an_overlay_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let [lower, upper, work] = ["lower", "upper", "work"].map(|name| sandbox.subdirectory(name));
    let point = sandbox.path("merged");
    let (lower, layer, work) = (lower.display(), upper.display(), work.display());
    let options = format!("lowerdir={lower},upperdir={layer},workdir={work}");
    let words = [
        "-t",
        "overlay",
        "overlay",
        "-o",
        &options,
        point.to_str().unwrap(),
    ];
    if !sandbox.mount(&words, Requirement::Overlay) {
        return;
    }
    write_zeroes(&point.join("file"), IMAGE_BYTES);
    let writer = File::options().write(true).open(upper.join("file"));
    assert_directory_is_the_way(&point.join("file"));
    drop(writer);
    assert_directory_is_the_way(&point.join("file"));
}

/// So does FUSE, where the server and its other clients are not counted.
#[test]
fn existing_file_on_fuse_is_refused() {
    if let Some(file) = FuseFile::mount() {
        assert_refused(&run_overwrite(file.path()), "directory");
    }
}

#[test]
fn block_device_below_16_mib_is_refused() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    for (kib, is_target) in [(16 * 1024 - 4, false), (16 * 1024, true)] {
        let limit = format!("{kib}KiB");
        let Some(device) = LoopDevice::attach(&image, &["--sizelimit", &limit]) else {
            return;
        };
        let output = run_overwrite(device.path());
        if is_target {
            assert_written(&output);
        } else {
            assert_refused(&output, "16 MiB");
        }
    }
}

/// No target of any benchmark (2), or one that is not written (3).
#[test]
fn character_devices_and_pipes_are_refused() {
    let sandbox = GuardSandbox::new();
    let pipe = sandbox.path("pipe");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0).unwrap();
    for target in ["/dev/null", "/dev/zero", pipe.to_str().unwrap()] {
        let output = run_overwrite(target);
        let message = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(2 | 3)), "{target}: {code:?} {message}");
    }
}
