//! What the user prefers, as the configuration file states it.

use super::process::ProcessColumn;

/// A column of the devices that can be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceColumnName {
    /// Reads per second.
    ReadRate,
    /// Writes per second.
    WriteRate,
    /// Bytes read per second.
    ReadThroughput,
    /// Bytes written per second.
    WriteThroughput,
    /// Mean time of a read.
    ReadAwait,
    /// Mean time of a write.
    WriteAwait,
    /// Mean number of requests in the queue and in the drive.
    QueueSize,
    /// Mean size of a request.
    RequestSize,
    /// Share of time in which the device had requests.
    Utilization,
}

impl DeviceColumnName {
    /// Every column, from left to right.
    pub const ALL: [Self; 9] = [
        Self::ReadRate,
        Self::WriteRate,
        Self::ReadThroughput,
        Self::WriteThroughput,
        Self::ReadAwait,
        Self::WriteAwait,
        Self::QueueSize,
        Self::RequestSize,
        Self::Utilization,
    ];

    /// The heading of the column, which is its name in the configuration: iostat's.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadRate => "r/s",
            Self::WriteRate => "w/s",
            Self::ReadThroughput => "rMB/s",
            Self::WriteThroughput => "wMB/s",
            Self::ReadAwait => "r_await",
            Self::WriteAwait => "w_await",
            Self::QueueSize => "aqu-sz",
            Self::RequestSize => "areq-sz",
            Self::Utilization => "%util",
        }
    }
}

/// The preferences of the interface.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Preferences {
    /// Column that sorts the processes; `None` is reads and writes together.
    pub sort: Option<ProcessColumn>,
    /// Columns of the devices; all if empty.
    pub device_columns: Vec<DeviceColumnName>,
    /// Patterns of devices that the Live screen leaves out.
    pub hidden_devices: Vec<String>,
    /// Target that the launcher selects first.
    pub default_target: Option<String>,
}

/// Whether a name matches a pattern, in which `*` stands for any characters.
#[must_use]
pub fn matches_pattern(name: &str, pattern: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(mut left) = name.strip_prefix(before) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(position) => left = &left[position + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_in_pattern_stands_for_any_characters() {
        for (name, pattern, expected) in [
            ("loop0", "loop*", true),
            ("sr0", "sr0", true),
            ("sr01", "sr0", false),
            ("nvme0n1p2", "nvme*p*", true),
            ("nvme0n1", "nvme*p*", false),
            ("sda", "*", true),
            ("vda1", "*a1", true),
            ("ab", "ab*b", false),
            ("dm-1", "loop*", false),
        ] {
            assert_eq!(matches_pattern(name, pattern), expected, "{name} {pattern}");
        }
    }
}
