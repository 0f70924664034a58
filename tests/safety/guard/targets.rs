//! What may be a target at all: by its kind, size and name, by what protects it, and an existing file by the type of
//! its file system, on which a lease has to count everybody who opens the file.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::file_system::LoopFileSystem;
use crate::guard::sandbox::{
    Background, GuardSandbox, IMAGE_BYTES, assert_refused, assert_written, command_output, is_root,
    overwrite_command, run_overwrite, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};
use crate::slow_disk::SlowDisk;

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
    let words = ["-t", "overlay", "-o", &options, "none"];
    let words = [&words[..], &[point.to_str().unwrap()]].concat();
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
    if let Some(served) = SlowDisk::mount() {
        assert_refused(&run_overwrite(served.file()), "directory");
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
fn character_devices_pipes_and_kernel_files_are_refused() {
    let sandbox = GuardSandbox::new();
    let pipe = sandbox.path("pipe");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0).unwrap();
    let device = LoopDevice::attach(&sandbox.create_image("image"), &[]);
    let setting = |device: &LoopDevice| format!("/sys/block/{}/queue/read_ahead_kb", device.name());
    let setting = device.as_ref().map(setting);
    let before = setting.iter().map(fs::read).next();
    let mut targets = vec!["/dev/null", "/dev/zero", pipe.to_str().unwrap()];
    targets.extend(setting.as_deref());
    for target in targets {
        let output = run_overwrite(target);
        let message = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(matches!(code, Some(2 | 3)), "{target}: {code:?} {message}");
    }
    let after = setting.iter().map(fs::read).next();
    assert_eq!(after.map(Result::unwrap), before.map(Result::unwrap));
}

#[test]
fn immutable_and_append_only_files_are_refused() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let name = file.to_str().unwrap();
    for (attribute, reason) in [("i", "immutable"), ("a", "append-only")] {
        if command_output("chattr", &[&format!("+{attribute}"), name]).is_none() {
            return skip(Requirement::Files, "no attributes here");
        }
        let output = run_overwrite(&file);
        command_output("chattr", &[&format!("-{attribute}"), name]).unwrap();
        assert_refused(&output, reason);
    }
    assert_written(&run_overwrite(&file));
}

#[test]
fn read_only_device_and_file_on_a_read_only_mount_are_refused() {
    let mut sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &["--read-only"]) else {
        return;
    };
    assert_refused(&run_overwrite(device.path()), "read-only");
    drop(device);
    let (directory, point) = (sandbox.directory.path(), sandbox.path("read-only"));
    let (directory, point) = (directory.to_owned(), point.to_str().unwrap());
    let words = ["-o", "bind,ro", directory.to_str().unwrap(), point];
    if sandbox.mount(&words, Requirement::Namespaces) {
        assert_refused(&run_overwrite(format!("{point}/image")), "read-only");
    }
}

#[test]
fn executing_program_file_is_refused() {
    let sandbox = GuardSandbox::new();
    let program = sandbox.path("program");
    fs::copy("/bin/sleep", &program).unwrap();
    let before = fs::read(&program).unwrap();
    let child = Background(Command::new(&program).arg("600").spawn().unwrap());
    let link = format!("/proc/{}/exe", child.0.id());
    wait_until("it is executed", || {
        fs::read_link(&link).is_ok_and(|path| path == program)
    });
    assert_refused(&run_overwrite(&program), "");
    assert!(fs::read(&program).unwrap() == before);
}

#[test]
fn names_with_trailing_slashes_or_other_bytes_are_accepted() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    assert_written(&run_overwrite(format!("{}/", file.display())));
    if let Some(device) = LoopDevice::attach(&file, &[]) {
        assert_written(&run_overwrite(format!("{}//", device.path())));
    }
    let path = sandbox.directory.path();
    let path = path.join(OsStr::from_bytes(b"im\xffage"));
    fs::write(&path, vec![0; 1 << 20]).unwrap();
    let output = run_overwrite(&path);
    assert_written(&output);
    let document = String::from_utf8(output.stdout).unwrap();
    assert!(document.contains("im\\\\xffage"), "{document}");
}

const USER: u32 = 1000;

/// A directory of another user, and one that everybody may write.
fn directories(sandbox: &GuardSandbox) -> [PathBuf; 2] {
    let theirs = sandbox.subdirectory("theirs");
    lchown(&theirs, Some(USER), Some(USER)).unwrap();
    let shared = sandbox.subdirectory("shared");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    [theirs, shared]
}

#[test]
fn link_of_another_user_to_a_file_or_device_of_root_is_refused() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let (file, image) = (sandbox.create_image("file"), sandbox.create_image("image"));
    let device = LoopDevice::attach(&image, &[]);
    let node = device.iter().map(|device| PathBuf::from(device.path()));
    for directory in directories(&sandbox) {
        let link = directory.join("link");
        let way = sandbox.directory.path().to_owned();
        let victims = node.clone().chain([file.clone()]).map(|it| (it, ""));
        for (victim, below) in victims.chain([(way, "file")]) {
            symlink(victim, &link).unwrap();
            lchown(&link, Some(USER), Some(USER)).unwrap();
            assert_refused(&run_overwrite(link.join(below)), "symbolic link");
            fs::remove_file(&link).unwrap();
        }
    }
    for untouched in [&file, &image] {
        assert!(test_content(untouched).iter().all(|byte| *byte == 0));
    }
}

#[test]
fn own_link_and_file_of_another_user_are_written() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let (file, link) = (sandbox.create_image("file"), sandbox.path("link"));
    symlink(&file, &link).unwrap();
    assert_written(&run_overwrite(&link));
    let [theirs, _] = directories(&sandbox);
    fs::rename(&file, theirs.join("file")).unwrap();
    lchown(theirs.join("file"), Some(USER), Some(USER)).unwrap();
    assert_written(&run_overwrite(theirs.join("file")));
}
