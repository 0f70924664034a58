//! Counters of file systems that have some of their own: NFS (`/proc/self/mountstats`; net/sunrpc/stats.c,
//! `rpc_clnt_show_stats`), SMB (`/proc/fs/cifs/Stats`; fs/smb/client/cifs_debug.c, `cifs_stats_proc_show`,
//! root only on some kernels) and ZFS (`/proc/spl/kstat/zfs/POOL/objset-*`, OpenZFS 0.8 and later); and
//! requests that wait for the servers of FUSE (kernel Documentation/filesystems/fuse.rst, "Control filesystem").

use std::path::PathBuf;

use crate::drive::identity::sysfs::directory_entries;
use crate::drive::mountinfo::unescape;
use crate::probe::text::{nonempty_lines, parse_number, read_word, split_fields};
use crate::roots::SysPaths;

/// Bits of the minor number in the number of a connection, which is that of its file system's device
/// (fs/fuse/control.c; include/linux/kdev_t.h).
const MINOR_BITS: u32 = 20;

/// Counters of a mount since it was mounted; `None` where the kernel keeps none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MountCounters {
    /// Bytes read from the server, or by programs from a ZFS dataset.
    pub read_bytes: Option<u64>,
    /// Bytes written, likewise.
    pub written_bytes: Option<u64>,
    /// Requests to the server, or read() and write() calls on a ZFS dataset.
    pub requests: Option<u64>,
    /// What NFS counts of its requests beside that.
    pub rpc: Option<RpcCounters>,
}

/// Sums over all operations of an NFS mount (NULL, READ, GETATTR, ...) and all of their requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RpcCounters {
    /// Requests.
    pub requests: u64,
    /// Transmissions: more than the requests when some were repeated.
    pub transmissions: u64,
    /// Major timeouts.
    pub timeouts: u64,
    /// Milliseconds in the queue before transmission.
    pub queue_ms: u64,
    /// Milliseconds from transmission to the answer of the server.
    pub round_trip_ms: u64,
    /// Milliseconds from the request to its end, with the other two.
    pub execution_ms: u64,
}

/// A file system with its counters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CountedFileSystem {
    /// Where an NFS is mounted, the share of an SMB as a mount names it (`//server/share`), or the
    /// ZFS dataset.
    pub name: Vec<u8>,
    /// Version of the NFS protocol, as in the mount options (`vers`), such as `4.2`.
    pub version: Option<Vec<u8>>,
    /// Its counters.
    pub counters: MountCounters,
}

/// The NFS mounts of `/proc/self/mountstats`; other mounts have no statistics there.
#[must_use]
pub fn parse_mountstats(text: &[u8]) -> Vec<CountedFileSystem> {
    let mut mounts: Vec<CountedFileSystem> = Vec::new();
    let mut is_nfs = false;
    for line in nonempty_lines(text) {
        let words: Vec<&[u8]> = split_fields(line.trim_ascii()).collect();
        // `device SERVER:PATH mounted on POINT with fstype TYPE ...`
        if let (true, Some(point), Some(kind)) = (
            words.first() == Some(&&b"device"[..]),
            words.get(4),
            words.get(7),
        ) {
            is_nfs = kind.starts_with(b"nfs");
            mounts.extend(is_nfs.then(|| CountedFileSystem {
                name: unescape(point),
                ..CountedFileSystem::default()
            }));
        } else if let Some(mount) = mounts.last_mut().filter(|_| is_nfs) {
            add_statistics(mount, &words);
        }
    }
    mounts
}

/// Adds a line of the statistics of an NFS mount.
fn add_statistics(mount: &mut CountedFileSystem, words: &[&[u8]]) {
    let counters = &mut mount.counters;
    match words {
        [b"opts:", options] => {
            let mut options = options.split(|byte| *byte == b',');
            let version = options.find_map(|option| option.strip_prefix(b"vers="));
            mount.version = version.map(<[u8]>::to_vec);
        }
        // Normal and direct reads and writes of programs, then those of the server, then pages.
        [b"bytes:", _, _, _, _, read, written, ..] => {
            counters.read_bytes = parse_number(read);
            counters.written_bytes = parse_number(written);
        }
        [b"per-op", b"statistics"] => counters.rpc = Some(RpcCounters::default()),
        [_operation, values @ ..] => {
            let values: Vec<u64> = values.iter().map_while(|it| parse_number(it)).collect();
            // Requests, transmissions, timeouts, bytes sent and received, times.
            if let Some(rpc) = counters.rpc.as_mut().filter(|_| values.len() >= 8) {
                rpc.requests = rpc.requests.saturating_add(values[0]);
                rpc.transmissions = rpc.transmissions.saturating_add(values[1]);
                rpc.timeouts = rpc.timeouts.saturating_add(values[2]);
                rpc.queue_ms = rpc.queue_ms.saturating_add(values[5]);
                rpc.round_trip_ms = rpc.round_trip_ms.saturating_add(values[6]);
                rpc.execution_ms = rpc.execution_ms.saturating_add(values[7]);
            }
        }
        [] => {}
    }
    counters.requests = counters.rpc.map(|rpc| rpc.requests);
}

