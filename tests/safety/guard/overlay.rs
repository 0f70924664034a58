//! Overlays: a file has one identity in the overlay and another in its upper directory.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rustix::fs::MemfdFlags;

use crate::guard::sandbox::{
    Background, GuardSandbox, IMAGE_BYTES, assert_refused, assert_written, command_output, is_root,
    run_overwrite, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

/// An overlay with a file in its upper directory: the path through the overlay and the real one.
fn create_overlay(sandbox: &mut GuardSandbox, is_relative: bool) -> Option<(PathBuf, PathBuf)> {
    if !is_root() {
        return None;
    }
    for name in ["lower", "upper", "work"] {
        sandbox.subdirectory(name);
    }
    let real = sandbox.create_image("upper/file");
    let base = sandbox.directory.path().display().to_string();
    let base = if is_relative {
        String::new()
    } else {
        format!("{base}/")
    };
    let options = format!("lowerdir={base}lower,upperdir={base}upper,workdir={base}work");
    let point = sandbox.path("merged");
    let point = point.to_str().unwrap();
    if is_relative {
        std::fs::create_dir_all(point).unwrap();
        let command = format!(
            "cd {} && mount -t overlay overlay -o {options} {point}",
            sandbox.directory.path().display()
        );
        let mounted = sandbox.mount_by(&command, point, Requirement::Overlay);
        return mounted.then(|| (sandbox.path("merged/file"), real));
    }
    let arguments = ["-t", "overlay", "overlay", "-o", &options, point];
    let mounted = sandbox.mount(&arguments, Requirement::Overlay);
    mounted.then(|| (sandbox.path("merged/file"), real))
}

#[test]
fn unused_overlay_file_is_written() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, real)) = create_overlay(&mut sandbox, false) else {
        return;
    };
    assert_written(&run_overwrite(&merged));
    assert_written(&run_overwrite(&real));
}

#[test]
fn file_attached_through_overlay_is_refused_in_upper_directory() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, real)) = create_overlay(&mut sandbox, false) else {
        return;
    };
    let Some(device) = LoopDevice::attach(&merged, &[]) else {
        return;
    };
    assert_refused(&run_overwrite(&real), "is attached to");
    assert_refused(&run_overwrite(&merged), "is attached to");
    drop(device);
}

#[test]
fn file_attached_in_upper_directory_is_refused_through_overlay() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, real)) = create_overlay(&mut sandbox, false) else {
        return;
    };
    let Some(device) = LoopDevice::attach(&real, &[]) else {
        return;
    };
    assert_refused(&run_overwrite(&merged), "is attached to");
    drop(device);
}

#[test]
fn loop_device_on_upper_file_is_refused_when_overlay_sibling_is_mounted() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, real)) = create_overlay(&mut sandbox, false) else {
        return;
    };
    let Some(first) = sandbox.mounted_loop_device(&merged, &[]) else {
        return;
    };
    let Some(second) = LoopDevice::attach(&real, &[]) else {
        return;
    };
    let before = test_content(&real);
    assert_refused(&run_overwrite(second.path()), "is mounted at");
    assert!(test_content(&real) == before);
    drop((first, second));
}

#[test]
fn file_open_for_writing_on_one_side_of_overlay_is_refused_on_the_other() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, real)) = create_overlay(&mut sandbox, false) else {
        return;
    };
    for (open, target) in [(&merged, &real), (&real, &merged)] {
        let writer = OpenOptions::new().write(true).open(open).unwrap();
        assert_refused(&run_overwrite(target), "open for writing");
        drop(writer);
    }
}

#[test]
fn overlay_file_with_unknown_upper_directory_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, _)) = create_overlay(&mut sandbox, true) else {
        return;
    };
    assert_refused(&run_overwrite(&merged), "upper directory of the overlay");
}

/// An overlay over that lower directory: the path of `file` in it.
fn overlay_over_lower(sandbox: &mut GuardSandbox, lower: &Path, more: &str) -> Option<PathBuf> {
    if !is_root() {
        return None;
    }
    let (upper, work) = (sandbox.subdirectory("upper"), sandbox.subdirectory("work"));
    let options = format!(
        "lowerdir={},upperdir={},workdir={}{more}",
        lower.display(),
        upper.display(),
        work.display()
    );
    let point = sandbox.path("merged");
    let arguments = ["-t", "overlay", "overlay", "-o", &options];
    let arguments = [&arguments[..], &[point.to_str().unwrap()]].concat();
    let mounted = sandbox.mount(&arguments, Requirement::Overlay);
    mounted.then(|| point.join("file"))
}

