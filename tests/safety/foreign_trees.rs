//! Directories of others that are only looked at: nothing is mounted by it.

use std::ffi::CString;
use std::io::{PipeReader, pipe};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use diskscope::probe::sample::{ProcessIdentity, ProcessSample};
use diskscope::roots::SysPaths;
use diskscope::transfers::counting::{FileCount, JobCounter};
use diskscope::tui::targets::list_targets;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_change, unmount,
};
use rustix::thread::UnshareFlags;

use crate::file_system::make_file_system;
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, is_root, skip};

/// A process that does nothing.
struct Sleeper(Child);

impl Sleeper {
    fn start(directory: &Path) -> Self {
        let mut command = Command::new("sleep");
        command.arg("600").current_dir(directory).process_group(0);
        Self(command.spawn().unwrap())
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An automount whose daemon never answers: who triggers it waits until the test has failed.
struct Automount {
    point: PathBuf,
    requests: PipeReader,
    _daemon: Sleeper,
}

impl Automount {
    /// `None`, and why, on a kernel without autofs.
    fn at(directory: &Path) -> Option<Self> {
        // Processes of the group of the daemon trigger nothing.
        let daemon = Sleeper::start(Path::new("/"));
        let (requests, writer) = pipe().unwrap();
        let options = format!(
            "fd={},pgrp={},minproto=5,maxproto=5,direct",
            writer.as_raw_fd(),
            daemon.0.id()
        );
        let options = CString::new(options).unwrap();
        let flags = MountFlags::empty();
        let mounted = mount("test", directory, "autofs", flags, options.as_c_str());
        if let Err(error) = mounted {
            skip(Requirement::Kernel, format!("no autofs: {error}"));
            return None;
        }
        Some(Self {
            point: directory.to_owned(),
            requests,
            _daemon: daemon,
        })
    }

    fn was_triggered(&self) -> bool {
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut watched = [PollFd::new(&self.requests, PollFlags::IN)];
        poll(&mut watched, Some(&at_once)).unwrap();
        watched[0].revents().contains(PollFlags::IN)
    }
}

impl Drop for Automount {
    fn drop(&mut self) {
        let _ = unmount(&self.point, UnmountFlags::DETACH);
    }
}

/// Runs a test in a thread with mounts of its own, in a directory.
fn with_own_mounts(test: impl FnOnce(&Path) + Send + 'static) {
    if !is_root() {
        return;
    }
    let thread = thread::spawn(|| {
        // SAFETY: the other threads keep their mounts and their descriptors.
        let unshared = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) };
        if let Err(error) = unshared {
            return skip(Requirement::Namespaces, error);
        }
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        mount_change("/", private).unwrap();
        let directory = tempfile::tempdir().unwrap();
        test(directory.path());
    });
    thread.join().unwrap();
}

/// Makes a directory.
fn make_directory(path: PathBuf) -> PathBuf {
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn write_file(path: &Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, "content").unwrap();
}

/// The count of a copy with these arguments in a directory, after a time.
fn count_of_copy(directory: &Path, arguments: &[u8]) -> FileCount {
    let process = Sleeper::start(directory);
    let name = arguments.split(|byte| *byte == 0).next().unwrap();
    let processes = [ProcessSample {
        identity: Arc::new(ProcessIdentity {
            pid: process.0.id(),
            name: name.to_vec(),
            arguments: arguments.to_vec(),
            ..ProcessIdentity::default()
        }),
        ..ProcessSample::default()
    }];
    let mut jobs = JobCounter::new(SysPaths::default());
    let end = Instant::now() + Duration::from_millis(1500);
    let mut count = FileCount::default();
    while Instant::now() < end {
        let counts = jobs.update(&processes);
        count = counts.running.values().next().unwrap().count;
        thread::sleep(Duration::from_millis(50));
    }
    count
}

