//! What a test needs of the machine, and what happens where it is missing.
//!
//! A test that cannot run calls [`skip`] and returns. That is visible: the reason goes to the real
//! standard error at once and into a list, which the last test program prints in one line. A name
//! in `DISKSCOPE_REQUIRE` (several separated by commas, or `all`) turns the skip into a failure.

#![allow(dead_code, reason = "not every test program needs all of it")]

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::PathBuf;

/// One thing that a machine may lack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Requirement {
    /// The tests run as root.
    Root,
    /// Loop devices can be attached.
    Loop,
    /// FUSE file systems can be mounted.
    Fuse,
    /// fio is installed.
    Fio,
    /// overlayfs can be mounted.
    Overlay,
    /// ext4 can be made and mounted.
    Ext4,
    /// btrfs can be made and mounted.
    Btrfs,
    /// xfs can be made and mounted.
    Xfs,
    /// tmpfs can be mounted.
    Tmpfs,
    /// Swap can be switched on.
    Swap,
    /// New mount namespaces can be made.
    Namespaces,
    /// Device-mapper devices can be made.
    DeviceMapper,
    /// Software RAID can be assembled.
    Md,
    /// Loop devices can have partitions.
    Partitions,
    /// Events of the block layer can be recorded (tracefs).
    Tracing,
    /// Accounting per task over netlink (taskstats).
    Taskstats,
    /// A cgroup of version 1 or 2 whose I/O or memory can be limited.
    Cgroup,
    /// A file system with direct I/O, holes and unwritten extents below the temporary directory.
    Files,
    /// A program other than those above is installed.
    Program,
    /// A feature that only some kernels have.
    Kernel,
    /// A drive of a certain kind.
    Drive,
}

impl Requirement {
    /// All of them.
    pub const ALL: [Self; 21] = [
        Self::Root,
        Self::Loop,
        Self::Fuse,
        Self::Fio,
        Self::Overlay,
        Self::Ext4,
        Self::Btrfs,
        Self::Xfs,
        Self::Tmpfs,
        Self::Swap,
        Self::Namespaces,
        Self::DeviceMapper,
        Self::Md,
        Self::Partitions,
        Self::Tracing,
        Self::Taskstats,
        Self::Cgroup,
        Self::Files,
        Self::Program,
        Self::Kernel,
        Self::Drive,
    ];

    /// Its name in `DISKSCOPE_REQUIRE`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Loop => "loop",
            Self::Fuse => "fuse",
            Self::Fio => "fio",
            Self::Overlay => "overlay",
            Self::Ext4 => "ext4",
            Self::Btrfs => "btrfs",
            Self::Xfs => "xfs",
            Self::Tmpfs => "tmpfs",
            Self::Swap => "swap",
            Self::Namespaces => "namespaces",
            Self::DeviceMapper => "device-mapper",
            Self::Md => "md",
            Self::Partitions => "partitions",
            Self::Tracing => "tracing",
            Self::Taskstats => "taskstats",
            Self::Cgroup => "cgroup",
            Self::Files => "files",
            Self::Program => "program",
            Self::Kernel => "kernel",
            Self::Drive => "drive",
        }
    }

    fn is_required(self) -> bool {
        let list = std::env::var("DISKSCOPE_REQUIRE").unwrap_or_default();
        let names: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
        for name in &names {
            let known = *name == "all" || Self::ALL.iter().any(|one| one.name() == *name);
            assert!(known, "DISKSCOPE_REQUIRE: unknown name {name:?}");
        }
        names
            .iter()
            .any(|name| *name == "all" || *name == self.name())
    }
}

/// Reports that the calling test cannot run here; the caller returns then.
///
/// # Panics
/// Where `DISKSCOPE_REQUIRE` names the requirement.
#[track_caller]
pub fn skip(requirement: Requirement, reason: impl Display) {
    let name = requirement.name();
    assert!(
        !requirement.is_required(),
        "DISKSCOPE_REQUIRE names {name}, but: {reason}"
    );
    let test = std::thread::current().name().unwrap_or("?").to_owned();
    let reason = reason.to_string().replace(['\n', '\t'], " ");
    // Not eprintln!, which the test harness captures.
    let _ = writeln!(
        std::io::stderr(),
        "skipped {test}: needs {name}: {}",
        reason.trim()
    );
    let listed = list().and_then(|path| {
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .ok()?;
        file.write_all(format!("{test}\t{name}\t{}\n", reason.trim()).as_bytes())
            .ok()
    });
    assert!(
        listed.is_some(),
        "the list of skipped tests cannot be written"
    );
}

/// Whether the tests run as root; a skip where not.
#[track_caller]
pub fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    if !is_root {
        skip(Requirement::Root, "only root may do that");
    }
    is_root
}

/// The list of skipped tests, beside the test programs' build directory.
pub fn list() -> Option<PathBuf> {
    // TARGET/PROFILE/deps/PROGRAM
    let program = std::env::current_exe().ok()?;
    Some(program.ancestors().nth(3)?.join("skipped-tests"))
}
