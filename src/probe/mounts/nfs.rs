//! NFS mounts (`/proc/self/mountstats`; net/sunrpc/stats.c, `rpc_clnt_show_stats`).

use std::time::Duration;

use crate::mountinfo::unescape;
use crate::probe::text::{nonempty_lines, parse_number, split_fields};

/// Counters of an NFS mount since it was mounted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NfsMount {
    /// Server and path.
    pub source: Vec<u8>,
    /// Where it is mounted.
    pub mount_point: Vec<u8>,
    /// `nfs` or `nfs4`.
    pub file_system: Vec<u8>,
    /// Protocol version, as in the mount options (`vers`), such as `4.2`.
    pub version: Option<Vec<u8>>,
    /// Age of the counters in seconds.
    pub age: Option<u64>,
    /// Bytes that programs have read and written, through the page cache or directly.
    pub program_bytes: Option<(u64, u64)>,
    /// Bytes read from and written to the server.
    pub server_bytes: Option<(u64, u64)>,
    /// Counters of the operations that were used.
    pub operations: Vec<NfsOperation>,
}

/// Counters of one operation. Times are sums over all requests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NfsOperation {
    /// Its name, such as `READ`.
    pub name: Vec<u8>,
    /// Requests.
    pub requests: u64,
    /// Transmissions: more than the requests when some were repeated.
    pub transmissions: u64,
    /// Major timeouts.
    pub timeouts: u64,
    /// Time in the queue before transmission.
    pub queue_time: Duration,
    /// Time from transmission to the answer of the server.
    pub round_trip_time: Duration,
    /// Time from the request to its end, with the other two.
    pub execution_time: Duration,
    /// Requests that ended with an error; `None` before kernel 5.3.
    pub errors: Option<u64>,
}

/// The NFS mounts of a file; other mounts have no statistics there.
#[must_use]
pub fn parse_mountstats(text: &[u8]) -> Vec<NfsMount> {
    let mut mounts: Vec<NfsMount> = Vec::new();
    let mut is_nfs = false;
    let mut in_operations = false;
    for line in nonempty_lines(text) {
        if let Some(mount) = parse_heading(line) {
            is_nfs = mount.file_system.starts_with(b"nfs");
            in_operations = false;
            if is_nfs {
                mounts.push(mount);
            }
            continue;
        }
        let Some(mount) = mounts.last_mut().filter(|_| is_nfs) else {
            continue;
        };
        let line = line.trim_ascii();
        if line == b"per-op statistics" {
            in_operations = true;
        } else if in_operations {
            mount.operations.extend(parse_operation(line));
        } else {
            parse_property(mount, line);
        }
    }
    mounts
}

/// `device SOURCE mounted on POINT with fstype TYPE statvers=1.1`.
fn parse_heading(line: &[u8]) -> Option<NfsMount> {
    let mut words = line.split(|byte| *byte == b' ');
    let source = words
        .next()
        .filter(|word| *word == b"device")
        .and(words.next())?;
    (words.next()? == b"mounted" && words.next()? == b"on").then_some(())?;
    let mount_point = words.next()?;
    (words.next()? == b"with" && words.next()? == b"fstype").then_some(())?;
    Some(NfsMount {
        source: unescape(source),
        mount_point: unescape(mount_point),
        file_system: words.next()?.to_vec(),
        ..NfsMount::default()
    })
}

fn parse_property(mount: &mut NfsMount, line: &[u8]) {
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return;
    };
    let (name, rest) = (&line[..colon], line[colon + 1..].trim_ascii());
    match name {
        b"opts" => {
            let mut options = rest.split(|byte| *byte == b',');
            let version = options.find_map(|option| option.strip_prefix(b"vers="));
            mount.version = version.map(<[u8]>::to_vec);
        }
        b"age" => mount.age = parse_number(rest),
        b"bytes" => {
            let counters: Option<Vec<u64>> = split_fields(rest).map(parse_number).collect();
            // Normal and direct reads and writes of programs, then those of the server, then pages.
            if let Some([read, written, direct_read, direct_written, from, to, ..]) =
                counters.as_deref()
            {
                mount.program_bytes = Some((
                    read.saturating_add(*direct_read),
                    written.saturating_add(*direct_written),
                ));
                mount.server_bytes = Some((*from, *to));
            }
        }
        _ => {}
    }
}

