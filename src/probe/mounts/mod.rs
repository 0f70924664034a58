//! Mounted file systems, those without a block device included.
//!
//! Nothing here asks a server or a FUSE process: all values are counters of the kernel.

pub mod cifs;
pub mod nfs;
pub mod zfs;

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

use self::nfs::{NfsMount, NfsOperation};
use crate::foreign_tree::ForeignTree;
use crate::mountinfo::{MountinfoLine, mountinfo_lines, unescape};
use crate::probe::btrfs::{self, BtrfsErrors};
use crate::probe::file_systems::MountedFileSystem;
use crate::probe::system::fuse::{has_connections, waiting_requests};
use crate::probe::text::{parse_number, read_file};
use crate::roots::SysPaths;

/// The error counters of btrfs devices are read once in this time: they need the mount to be open.
const ERRORS_INTERVAL: Duration = Duration::from_secs(10);
/// More mounts are not listed.
const MAX_MOUNTS: usize = 1000;

/// Device paths of a file system and their error counters.
type DeviceErrors = Vec<(Vec<u8>, BtrfsErrors)>;

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
    /// Number of its block device, or of the one below the upper directory of an overlay.
    pub device: Option<(u32, u32)>,
    /// Counters since it was mounted.
    pub counters: MountCounters,
    /// Requests that wait for the FUSE process; `None` for other file systems and without permission.
    pub waiting: Option<u64>,
    /// Device paths of a btrfs and their error counters.
    pub errors: Vec<(Vec<u8>, BtrfsErrors)>,
    /// Why there are no counters.
    pub no_counters: Option<NoMountCounters>,
}

/// Counters of a mount; `None` where the kernel keeps none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountCounters {
    /// Bytes read from the server, or by programs from a ZFS dataset.
    pub read_bytes: Option<u64>,
    /// Bytes written, likewise.
    pub written_bytes: Option<u64>,
    /// Requests to the server, or read() and write() calls on a ZFS dataset.
    pub requests: Option<u64>,
    /// Each operation of NFS.
    pub operations: Vec<NfsOperation>,
}

/// Why a mount has no counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// Reads the mounts.
#[derive(Debug, Default)]
pub(super) struct MountReader {
    /// By mount point.
    errors: Vec<(Vec<u8>, DeviceErrors)>,
    errors_read_at: Option<Duration>,
}

impl MountReader {
    /// The mounts of this process's namespace, each file system once.
    pub(super) fn read(
        &mut self,
        roots: &SysPaths,
        file_systems: &[MountedFileSystem],
        at: Duration,
    ) -> Vec<MountSample> {
        let table = read_file(&roots.proc.join("self/mountinfo")).unwrap_or_default();
        let mut sources = StatisticSources::default();
        let mut found: Vec<MountSample> = Vec::new();
        let mut seen: Vec<&[u8]> = Vec::new();
        for line in mountinfo_lines(&table) {
            let Some(family) = family_of(&line, file_systems) else {
                continue;
            };
            if found.len() < MAX_MOUNTS && !seen.contains(&line.device_number) {
                seen.push(line.device_number);
                let mut sample = plain_sample(&line, file_systems);
                sources.add_counters(&mut sample, family, &line, &table, roots);
                found.push(sample);
            }
        }
        self.add_errors(&mut found, at);
        found
    }

    fn add_errors(&mut self, found: &mut [MountSample], at: Duration) {
        let due = self
            .errors_read_at
            .is_none_or(|read| at.saturating_sub(read) >= ERRORS_INTERVAL);
        if due {
            self.errors_read_at = Some(at);
            self.errors = found
                .iter()
                .filter(|sample| sample.file_system == b"btrfs")
                .map(|sample| (sample.mount_point.clone(), device_errors(sample)))
                .collect();
        }
        for sample in found {
            let known = self.errors.iter().find(|(at, _)| *at == sample.mount_point);
            sample.errors = known.map_or_else(Vec::new, |(_, errors)| errors.clone());
        }
    }
}

