//! Limits of the machine: memory of a control group, room on a file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::hostile::{assert_clean, diskscope, temporary_directory};
use crate::requirement::{Requirement, skip};

const MIB: u64 = 1 << 20;

/// A control group with a limit, gone afterwards.
struct Group(PathBuf);

impl Group {
    fn with_memory_limit(bytes: u64) -> Option<Self> {
        let name = format!("diskscope-test-{}", std::process::id());
        let version_2 = Path::new("/sys/fs/cgroup");
        let version_1 = version_2.join("memory");
        let (parent, limit) = if version_1.is_dir() {
            (version_1.as_path(), "memory.limit_in_bytes")
        } else {
            (version_2, "memory.max")
        };
        let group = Self(parent.join(name));
        let made = fs::create_dir(&group.0)
            .and_then(|()| fs::write(group.0.join(limit), bytes.to_string()));
        match made {
            Ok(()) => Some(group),
            Err(error) => {
                let reason = format!("no control group with a limit can be made: {error}");
                skip(Requirement::Cgroup, reason);
                None
            }
        }
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
    let Some(group) = Group::with_memory_limit(64 * MIB) else {
        return;
    };
    let directory = temporary_directory();
    fs::write(directory.path().join("file"), vec![1; 8 << 20]).unwrap();
    let program = env!("CARGO_BIN_EXE_diskscope");
    let run = |options: &str| {
        Command::new("sh")
            .arg("-c")
            .arg(format!(
                "echo $$ > {}/cgroup.procs; exec {program} run random-read file --requests 20 \
                 --ramp 0s --cache keep {options}",
                group.0.display()
            ))
            .current_dir(directory.path())
            .env("XDG_STATE_HOME", directory.path().join("state"))
            .output()
            .unwrap()
    };
    for engine in ["auto", "pread"] {
        let output = run(&format!("--engine {engine} --depth 1024 --block-size 1MiB"));
        assert_clean("the refusal", &output);
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        let named = message.contains("memory.max (64 MiB)")
            || message.contains("memory.limit_in_bytes (64 MiB)");
        assert!(named && message.contains("--depth 1024"), "{message}");
    }
    let output = run("--depth 4 --block-size 64KiB");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{message}");
}

/// A file system in memory, unmounted afterwards.
struct Mounted(PathBuf);

impl Mounted {
    fn with_size(at: PathBuf, size: &str) -> Option<Self> {
        fs::create_dir_all(&at).unwrap();
        let status = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "none"])
            .arg(&at)
            .status();
        if status.is_ok_and(|status| status.success()) {
            return Some(Self(at));
        }
        skip(Requirement::Tmpfs, "nothing can be mounted here");
        None
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let status = Command::new("umount").arg("-l").arg(&self.0).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

#[test]
fn recording_ends_whole_before_its_file_system_is_full() {
    let directory = temporary_directory();
    let Some(small) = Mounted::with_size(directory.path().join("small"), "1m") else {
        return;
    };
    fs::write(small.0.join("fill"), vec![0; 970_000]).unwrap();
    let words = "record small/day --interval 100ms --duration 120s";
    let words: Vec<&str> = words.split(' ').collect();
    let output = diskscope(directory.path(), &words).output().unwrap();
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("almost full"), "{message}");
    let facts = rustix::fs::statvfs(&small.0).unwrap();
    assert!(facts.f_bavail * 20 >= facts.f_blocks, "{}", facts.f_bavail);
    let recording = diskscope::recording::Recording::open(&small.0.join("day")).unwrap();
    assert!(recording.ended_cleanly() && recording.damage().is_none());
}

#[test]
fn list_of_targets_makes_no_file_in_any_directory() {
    use diskscope::drive::medium;
    use diskscope::roots::SysPaths;
    let directory = temporary_directory();
    // One inode is that of the directory itself: any file made there fails.
    let at = directory.path().join("small");
    let Some(small) = Mounted::with_size(at, "4g,nr_inodes=1") else {
        return;
    };
    let name = small.0.to_str().unwrap();
    let roots = SysPaths::default();
    medium::open_target(&roots, name, None).unwrap_err();
    match medium::describe_directory(&roots, &small.0) {
        Ok(described) => assert_eq!(described.file_system.as_deref(), Some("tmpfs")),
        Err(error) => assert!(error.to_string().contains("free"), "{error}"),
    }
}