#[test]
fn copy_beside_an_automount_is_counted_without_mounting_it() {
    with_own_mounts(|root| {
        for name in ["tree/a", "tree/b"] {
            write_file(&root.join(name));
        }
        let point = make_directory(root.join("tree/media/disk"));
        let Some(automount) = Automount::at(&point) else {
            return;
        };
        for (line, files) in [
            (&b"cp\0-ax\0tree\0copy\0"[..], 2),
            (b"cp\0-a\0tree\0copy\0", 0),
            (b"cp\0-a\0tree/media/disk/below\0tree/a\0copy\0", 0),
            // The automount is the destination, too.
            (b"cp\0-a\0tree/a\0tree/media/disk\0", 1),
        ] {
            let count = count_of_copy(root, line);
            let text = String::from_utf8_lossy(line);
            assert_eq!(count.files, files, "{text}: {count:?}");
            assert!(!automount.was_triggered(), "{text}");
        }
    });
}

/// Runs the program in that directory, and ends it when it triggers the automount. Its messages, if it failed.
fn run_beside(automount: &Automount, directory: &Path, arguments: &str) -> Result<(), String> {
    let messages = directory.join("messages");
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command.args(arguments.split(' ')).current_dir(directory);
    command.env("XDG_STATE_HOME", directory.join("state"));
    let file = std::fs::File::create(&messages).unwrap();
    command.stdout(Stdio::null()).stderr(file);
    let mut program = command.spawn().unwrap();
    let end = Instant::now() + Duration::from_secs(60);
    let mut status = None;
    while status.is_none() && !automount.was_triggered() && Instant::now() < end {
        status = program.try_wait().unwrap();
        thread::sleep(Duration::from_millis(20));
    }
    program.kill().unwrap();
    program.wait().unwrap();
    let messages = std::fs::read_to_string(messages).unwrap();
    match (automount.was_triggered(), status) {
        (false, Some(status)) if status.success() => Ok(()),
        (is_triggered, _) => Err(format!(
            "{arguments:?}: triggered {is_triggered}, {status:?}, {messages}"
        )),
    }
}

#[test]
fn source_of_a_mount_mounts_no_automount() {
    with_own_mounts(|root| {
        let [point, mounted] = ["media", "mounted"].map(|name| make_directory(root.join(name)));
        write_file(&root.join("existing"));
        let Some(automount) = Automount::at(&point) else {
            return;
        };
        let source = point.join("disk.img");
        let as_node = Path::new("/dev/..").join(source.strip_prefix("/").unwrap());
        for source in [source, as_node] {
            mount(&source, &mounted, "tmpfs", MountFlags::empty(), None).unwrap();
            for arguments in ["files", "config -o existing"] {
                assert_eq!(run_beside(&automount, root, arguments), Ok(()));
            }
            unmount(&mounted, UnmountFlags::DETACH).unwrap();
        }
    });
}

#[test]
fn list_of_targets_mounts_no_automount_over_a_mount() {
    with_own_mounts(|root| {
        let Some(device) = LoopDevice::sparse(4 << 30) else {
            return;
        };
        if !make_file_system(&device, "ext4", &[], Requirement::Ext4) {
            return;
        }
        let [free, covered] = ["free", "covered"].map(|name| {
            let point = make_directory(root.join(name));
            mount(device.path(), &point, "ext4", MountFlags::empty(), None).unwrap();
            point
        });
        let Some(automount) = Automount::at(&covered) else {
            return;
        };
        // The table of this thread, whose mounts are not those of the process.
        let table = make_directory(root.join("proc/self")).join("mountinfo");
        std::fs::copy("/proc/thread-self/mountinfo", table).unwrap();
        let roots = SysPaths {
            proc: root.join("proc"),
            ..SysPaths::default()
        };
        let listing = thread::spawn(move || list_targets(&roots));
        while !listing.is_finished() && !automount.was_triggered() {
            thread::sleep(Duration::from_millis(20));
        }
        let was_triggered = automount.was_triggered();
        drop(automount);
        for point in [&free, &covered] {
            unmount(point, UnmountFlags::DETACH).unwrap();
        }
        assert!(!was_triggered);
        let listed = listing.join().unwrap();
        let has = |path: &Path| listed.iter().any(|choice| choice.path == path);
        assert!(has(&free) && !has(&covered));
    });
}