fn device_errors(sample: &MountSample) -> DeviceErrors {
    let mount_point = Path::new(OsStr::from_bytes(&sample.mount_point));
    let found = ForeignTree::own().find(mount_point);
    let Ok(directory) = found.and_then(|found| found.open_directory()) else {
        return Vec::new();
    };
    let directory = File::from(directory);
    let devices = btrfs::devices(&directory).unwrap_or_default();
    devices
        .into_iter()
        .filter_map(|device| {
            Some((
                device.path,
                btrfs::device_errors(&directory, device.id).ok()?,
            ))
        })
        .collect()
}

/// Where the counters of a file system are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Nfs,
    Cifs,
    Fuse,
    Overlay,
    Zfs,
    BlockDevice,
    OtherNetwork,
}

/// `None` for what is no storage: proc, sysfs, tmpfs, control groups.
fn family_of(line: &MountinfoLine<'_>, file_systems: &[MountedFileSystem]) -> Option<Family> {
    Some(match line.file_system {
        b"nfs" | b"nfs4" => Family::Nfs,
        b"cifs" | b"smb3" => Family::Cifs,
        b"overlay" => Family::Overlay,
        b"zfs" => Family::Zfs,
        b"9p" | b"afs" | b"beegfs" | b"ceph" | b"gfs2" | b"lustre" | b"virtiofs" => {
            Family::OtherNetwork
        }
        b"fusectl" => return None,
        name if name.starts_with(b"fuse") => Family::Fuse,
        _ => {
            let number = parse_device_number(line.device_number)?;
            let known = file_systems.iter().any(|it| it.device_id == number);
            (known || number.0 != 0).then_some(Family::BlockDevice)?
        }
    })
}

fn plain_sample(line: &MountinfoLine<'_>, file_systems: &[MountedFileSystem]) -> MountSample {
    let number = parse_device_number(line.device_number);
    let system = file_systems.iter().find(|it| Some(it.device_id) == number);
    MountSample {
        mount_point: unescape(line.mount_point),
        source: unescape(line.source),
        file_system: line.file_system.to_vec(),
        device: system
            .map(|system| system.block_device)
            .or(number.filter(|number| number.0 != 0)),
        ..MountSample::default()
    }
}

/// Files with the statistics of several mounts, each read once if it is needed.
#[derive(Debug, Default)]
struct StatisticSources {
    nfs: Option<Vec<NfsMount>>,
    cifs: Option<Vec<cifs::CifsShare>>,
    zfs: Option<Vec<zfs::ZfsDataset>>,
}

impl StatisticSources {
    fn add_counters(
        &mut self,
        sample: &mut MountSample,
        family: Family,
        line: &MountinfoLine<'_>,
        table: &[u8],
        roots: &SysPaths,
    ) {
        let known = match family {
            Family::Nfs => self.add_nfs(sample, roots),
            Family::Cifs => self.add_cifs(sample, roots),
            Family::Zfs => self.add_zfs(sample, roots),
            Family::Fuse => {
                sample.waiting = parse_device_number(line.device_number)
                    .and_then(|number| waiting_requests(roots, number));
                sample.waiting.is_some()
            }
            Family::Overlay => {
                sample.device = upper_device(line, table);
                sample.no_counters = Some(NoMountCounters::BlockDevice);
                return;
            }
            Family::BlockDevice => {
                sample.no_counters = Some(NoMountCounters::BlockDevice);
                return;
            }
            Family::OtherNetwork => {
                sample.no_counters = Some(NoMountCounters::FileSystem);
                return;
            }
        };
        let reason = match family {
            Family::Fuse if !has_connections(roots) => NoMountCounters::NoFusectl,
            _ => NoMountCounters::Unreadable,
        };
        sample.no_counters = (!known).then_some(reason);
    }