/// `NAME: REQUESTS TRANSMISSIONS TIMEOUTS SENT RECEIVED QUEUE RTT EXECUTE [ERRORS]`, times in ms;
/// `None` for an operation that was never used.
fn parse_operation(line: &[u8]) -> Option<NfsOperation> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let counters: Option<Vec<u64>> = split_fields(&line[colon + 1..]).map(parse_number).collect();
    let counters = counters?;
    let [
        requests,
        transmissions,
        timeouts,
        _sent,
        _received,
        queue,
        round_trip,
        execution,
        more @ ..,
    ] = counters.as_slice()
    else {
        return None;
    };
    (*requests > 0).then(|| NfsOperation {
        name: line[..colon].to_vec(),
        requests: *requests,
        transmissions: *transmissions,
        timeouts: *timeouts,
        queue_time: Duration::from_millis(*queue),
        round_trip_time: Duration::from_millis(*round_trip),
        execution_time: Duration::from_millis(*execution),
        errors: more.first().copied(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux 4.15, NFSv3: no error counters.
    const VERSION_3: &str = "device rootfs mounted on / with fstype rootfs\n\
        device fs1:/export/home mounted on /srv/nfs\\040home with fstype nfs statvers=1.1\n\
        \topts:\trw,vers=3,rsize=1048576,wsize=1048576,namlen=255,hard,proto=tcp,timeo=600\n\
        \tage:\t86400\n\
        \tcaps:\tcaps=0x3fef,wtmult=4096,dtsize=1048576,bsize=0,namlen=255\n\
        \tsec:\tflavor=1,pseudoflavor=1\n\
        \tevents:\t52 188 0 9 22 12 200 31 0 27 0 4 7 0 31 0 0 27 0 0 0 0 0 0 0 0 0\n\
        \tbytes:\t1000 2000 30 40 1500 2100 16 12 \n\
        \tRPC iostats version: 1.0  p/v: 100003/3 (nfs)\n\
        \txprt:\ttcp 875 1 1 0 0 224 224 0 224 0 2 0 0\n\
        \tper-op statistics\n\
        \t        NULL: 0 0 0 0 0 0 0 0\n\
        \t        READ: 100 102 1 12400 104857600 50 900 1000\n\
        \t       WRITE: 20 20 0 20971520 3200 40 600 650\n\
        \n\
        device proc mounted on /proc with fstype proc\n\
        device tmpfs mounted on /run with fstype tmpfs\n";

    /// Linux 6.1, NFSv4.2.
    const VERSION_4: &str = "device 127.0.0.1:/ mounted on /mnt/n with fstype nfs4 statvers=1.1\n\
        \topts:\trw,vers=4.2,rsize=131072,wsize=131072,proto=tcp,local_lock=none\n\
        \tage:\t3\n\
        \timpl_id:\tname='',domain='',date='0,0'\n\
        \tcaps:\tcaps=0xffbffff,wtmult=512,dtsize=131072,bsize=0,namlen=255\n\
        \tnfsv4:\tbm0=0xfdffbfff,bm1=0x40f9be3e,bm2=0x60803,acl=0x0,sessions,pnfs=not configured\n\
        \tbytes:\t0 8388608 0 0 0 8388608 0 2048\n\
        \tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n\
        \txprt:\ttcp 0 0 2 0 0 99 99 0 99 0 2 0 0\n\
        \tper-op statistics\n\
        \t        NULL: 1 1 0 44 24 0 0 0 0\n\
        \t       WRITE: 64 64 0 8404992 11264 103 901 1004 2\n\
        \t      COMMIT: 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn version_3_mount_has_its_operations_without_error_counters() {
        let mounts = parse_mountstats(VERSION_3.as_bytes());
        assert_eq!(mounts.len(), 1);
        let mount = &mounts[0];
        assert_eq!(mount.mount_point, b"/srv/nfs home");
        assert_eq!(
            (mount.version.as_deref(), mount.age),
            (Some(&b"3"[..]), Some(86_400))
        );
        assert_eq!(mount.program_bytes, Some((1030, 2040)));
        assert_eq!(mount.server_bytes, Some((1500, 2100)));
        let read = &mount.operations[0];
        assert_eq!(
            (mount.operations.len(), read.name.as_slice()),
            (2, &b"READ"[..])
        );
        assert_eq!(
            (read.requests, read.transmissions, read.timeouts),
            (100, 102, 1)
        );
        assert_eq!(read.round_trip_time, Duration::from_millis(900));
        assert_eq!(read.execution_time, Duration::from_secs(1));
        assert_eq!(read.errors, None);
    }

    #[test]
    fn version_4_mount_has_error_counters() {
        let mounts = parse_mountstats(VERSION_4.as_bytes());
        let mount = &mounts[0];
        assert_eq!(mount.version.as_deref(), Some(&b"4.2"[..]));
        let write = mount
            .operations
            .iter()
            .find(|it| it.name == b"WRITE")
            .unwrap();
        assert_eq!((write.requests, write.errors), (64, Some(2)));
        assert!(
            mount.operations.iter().all(|it| it.name != b"COMMIT"),
            "never used"
        );
    }

    #[test]
    fn damaged_mountstats_have_what_is_readable() {
        assert_eq!(parse_mountstats(b""), []);
        assert_eq!(parse_mountstats(b"device x mounted on\n\tage:\t1\n"), []);
        let text = b"device a:/ mounted on /a with fstype nfs\n\tbytes:\t1 2 3\n\tper-op statistics\n\t READ: 1 x\n";
        let mounts = parse_mountstats(text);
        assert_eq!(
            (mounts[0].program_bytes, mounts[0].operations.len()),
            (None, 0)
        );
    }
}
