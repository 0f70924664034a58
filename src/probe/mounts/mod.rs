//! Mounted file systems, those without a block device included.
//!
//! Nothing here asks a server or a FUSE process: all values are counters of the kernel.

pub mod counters;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{File, read_dir};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use self::counters::{
    CountedFileSystem, has_connections, parse_cifs_stats, parse_mountstats, parse_objset,
    share_name, waiting_requests,
};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::drive::foreign_tree::ForeignTree;
use crate::drive::mountinfo::{MountinfoLine, mountinfo_lines, unescape};
use crate::probe::btrfs::{self, BtrfsErrors};
use crate::probe::file_systems::MountedFileSystem;
use crate::probe::text::{parse_device_number, read_file};
use crate::roots::SysPaths;

pub use self::counters::{MountCounters, RpcCounters};

/// More mounts are not listed.
const MAX_MOUNTS: usize = 1000;

/// A mounted file system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountSample {
    /// Where it is mounted; the first of several places.
    pub mount_point: Vec<u8>,
    /// What is mounted: a device, or server and path.
    pub source: Vec<u8>,
    /// Type of the file system.
    pub file_system: Vec<u8>,
    /// Protocol version.
    pub version: Option<Vec<u8>>,
    /// `st_dev` of its files.
    pub device_id: (u32, u32),
    /// Number of its block device, or of the one below the upper directory of an overlay.
    pub device: Option<(u32, u32)>,
    /// Counters since it was mounted.
    pub counters: MountCounters,
    /// Requests that wait for the FUSE process; `None` for other file systems and without permission.
    pub waiting: Option<u64>,
    /// Error counters of the devices of a btrfs.
    pub errors: Vec<BtrfsErrors>,
    /// Why there are no counters.
    pub no_counters: Option<NoMountCounters>,
}

/// Why a mount has no counters of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoMountCounters {
    /// The kernel keeps them for the block device only.
    BlockDevice,
    /// The kernel keeps none for this file system.
    FileSystem,
    /// They cannot be read: another kernel, or root only.
    Unreadable,
    /// Those of FUSE are behind fusectl, which is not mounted.
    NoFusectl,
}

/// The mounted file systems that store data, each once.
pub(super) fn read_mounts(
    roots: &SysPaths,
    file_systems: &[MountedFileSystem],
) -> Vec<MountSample> {
    let table = read_file(&roots.proc.join("self/mountinfo")).unwrap_or_default();
    let mut statistics = Statistics::default();
    let mut found: Vec<MountSample> = Vec::new();
    for line in mountinfo_lines(&table).filter(|line| is_storage(line, file_systems)) {
        let mut sample = plain_sample(&line, file_systems);
        let is_known = found.iter().any(|it| it.device_id == sample.device_id);
        if is_known || found.len() == MAX_MOUNTS {
            continue;
        }
        match line.file_system {
            b"overlay" => sample.device = upper_device(&line, &table),
            b"btrfs" => sample.errors = device_errors(&sample.mount_point),
            _ => {}
        }
        sample.no_counters = statistics.add_counters(&mut sample, roots).err();
        found.push(sample);
    }
    found
}

fn device_errors(mount_point: &[u8]) -> Vec<BtrfsErrors> {
    let found = ForeignTree::own().find(Path::new(OsStr::from_bytes(mount_point)));
    let directory = found.and_then(|found| found.open_directory());
    directory.map_or_else(|_| Vec::new(), |it| btrfs::device_errors(&File::from(it)))
}

/// File systems without a block device that are storage. Neither are proc, sysfs, tmpfs, control groups.
const WITHOUT_DEVICE: [&[u8]; 13] = [
    b"nfs",
    b"nfs4",
    b"cifs",
    b"smb3",
    b"overlay",
    b"zfs",
    b"9p",
    b"afs",
    b"beegfs",
    b"ceph",
    b"gfs2",
    b"lustre",
    b"virtiofs",
];

fn is_storage(line: &MountinfoLine<'_>, file_systems: &[MountedFileSystem]) -> bool {
    let kind = line.file_system;
    let number = parse_device_number(line.device_number);
    let has_device = number.is_some_and(|number| {
        number.0 != 0 || file_systems.iter().any(|it| it.device_id == number)
    });
    has_device
        || WITHOUT_DEVICE.contains(&kind)
        || (kind.starts_with(b"fuse") && kind != b"fusectl")
}