    fn add_nfs(&mut self, sample: &mut MountSample, roots: &SysPaths) -> bool {
        let mounts = self.nfs.get_or_insert_with(|| {
            let text = read_file(&roots.proc.join("self/mountstats")).unwrap_or_default();
            nfs::parse_mountstats(&text)
        });
        let Some(mount) = mounts
            .iter()
            .find(|mount| mount.mount_point == sample.mount_point)
        else {
            return false;
        };
        sample.version.clone_from(&mount.version);
        let requests = mount.operations.iter().map(|it| it.requests);
        sample.counters = MountCounters {
            read_bytes: mount.server_bytes.map(|(read, _)| read),
            written_bytes: mount.server_bytes.map(|(_, written)| written),
            requests: Some(requests.fold(0, u64::saturating_add)),
            operations: mount.operations.clone(),
        };
        true
    }

    fn add_cifs(&mut self, sample: &mut MountSample, roots: &SysPaths) -> bool {
        let shares = self.cifs.get_or_insert_with(|| {
            let text = read_file(&roots.proc.join("fs/cifs/Stats")).unwrap_or_default();
            cifs::parse_stats(&text)
        });
        let Some(share) = shares
            .iter()
            .find(|share| cifs::is_source_of(&sample.source, &share.name))
        else {
            return false;
        };
        sample.counters = MountCounters {
            read_bytes: share.read_bytes,
            written_bytes: share.written_bytes,
            requests: share.requests,
            operations: Vec::new(),
        };
        true
    }

    fn add_zfs(&mut self, sample: &mut MountSample, roots: &SysPaths) -> bool {
        let datasets = self.zfs.get_or_insert_with(|| read_datasets(roots));
        let Some(dataset) = datasets.iter().find(|it| it.name == sample.source) else {
            return false;
        };
        sample.counters = MountCounters {
            read_bytes: Some(dataset.read_bytes),
            written_bytes: Some(dataset.written_bytes),
            requests: Some(dataset.reads.saturating_add(dataset.writes)),
            operations: Vec::new(),
        };
        true
    }
}

fn read_datasets(roots: &SysPaths) -> Vec<zfs::ZfsDataset> {
    let pools = std::fs::read_dir(roots.proc.join("spl/kstat/zfs"));
    let directories = pools.into_iter().flatten().flatten();
    directories
        .filter_map(|pool| std::fs::read_dir(pool.path()).ok())
        .flatten()
        .flatten()
        .filter(|file| file.file_name().as_encoded_bytes().starts_with(b"objset-"))
        .filter_map(|file| zfs::parse_objset(&read_file(&file.path())?))
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
    let holding = mountinfo_lines(table)
        .filter(|mount| is_below(directory, mount.mount_point))
        .max_by_key(|mount| mount.mount_point.len())?;
    parse_device_number(holding.device_number).filter(|number| number.0 != 0)
}

