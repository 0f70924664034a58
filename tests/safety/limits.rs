//! Limits of the machine: memory of a control group, room on a file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use diskscope::drive::medium;
use diskscope::roots::SysPaths;

use crate::guard::sandbox::GuardSandbox;
use crate::hostile::{assert_clean, diskscope, temporary_directory};
use crate::requirement::{Requirement, skip};

/// A control group with a limit of 64 MiB, gone afterwards.
struct Group(PathBuf);

impl Group {
    fn new() -> Option<Self> {
        let version_2 = Path::new("/sys/fs/cgroup");
        let version_1 = version_2.join("memory");
        let (parent, limit) = if version_1.is_dir() {
            (version_1.as_path(), "memory.limit_in_bytes")
        } else {
            (version_2, "memory.max")
        };
        let group = Self(parent.join(format!("diskscope-test-{}", std::process::id())));
        let limit = group.0.join(limit);
        let made = fs::create_dir(&group.0).and_then(|()| fs::write(limit, "67108864"));
        if let Err(error) = &made {
            let reason = format!("no control group with a limit can be made: {error}");
            skip(Requirement::Cgroup, reason);
        }
        made.is_ok().then_some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // Its processes have ended; one that has not keeps the group, which harms nobody.
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn buffers_beyond_cgroup_memory_limit_are_refused() {
    let Some(group) = Group::new() else {
        return;
    };
    let directory = temporary_directory();
    fs::write(directory.path().join("file"), vec![1; 8 << 20]).unwrap();
    for (options, status, reason) in [
        (
            "--engine auto --depth 1024 --block-size 1MiB",
            2,
            "(64 MiB)",
        ),
        (
            "--engine pread --depth 1024 --block-size 1MiB",
            2,
            "(64 MiB)",
        ),
        ("--depth 4 --block-size 64KiB", 0, ""),
    ] {
        let script = format!(
            "echo $$ > {}/cgroup.procs; exec {} run random-read file --requests 20 --ramp 0s {options}",
            group.0.display(),
            env!("CARGO_BIN_EXE_diskscope")
        );
        let mut command = Command::new("sh");
        command.args(["-c", &script]).current_dir(directory.path());
        command.env("XDG_STATE_HOME", directory.path().join("state"));
        let output = command.output().unwrap();
        assert_clean(options, &output);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{message}");
        assert!(message.contains(reason), "{message}");
    }
}

/// A file system in memory with these options.
fn mount_tmpfs(sandbox: &mut GuardSandbox, options: &str) -> Option<PathBuf> {
    let point = sandbox.path("small");
    let words = [
        "-t",
        "tmpfs",
        "-o",
        options,
        "none",
        point.to_str().unwrap(),
    ];
    sandbox.mount(&words, Requirement::Tmpfs).then_some(point)
}

#[test]
fn recording_ends_whole_before_its_file_system_is_full() {
    let mut sandbox = GuardSandbox::new();
    let Some(small) = mount_tmpfs(&mut sandbox, "size=1m") else {
        return;
    };
    fs::write(small.join("fill"), vec![0; 970_000]).unwrap();
    let words = ["record", "day", "--interval", "100ms", "--duration", "120s"];
    let mut command = diskscope(&small, &words);
    command.env("XDG_STATE_HOME", sandbox.path("state"));
    let output = command.output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("almost full"), "{message}");
    let facts = rustix::fs::statvfs(&small).unwrap();
    assert!(facts.f_bavail * 20 >= facts.f_blocks, "{}", facts.f_bavail);
    let recording = diskscope::recording::Recording::open(&small.join("day")).unwrap();
    assert!(recording.ended_cleanly() && recording.damage().is_none());
}

#[test]
fn list_of_targets_makes_no_file_in_any_directory() {
    let mut sandbox = GuardSandbox::new();
    // One inode is that of the directory itself: any file made there fails.
    let Some(small) = mount_tmpfs(&mut sandbox, "size=4g,nr_inodes=1") else {
        return;
    };
    let roots = SysPaths::default();
    medium::open_target(&roots, small.to_str().unwrap(), None).unwrap_err();
    match medium::describe_directory(&roots, &small) {
        Ok(described) => assert_eq!(described.file_system.as_deref(), Some("tmpfs")),
        Err(error) => assert!(error.to_string().contains("free"), "{error}"),
    }
}
