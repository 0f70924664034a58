//! I/O limits of control groups (kernel Documentation/admin-guide/cgroup-v2.rst, `io.max`;
//! cgroup-v1/blkio-controller.rst, throttling).

use std::path::{Path, PathBuf};

use crate::probe::text::{nonempty_lines, parse_number, read_file, split_fields};
use crate::roots::SysPaths;

/// One of the four limits.
type LimitField = fn(&mut IoLimit) -> &mut Option<u64>;

/// The limits of cgroup v1, each in its own file.
const V1_FILES: [(&str, LimitField); 4] = [
    ("read_bps_device", |limit| &mut limit.read_bytes_per_s),
    ("write_bps_device", |limit| &mut limit.write_bytes_per_s),
    ("read_iops_device", |limit| &mut limit.read_ios_per_s),
    ("write_iops_device", |limit| &mut limit.write_ios_per_s),
];

/// I/O limits of a process on a device; `None` is unlimited.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct IoLimit {
    /// Number of the device, never that of a partition.
    pub device: (u32, u32),
    /// Bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<u64>,
    /// Reads per second.
    pub read_ios_per_s: Option<u64>,
    /// Writes per second.
    pub write_ios_per_s: Option<u64>,
}

impl IoLimit {
    fn unlimited(device: (u32, u32)) -> Self {
        Self {
            device,
            ..Self::default()
        }
    }

    /// Keeps the stricter of both limits.
    fn apply_stricter(&mut self, other: &Self) {
        let least = |own: &mut Option<u64>, other: Option<u64>| {
            *own = own.iter().copied().chain(other).min();
        };
        least(&mut self.read_bytes_per_s, other.read_bytes_per_s);
        least(&mut self.write_bytes_per_s, other.write_bytes_per_s);
        least(&mut self.read_ios_per_s, other.read_ios_per_s);
        least(&mut self.write_ios_per_s, other.write_ios_per_s);
    }
}

/// The limits of a process: those of its group and of all ancestors of that.
pub(crate) fn limits_of_process(roots: &SysPaths, pid: u32) -> Vec<IoLimit> {
    let Some(text) = read_file(&roots.proc.join(format!("{pid}/cgroup"))) else {
        return Vec::new();
    };
    let mut limits = Vec::new();
    for (version, group) in nonempty_lines(&text).filter_map(parse_membership) {
        for (path, format) in limit_files(roots, version, &group) {
            for limit in read_file(&path).iter().flat_map(|text| format.parse(text)) {
                add_limit(&mut limits, &limit);
            }
        }
    }
    limits
}

fn add_limit(limits: &mut Vec<IoLimit>, limit: &IoLimit) {
    match limits.iter_mut().find(|it| it.device == limit.device) {
        Some(known) => known.apply_stricter(limit),
        None => limits.push(*limit),
    }
}

/// Version of control groups; many machines have both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CgroupVersion {
    V1,
    V2,
}

