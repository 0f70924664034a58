//! File systems that the kernel has mounted from a file (erofs): the file is open for reading, by
//! nobody whom /proc shows.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::guard::sandbox::{
    Background, GuardSandbox, assert_refused, command_output, is_locked, is_root,
    overwrite_command, run_overwrite, run_overwrite_in_mount_namespace, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

/// A mount that is taken away at the end.
struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// A file with an erofs file system that holds one file of some megabytes.
fn erofs_image(sandbox: &GuardSandbox) -> Option<PathBuf> {
    if !is_root() {
        return None;
    }
    let (image, tree) = (sandbox.path("image.erofs"), sandbox.subdirectory("tree"));
    std::fs::write(tree.join("data"), vec![7; 8 << 20]).unwrap();
    let words = [image.to_str().unwrap(), tree.to_str().unwrap()];
    if command_output("mkfs.erofs", &words).is_none() {
        skip(Requirement::Program, "no mkfs.erofs");
        return None;
    }
    // Long enough for a test of a file.
    let file = File::options().write(true).open(&image).unwrap();
    file.set_len(crate::guard::sandbox::IMAGE_BYTES).unwrap();
    Some(image)
}

fn mount_image(image: &Path, point: &Path) -> Option<Mounted> {
    std::fs::create_dir_all(point).unwrap();
    match rustix::mount::mount(image, point, "erofs", MountFlags::RDONLY, None) {
        Ok(()) => Some(Mounted(point.to_owned())),
        Err(error) => {
            skip(
                Requirement::Kernel,
                format!("no erofs from a file: {error}"),
            );
            None
        }
    }
}

#[test]
fn renamed_and_replaced_mounted_file_is_refused() {
    let sandbox = GuardSandbox::exclusive();
    let Some(image) = erofs_image(&sandbox) else {
        return;
    };
    let Some(_mounted) = mount_image(&image, &sandbox.path("point")) else {
        return;
    };
    let old = sandbox.path("old");
    std::fs::rename(&image, &old).unwrap();
    std::fs::copy(&old, &image).unwrap();
    let before = test_content(&old);
    assert_refused(&run_overwrite(&old), "is mounted");
    let reader = File::open(&old).unwrap();
    assert_refused(&run_overwrite(&old), "is mounted");
    drop(reader);
    let Some(device) = LoopDevice::attach(&old, &[]) else {
        return;
    };
    assert_refused(&run_overwrite(device.path()), "is mounted");
    assert!(test_content(&old) == before);
}

#[test]
fn mounted_file_is_refused_after_lazy_unmount() {
    let sandbox = GuardSandbox::exclusive();
    let Some(image) = erofs_image(&sandbox) else {
        return;
    };
    let point = sandbox.path("point");
    let Some(mounted) = mount_image(&image, &point) else {
        return;
    };
    let reader = File::open(point.join("data")).unwrap();
    drop(mounted);
    assert_refused(&run_overwrite(&image), "is mounted from");
    drop(reader);
}

#[test]
fn mounted_file_is_refused_in_chroot_hiding_mount() {
    let sandbox = GuardSandbox::exclusive();
    let Some(image) = erofs_image(&sandbox) else {
        return;
    };
    let Some(_mounted) = mount_image(&image, &sandbox.path("point")) else {
        return;
    };
    let script = "mount -t tmpfs none \"$1\" && cd \"$1\" && mkdir proc sys dev usr lib lib64 bin && \
                  for d in proc sys dev usr lib lib64 bin; do mount --rbind /$d $d || exit 127; done && \
                  touch img ds && mount --bind \"$2\" img && mount --bind \"$3\" ds && shift 3 && \
                  exec chroot . /ds \"$@\"";
    let root = sandbox.subdirectory("root");
    let output = run_overwrite_in_mount_namespace(script, &[&root, &image], "/img");
    if matches!(output.status.code(), Some(125..=127)) {
        return skip(Requirement::Namespaces, "no root directory of its own");
    }
    assert_refused(&output, "is mounted");
}

#[test]
fn run_ends_when_its_file_is_mounted_in_another_mount_namespace() {
    let sandbox = GuardSandbox::exclusive();
    let Some(image) = erofs_image(&sandbox) else {
        return;
    };
    // Only whether it can be done here.
    let Some(mounted) = mount_image(&image, &sandbox.path("point")) else {
        return;
    };
    drop(mounted);
    let more = [
        "--overwrite-signatures",
        "--duration",
        "30s",
        "--rate",
        "50/s",
    ];
    let more = [&more[..], &["--window-begin", "16MiB"]].concat();
    let mut command = overwrite_command(image.as_os_str(), &more);
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut run = Background(command.spawn().unwrap());
    wait_until("it holds its locks", || {
        is_locked(&image) || run.0.try_wait().unwrap().is_some()
    });
    let thread = std::thread::spawn({
        let (image, point) = (image.clone(), sandbox.path("point"));
        move || {
            // SAFETY: this thread alone changes to a mount namespace of its own.
            unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNS) }.unwrap();
            let flags = rustix::mount::MountPropagationFlags::PRIVATE
                | rustix::mount::MountPropagationFlags::REC;
            rustix::mount::mount_change("/", flags).unwrap();
            let mounted = mount_image(&image, &point);
            wait_until("it ends", || run.0.try_wait().unwrap().is_some());
            drop(mounted);
            run.0.wait().unwrap().code()
        }
    });
    assert_eq!(thread.join().unwrap(), Some(3));
}