/// An overlay whose file was copied up: it keeps the number of the lower file's inode.
fn copied_up_overlay_file(sandbox: &mut GuardSandbox) -> Option<(PathBuf, PathBuf)> {
    let lower = sandbox.subdirectory("lower");
    sandbox.create_image("lower/file");
    let merged = overlay_over_lower(sandbox, &lower, "")?;
    let writer = OpenOptions::new().write(true).open(&merged).unwrap();
    writer.write_all_at(&[1], 0).unwrap();
    Some((merged, sandbox.path("upper/file")))
}

#[test]
fn unused_copied_up_file_is_written() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, real)) = copied_up_overlay_file(&mut sandbox) else {
        return;
    };
    assert_written(&run_overwrite(&merged));
    assert_written(&run_overwrite(&real));
    assert_written(&run_overwrite(sandbox.path("lower/file")));
}

#[test]
fn copied_up_file_used_on_one_side_of_overlay_is_refused_on_the_other() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, real)) = copied_up_overlay_file(&mut sandbox) else {
        return;
    };
    for (used, target) in [(&merged, &real), (&real, &merged)] {
        let Some(device) = LoopDevice::attach(used, &["--read-only"]) else {
            return;
        };
        assert_refused(&run_overwrite(target), "is attached to");
        drop(device);
        let writer = OpenOptions::new().write(true).open(used).unwrap();
        assert_refused(&run_overwrite(target), "open for writing");
        drop(writer);
    }
    let Some(second) = LoopDevice::attach(&real, &[]) else {
        return;
    };
    let writer = OpenOptions::new().write(true).open(&merged).unwrap();
    assert_refused(&run_overwrite(second.path()), "open for writing");
    drop((writer, second));
}

#[test]
fn lower_file_used_through_overlay_with_xino_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let disk = sandbox.create_image("disk");
    let Some(_disk) = sandbox.mounted_loop_device(&disk, &[]) else {
        return;
    };
    let lower = sandbox.path("mounted-0");
    let file = lower.join("file");
    std::fs::write(&file, vec![1; 8 << 20]).unwrap();
    let Some(merged) = overlay_over_lower(&mut sandbox, &lower, ",xino=on") else {
        return;
    };
    let Some(device) = LoopDevice::attach(&merged, &["--read-only"]) else {
        return;
    };
    assert_refused(&run_overwrite(&file), "is attached to");
    drop(device);
}

#[test]
fn file_of_overlay_of_another_mount_namespace_is_refused() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    for name in ["lower", "upper", "work", "merged"] {
        sandbox.subdirectory(name);
    }
    sandbox.create_image("lower/file");
    let script = "cd \"$1\" && mount -t overlay overlay -o \
                  lowerdir=$1/lower,upperdir=$1/upper,workdir=$1/work merged && \
                  printf x | dd of=merged/file conv=notrunc status=none && touch done && \
                  exec sleep 600";
    let directory = sandbox.directory.path().to_str().unwrap();
    let child = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", script])
        .args(["sh", directory])
        .stdin(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        return skip(Requirement::Namespaces, "no unshare");
    };
    let mut child = Background(child);
    wait_until("it is mounted in the other namespace", || {
        sandbox.path("done").exists() || child.0.try_wait().unwrap().is_some()
    });
    if !sandbox.path("done").exists() {
        return skip(Requirement::Overlay, "no overlay in a namespace of its own");
    }
    let target = format!("/proc/{}/root{directory}/merged/file", child.0.id());
    assert_refused(&run_overwrite(target), "another mount namespace");
}

#[test]
fn file_locked_through_overlay_is_refused_in_upper_directory() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, real)) = copied_up_overlay_file(&mut sandbox) else {
        return;
    };
    for (locked, target) in [(&merged, &real), (&real, &merged)] {
        let reader = File::open(locked).unwrap();
        rustix::fs::flock(&reader, rustix::fs::FlockOperation::LockShared).unwrap();
        assert_refused(&run_overwrite(target), "holds a lock on");
        drop(reader);
    }
}