fn is_below(path: &[u8], directory: &[u8]) -> bool {
    let rest = path.strip_prefix(directory);
    directory == b"/" || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

fn parse_device_number(field: &[u8]) -> Option<(u32, u32)> {
    let colon = field.iter().position(|byte| *byte == b':')?;
    let number = |part| u32::try_from(parse_number(part)?).ok();
    Some((number(&field[..colon])?, number(&field[colon + 1..])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
        22 21 0:21 / /proc rw - proc proc rw\n\
        23 21 0:40 / /srv/nfs\\040home rw - nfs fs1:/export/home rw,vers=3,addr=10.0.0.1\n\
        24 21 0:41 / /media rw - cifs //nas/media rw,vers=3.1.1\n\
        25 21 0:42 / /mnt/ssh rw - fuse.sshfs host:/ rw,user_id=1000\n\
        26 21 0:43 / /merged rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/data/up,workdir=/w\n\
        27 21 8:17 / /data rw - xfs /dev/sdb1 rw\n\
        28 21 0:44 / /tank rw - zfs tank/home rw,xattr\n\
        29 21 0:45 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n\
        30 21 8:1 /x /bind rw - ext4 /dev/sda1 rw\n\
        31 21 0:46 / /run rw - tmpfs tmpfs rw\n\
        32 21 0:47 / /host rw - virtiofs tag rw\n";

    fn mounts(files: &[(&str, &str)]) -> Vec<MountSample> {
        let root = tempfile::tempdir().unwrap();
        let table = [("proc/self/mountinfo", TABLE)];
        for (path, text) in files.iter().chain(&table) {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let roots = SysPaths::under_root(root.path());
        MountReader::default().read(&roots, &[], Duration::ZERO)
    }

    fn at<'a>(mounts: &'a [MountSample], point: &str) -> &'a MountSample {
        let mut found = mounts.iter();
        found.find(|it| it.mount_point == point.as_bytes()).unwrap()
    }

    #[test]
    fn storage_is_listed_once_and_says_what_it_lacks() {
        let found = mounts(&[]);
        let points: Vec<String> = found
            .iter()
            .map(|it| String::from_utf8_lossy(&it.mount_point).into_owned())
            .collect();
        let expected = [
            "/",
            "/srv/nfs home",
            "/media",
            "/mnt/ssh",
            "/merged",
            "/data",
            "/tank",
            "/host",
        ];
        assert_eq!(points, expected);
        let lacks = |point| at(&found, point).no_counters;
        assert_eq!(lacks("/"), Some(NoMountCounters::BlockDevice));
        assert_eq!(lacks("/media"), Some(NoMountCounters::Unreadable));
        assert_eq!(lacks("/mnt/ssh"), Some(NoMountCounters::NoFusectl));
        assert_eq!(lacks("/host"), Some(NoMountCounters::FileSystem));
        assert_eq!(at(&found, "/").device, Some((8, 1)));
        assert_eq!(at(&found, "/merged").device, Some((8, 17)), "of /data");
    }

    #[test]
    fn mounts_have_the_counters_of_their_kernel_files() {
        let found = mounts(&[
            (
                "proc/self/mountstats",
                "device fs1:/export/home mounted on /srv/nfs\\040home with fstype nfs statvers=1.1\n\
                 \topts:\trw,vers=3\n\tbytes:\t1 2 3 4 50 60 7 8\n\tper-op statistics\n\
                 \t READ: 10 12 0 1 2 3 4 5\n\t WRITE: 5 5 0 1 2 3 4 5\n",
            ),
            (
                "proc/fs/cifs/Stats",
                "1) \\\\nas\\media\nSMBs: 41\nBytes read: 10  Bytes written: 20\n",
            ),
            ("sys/fs/fuse/connections/42/waiting", "3\n"),
            (
                "proc/spl/kstat/zfs/tank/objset-0x36",
                "dataset_name 7 tank/home\nwrites 4 2\nnwritten 4 100\nreads 4 1\nnread 4 50\n",
            ),
        ]);
        let counted = |point| {
            let counters = &at(&found, point).counters;
            (
                counters.read_bytes,
                counters.written_bytes,
                counters.requests,
            )
        };
        assert_eq!(counted("/srv/nfs home"), (Some(50), Some(60), Some(15)));
        assert_eq!(counted("/media"), (Some(10), Some(20), Some(41)));
        assert_eq!(counted("/tank"), (Some(50), Some(100), Some(3)));
        assert_eq!(at(&found, "/mnt/ssh").waiting, Some(3));
        assert_eq!(at(&found, "/mnt/ssh").no_counters, None);
        assert_eq!(
            at(&found, "/srv/nfs home").version.as_deref(),
            Some(&b"3"[..])
        );
    }

    #[test]
    fn connection_of_a_fuse_file_system_on_a_device_has_the_number_of_the_kernel() {
        let root = tempfile::tempdir().unwrap();
        let connection = root.path().join("sys/fs/fuse/connections/8388625");
        std::fs::create_dir_all(&connection).unwrap();
        std::fs::write(connection.join("waiting"), "1\n").unwrap();
        let roots = SysPaths::under_root(root.path());
        assert_eq!(waiting_requests(&roots, (8, 17)), Some(1));
        assert_eq!(waiting_requests(&roots, (0, 17)), None);
    }
}