fn plain_sample(line: &MountinfoLine<'_>, file_systems: &[MountedFileSystem]) -> MountSample {
    let device_id = parse_device_number(line.device_number).unwrap_or_default();
    let system = file_systems.iter().find(|it| it.device_id == device_id);
    let own = Some(device_id).filter(|number| number.0 != 0);
    MountSample {
        mount_point: unescape(line.mount_point),
        source: unescape(line.source),
        file_system: line.file_system.to_vec(),
        device_id,
        device: system.map(|system| system.block_device).or(own),
        ..MountSample::default()
    }
}

/// Files with the statistics of several mounts, by type of the file system, each read once if it is needed.
#[derive(Debug, Default)]
struct Statistics(HashMap<Vec<u8>, Vec<CountedFileSystem>>);

impl Statistics {
    fn add_counters(
        &mut self,
        sample: &mut MountSample,
        roots: &SysPaths,
    ) -> Result<(), NoMountCounters> {
        let name = match sample.file_system.as_slice() {
            b"nfs" | b"nfs4" => sample.mount_point.clone(),
            b"cifs" | b"smb3" => share_name(&sample.source),
            b"zfs" => sample.source.clone(),
            kind if kind.starts_with(b"fuse") => {
                sample.waiting = waiting_requests(roots, sample.device_id);
                return match sample.waiting {
                    Some(_) => Ok(()),
                    None if has_connections(roots) => Err(NoMountCounters::Unreadable),
                    None => Err(NoMountCounters::NoFusectl),
                };
            }
            b"overlay" => return Err(NoMountCounters::BlockDevice),
            _ if sample.device.is_some() => return Err(NoMountCounters::BlockDevice),
            _ => return Err(NoMountCounters::FileSystem),
        };
        let kind = sample.file_system.clone();
        let listed = self.0.entry(kind).or_insert_with_key(|kind| {
            let read = |name: &str| read_file(&roots.proc.join(name)).unwrap_or_default();
            match kind.as_slice() {
                b"zfs" => read_datasets(roots),
                kind if kind.starts_with(b"nfs") => parse_mountstats(&read("self/mountstats")),
                _ => parse_cifs_stats(&read("fs/cifs/Stats")),
            }
        });
        let counted = listed.iter().find(|it| it.name == name);
        let counted = counted.ok_or(NoMountCounters::Unreadable)?;
        sample.version.clone_from(&counted.version);
        sample.counters = counted.counters.clone();
        Ok(())
    }
}

fn read_datasets(roots: &SysPaths) -> Vec<CountedFileSystem> {
    let pools = read_dir(roots.proc.join("spl/kstat/zfs"));
    let pools = pools.into_iter().flatten().flatten();
    pools
        .filter_map(|pool| read_dir(pool.path()).ok())
        .flatten()
        .flatten()
        .filter(|file| file.file_name().as_encoded_bytes().starts_with(b"objset-"))
        .filter_map(|file| parse_objset(&read_file(&file.path())?))
        .collect()
}

/// Device of the mount that holds the upper directory of an overlay, or of its first lower one.
fn upper_device(line: &MountinfoLine<'_>, table: &[u8]) -> Option<(u32, u32)> {
    let option = |name: &[u8]| {
        let mut options = line.super_options.split(|byte| *byte == b',');
        options.find_map(|option| option.strip_prefix(name))
    };
    let lower = || option(b"lowerdir=")?.split(|byte| *byte == b':').next();
    let directory = option(b"upperdir=").or_else(lower)?;
    let directory = Path::new(OsStr::from_bytes(directory));
    let holding = mountinfo_lines(table)
        .filter(|mount| directory.starts_with(OsStr::from_bytes(mount.mount_point)))
        .max_by_key(|mount| mount.mount_point.len())?;
    parse_device_number(holding.device_number).filter(|number| number.0 != 0)
}

/// Watches the mount table without reading it: a container host has thousands of mounts.
#[derive(Debug, Default)]
pub struct MountWatch {
    list: Option<File>,
}

impl MountWatch {
    /// Opens the mount table.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        Self {
            list: File::open(roots.proc.join("self/mountinfo")).ok(),
        }
    }

    /// Whether it has changed since the last call. The kernel then marks an open mountinfo with
    /// POLLERR and POLLPRI (proc_pid_mounts(5)).
    pub fn has_changed(&mut self) -> bool {
        let Some(list) = &self.list else {
            return false;
        };
        let mut watched = [PollFd::new(list, PollFlags::PRI)];
        let marks = PollFlags::PRI | PollFlags::ERR;
        poll(&mut watched, Some(&Timespec::default())).is_ok()
            && watched[0].revents().intersects(marks)
    }
}

#[cfg(test)]
mod tests;