/// An overlay whose files may have their attributes in one layer and their bytes in another, and a
/// file in its lower directory.
fn mount_metacopy(sandbox: &mut GuardSandbox) -> Option<PathBuf> {
    for name in ["lower", "upper", "work"] {
        sandbox.subdirectory(name);
    }
    let lower = sandbox.create_image("lower/file");
    let base = sandbox.directory.path().display().to_string();
    let options = format!(
        "lowerdir={base}/lower,upperdir={base}/upper,workdir={base}/work,metacopy=on,redirect_dir=on"
    );
    let point = sandbox.path("merged");
    let arguments = [
        "-t",
        "overlay",
        "overlay",
        "-o",
        &options,
        point.to_str().unwrap(),
    ];
    if !sandbox.mount(&arguments, Requirement::Overlay) {
        return None;
    }
    Some(lower)
}

/// The kernel's memory files have no mount, as the layers of an overlay in a container have none.
#[test]
fn memory_file_of_same_size_is_not_taken_for_a_layer() {
    if !is_root() {
        return;
    }
    let mut sandbox = GuardSandbox::exclusive();
    if mount_metacopy(&mut sandbox).is_none() {
        return;
    }
    let target = sandbox.create_image("target");
    let memory = rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC).unwrap();
    rustix::fs::ftruncate(&memory, IMAGE_BYTES).unwrap();
    assert_written(&run_overwrite(&target));
    drop(memory);
}

#[test]
fn metacopy_lower_file_used_through_overlay_is_refused() {
    if !is_root() {
        return;
    }
    let mut sandbox = GuardSandbox::exclusive();
    let Some(lower) = mount_metacopy(&mut sandbox) else {
        return;
    };
    let merged = sandbox.path("merged/file");
    // Only the mode is copied up: the bytes stay in the lower file.
    command_output("chmod", &["600", merged.to_str().unwrap()]);
    let Some(device) = LoopDevice::attach(&merged, &["--read-only"]) else {
        return;
    };
    let Some(second) = LoopDevice::attach(&lower, &[]) else {
        return;
    };
    assert_refused(&run_overwrite(second.path()), "cannot determine");
    drop((second, device));
}

/// An overlay on a tmpfs with a file in its lower directory only: the path through the overlay, and
/// the one that a copy would have in the upper directory.
fn lower_only(sandbox: &mut GuardSandbox) -> Option<(PathBuf, PathBuf)> {
    let upper = sandbox.path("memory");
    let upper = upper.to_str().unwrap().to_owned();
    let arguments = ["-t", "tmpfs", "-o", "size=200M", "tmpfs", &upper];
    if !is_root() || !sandbox.mount(&arguments, Requirement::Overlay) {
        return None;
    }
    for name in ["lower", "memory/upper", "memory/work"] {
        sandbox.subdirectory(name);
    }
    sandbox.create_image("lower/file");
    let base = sandbox.directory.path().display();
    let options = format!("lowerdir={base}/lower,upperdir={upper}/upper,workdir={upper}/work");
    let point = sandbox.path("merged");
    let arguments = [
        "-t",
        "overlay",
        "overlay",
        "-o",
        &options,
        point.to_str().unwrap(),
    ];
    let mounted = sandbox.mount(&arguments, Requirement::Overlay);
    mounted.then(|| {
        (
            sandbox.path("merged/file"),
            sandbox.path("memory/upper/file"),
        )
    })
}

#[test]
fn lower_file_that_is_refused_is_not_copied() {
    let mut sandbox = GuardSandbox::new();
    let Some((merged, copy)) = lower_only(&mut sandbox) else {
        return;
    };
    // The reserve of 1 GiB is not there.
    assert_refused(&run_overwrite(&merged), "must stay free");
    assert!(!copy.exists(), "copied without room");
    if command_output(
        "mkfs.ext4",
        &["-q", "-F", sandbox.path("lower/file").to_str().unwrap()],
    )
    .is_none()
    {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    assert_refused(&run_overwrite(&merged), "ext4");
    assert!(!copy.exists(), "copied without consent");
}