/// The shares of `/proc/fs/cifs/Stats`, each behind its heading `1) \\server\share`.
#[must_use]
pub fn parse_cifs_stats(text: &[u8]) -> Vec<CountedFileSystem> {
    let mut shares: Vec<CountedFileSystem> = Vec::new();
    for line in nonempty_lines(text) {
        let words: Vec<&[u8]> = split_fields(line).collect();
        match (words.as_slice(), shares.last_mut()) {
            ([number, share, ..], _) if number.ends_with(b")") && share.starts_with(br"\\") => {
                shares.push(CountedFileSystem {
                    name: share_name(share),
                    ..CountedFileSystem::default()
                });
            }
            ([b"SMBs:", requests, ..], Some(share)) => {
                share.counters.requests = parse_number(requests);
            }
            ([b"Bytes", b"read:", read, b"Bytes", b"written:", written, ..], Some(share)) => {
                share.counters.read_bytes = parse_number(read);
                share.counters.written_bytes = parse_number(written);
            }
            _ => {}
        }
    }
    shares
}

/// A share or a mount source as both can be compared: the case is that of the user who named it.
pub(super) fn share_name(name: &[u8]) -> Vec<u8> {
    let plain = name
        .iter()
        .map(|byte| if *byte == b'\\' { b'/' } else { *byte });
    plain.map(|byte| byte.to_ascii_lowercase()).collect()
}

/// The ZFS dataset of a file; `None` where a counter is missing.
#[must_use]
pub fn parse_objset(text: &[u8]) -> Option<CountedFileSystem> {
    let value = |name: &[u8]| {
        nonempty_lines(text).find_map(|line| {
            let mut words = split_fields(line);
            let is_wanted = words.next() == Some(name);
            words.nth(1).filter(|_| is_wanted)
        })
    };
    let counter = |name| parse_number(value(name)?);
    let calls = counter(b"reads")?.saturating_add(counter(b"writes")?);
    Some(CountedFileSystem {
        name: value(b"dataset_name")?.to_vec(),
        version: None,
        counters: MountCounters {
            read_bytes: Some(counter(b"nread")?),
            written_bytes: Some(counter(b"nwritten")?),
            requests: Some(calls),
            rpc: None,
        },
    })
}

/// A connection to a FUSE server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FuseConnection {
    /// `st_dev` of its files: with the major number 0, unless the file system is on a block device.
    pub device_id: (u32, u32),
    /// Requests that wait to be taken by the server or to be answered by it; `None` for the
    /// connection of another user.
    pub waiting: Option<u64>,
}

/// The connections of all mount namespaces; `None` where fusectl is not mounted or denied.
#[must_use]
pub fn read_connections(roots: &SysPaths) -> Option<Vec<FuseConnection>> {
    let directory = connections(roots);
    std::fs::read_dir(&directory).ok()?;
    let connection = |name: String| {
        let number = u32::try_from(parse_number(name.as_bytes())?).ok()?;
        let device_id = (number >> MINOR_BITS, number & ((1 << MINOR_BITS) - 1));
        Some(FuseConnection {
            device_id,
            waiting: waiting_requests(roots, device_id),
        })
    };
    let names = directory_entries(&directory);
    Some(names.into_iter().filter_map(connection).collect())
}

/// Requests that wait for the server of the file system with this device number; only its owner may
/// read them.
#[must_use]
pub fn waiting_requests(roots: &SysPaths, (major, minor): (u32, u32)) -> Option<u64> {
    let connection = u64::from(major) << MINOR_BITS | u64::from(minor);
    let directory = connections(roots).join(connection.to_string());
    parse_number(read_word(&directory.join("waiting"))?.as_bytes())
}

/// Whether fusectl is mounted: each FUSE file system has a directory there.
pub(super) fn has_connections(roots: &SysPaths) -> bool {
    !directory_entries(&connections(roots)).is_empty()
}

fn connections(roots: &SysPaths) -> PathBuf {
    roots.sys.join("fs/fuse/connections")
}