/// Parses a line of `/proc/PID/cgroup`, `7:blkio:/group` or `0::/group`, if it concerns I/O.
fn parse_membership(line: &[u8]) -> Option<(CgroupVersion, PathBuf)> {
    let mut parts = line.splitn(3, |byte| *byte == b':');
    let (hierarchy, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
    let version = if hierarchy == b"0" {
        CgroupVersion::V2
    } else if controllers
        .split(|byte| *byte == b',')
        .any(|it| it == b"blkio")
    {
        CgroupVersion::V1
    } else {
        return None;
    };
    let group = String::from_utf8_lossy(group.strip_prefix(b"/")?);
    Some((version, PathBuf::from(group.into_owned())))
}

/// Format of a file with limits.
#[derive(Debug, Clone, Copy)]
enum LimitFileFormat {
    IoMax,
    ThrottleFile(LimitField),
}

impl LimitFileFormat {
    fn parse(self, text: &[u8]) -> Vec<IoLimit> {
        match self {
            Self::IoMax => parse_io_max(text),
            Self::ThrottleFile(field) => parse_throttle_file(text, field),
        }
    }
}

/// The files with the limits of a group and its ancestors. The root group has none.
fn limit_files(
    roots: &SysPaths,
    version: CgroupVersion,
    group: &Path,
) -> Vec<(PathBuf, LimitFileFormat)> {
    let mounted = roots.sys.join("fs/cgroup");
    let around = group
        .ancestors()
        .filter(|path| !path.as_os_str().is_empty());
    let of_group = |group: &Path| match version {
        CgroupVersion::V2 => [mounted.clone(), mounted.join("unified")]
            .map(|top| (top.join(group).join("io.max"), LimitFileFormat::IoMax))
            .to_vec(),
        CgroupVersion::V1 => V1_FILES
            .map(|(name, field)| {
                let file = format!("blkio.throttle.{name}");
                let path = mounted.join("blkio").join(group).join(file);
                (path, LimitFileFormat::ThrottleFile(field))
            })
            .to_vec(),
    };
    around.flat_map(of_group).collect()
}

/// `io.max`: `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
fn parse_io_max(text: &[u8]) -> Vec<IoLimit> {
    let line = |line: &[u8]| {
        let mut words = split_fields(line);
        let mut limit = IoLimit::unlimited(parse_device(words.next()?)?);
        for word in words {
            let at = word.iter().position(|byte| *byte == b'=')?;
            let value = parse_number(&word[at + 1..]);
            match &word[..at] {
                b"rbps" => limit.read_bytes_per_s = value,
                b"wbps" => limit.write_bytes_per_s = value,
                b"riops" => limit.read_ios_per_s = value,
                b"wiops" => limit.write_ios_per_s = value,
                _ => {}
            }
        }
        Some(limit)
    };
    nonempty_lines(text).filter_map(line).collect()
}

/// A file of cgroup v1: `8:16 2097152`.
fn parse_throttle_file(text: &[u8], field: LimitField) -> Vec<IoLimit> {
    let line = |line: &[u8]| {
        let mut words = split_fields(line);
        let mut limit = IoLimit::unlimited(parse_device(words.next()?)?);
        *field(&mut limit) = Some(parse_number(words.next()?)?);
        Some(limit)
    };
    nonempty_lines(text).filter_map(line).collect()
}

fn parse_device(word: &[u8]) -> Option<(u32, u32)> {
    let colon = word.iter().position(|byte| *byte == b':')?;
    let part = |digits: &[u8]| u32::try_from(parse_number(digits)?).ok();
    Some((part(&word[..colon])?, part(&word[colon + 1..])?))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(path: PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn strictest_io_limit_of_all_cgroups_applies() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        let groups = roots.sys.join("fs/cgroup");
        write(
            roots.proc.join("7/cgroup"),
            "0::/backup.slice/copy.service\n",
        );
        write(
            groups.join("backup.slice/io.max"),
            "8:0 rbps=2000000 wbps=max riops=max wiops=120\n",
        );
        write(
            groups.join("backup.slice/copy.service/io.max"),
            "8:0 rbps=3000000 wbps=1000 riops=max wiops=max\n259:0 rbps=5 wbps=max\n",
        );
        let limits = limits_of_process(&roots, 7);
        let expected = [
            IoLimit {
                device: (8, 0),
                read_bytes_per_s: Some(2_000_000),
                write_bytes_per_s: Some(1000),
                read_ios_per_s: None,
                write_ios_per_s: Some(120),
            },
            IoLimit {
                device: (259, 0),
                read_bytes_per_s: Some(5),
                ..IoLimit::default()
            },
        ];
        assert_eq!(limits, expected);
        assert!(limits_of_process(&roots, 8).is_empty());
    }

    #[test]
    fn cgroup_v1_limits_are_read_from_separate_files() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        write(
            roots.proc.join("7/cgroup"),
            "8:pids:/\n7:blkio,cpu:/slow\n1:cpuacct:/slow\n0::/\n",
        );
        let group = roots.sys.join("fs/cgroup/blkio/slow");
        write(
            group.join("blkio.throttle.read_bps_device"),
            "254:0 1048576\n",
        );
        write(group.join("blkio.throttle.write_iops_device"), "254:0 50\n");
        let expected = IoLimit {
            device: (254, 0),
            read_bytes_per_s: Some(1 << 20),
            write_ios_per_s: Some(50),
            ..IoLimit::default()
        };
        assert_eq!(limits_of_process(&roots, 7), [expected]);
    }

    #[test]
    fn malformed_io_limits_are_skipped() {
        assert!(parse_io_max(b"8:0\nnonsense rbps=1\n8:x rbps=1\n").len() == 1);
        assert!(
            parse_throttle_file(b"8:0 max\n8:0\n", |limit| &mut limit.read_bytes_per_s).is_empty()
        );
        assert_eq!(parse_membership(b"1:cpu:/a"), None);
        assert_eq!(parse_membership(b""), None);
    }
}
