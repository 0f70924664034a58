//! The files of one process below `/proc/PID` (kernel Documentation/filesystems/proc.rst).

use std::time::Duration;

use crate::probe::sample::ProcessIo;
use crate::probe::text::{field, id_field, named_numbers, parse_number, split_fields};

/// The fields of `/proc/PID/stat` that are used.
#[derive(Debug, PartialEq, Eq)]
pub struct ProcessStat<'a> {
    /// Name of the program, at most 15 bytes; may hold anything but a zero byte.
    pub name: &'a [u8],
    /// One letter: R, S, D, ...
    pub state: char,
    /// Parent's process id.
    pub parent_pid: u32,
    /// Process group: the processes of a pipeline share one.
    pub process_group: u32,
    /// Processor time in user and kernel mode, in ticks.
    pub cpu_ticks: u64,
    /// Fields 11 and 13, `cminflt` and `cmajflt`: page faults of the children that it has waited
    /// for. The sum rises with each of them, because every process has page faults.
    pub reaped_faults: u64,
    /// Number of threads.
    pub thread_count: u32,
    /// Start time in ticks since boot.
    pub start_ticks: u64,
    /// Field 42, `delayacct_blkio_ticks`: ticks that its first thread waited for block I/O.
    pub blkio_delay_ticks: u64,
}

/// Parses `/proc/PID/stat`. The name is in parentheses and may contain parentheses itself, so the
/// last closing one counts.
#[must_use]
pub fn parse_stat(text: &[u8]) -> Option<ProcessStat<'_>> {
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let name = text.get(open + 1..close)?;
    let mut words = split_fields(text.get(close + 1..)?.trim_ascii_end());
    let state = char::from(*words.next()?.first()?);
    let parent = u32::try_from(parse_number(words.next()?)?).ok()?;
    let process_group = parse_number(words.next()?).unwrap_or(0);
    let (minor, major) = (parse_number(words.nth(5)?)?, parse_number(words.nth(1)?)?);
    let (user_ticks, system_ticks) = (parse_number(words.next()?)?, parse_number(words.next()?)?);
    let threads = u32::try_from(parse_number(words.nth(4)?)?).ok()?;
    let start_ticks = parse_number(words.nth(1)?)?;
    let waited_ticks = words.nth(19).and_then(parse_number).unwrap_or(0);
    Some(ProcessStat {
        name,
        state,
        parent_pid: parent,
        process_group: u32::try_from(process_group).unwrap_or(0),
        cpu_ticks: user_ticks.saturating_add(system_ticks),
        reaped_faults: minor.saturating_add(major),
        thread_count: threads,
        start_ticks,
        blkio_delay_ticks: waited_ticks,
    })
}

/// Parses `/proc/PID/io`.
#[must_use]
pub fn parse_io(text: &[u8]) -> Option<ProcessIo> {
    const NAMES: [&str; 7] = [
        "rchar",
        "wchar",
        "syscr",
        "syscw",
        "read_bytes",
        "write_bytes",
        "cancelled_write_bytes",
    ];
    ProcessIo::from_counters(named_numbers(text, NAMES))
}

/// The effective user id in `/proc/PID/status`: the one that permissions depend on.
#[must_use]
pub fn parse_effective_user(text: &[u8]) -> Option<u32> {
    let user = split_fields(field(text, "Uid:")?).nth(1)?;
    u32::try_from(parse_number(user)?).ok()
}

/// The process that a thread belongs to, from `/proc/PID/status`.
#[must_use]
pub fn parse_thread_group(text: &[u8]) -> Option<u32> {
    id_field(text, "Tgid:")
}

/// The signals that a process ignores, from `/proc/PID/status`: bit 0 is signal 1.
#[must_use]
pub fn parse_ignored_signals(text: &[u8]) -> Option<u64> {
    let mask = std::str::from_utf8(field(text, "SigIgn:")?).ok()?;
    u64::from_str_radix(mask, 16).ok()
}

/// Offset and flags of a descriptor from `/proc/PID/fdinfo/FD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescriptorInfo {
    /// Offset of the next read or write.
    pub position: u64,
    /// Flags of open(2).
    pub flags: u32,
}

/// Parses `/proc/PID/fdinfo/FD`; the flags are octal.
#[must_use]
pub fn parse_descriptor_info(text: &[u8]) -> Option<DescriptorInfo> {
    let flags = std::str::from_utf8(field(text, "flags:")?).ok()?;
    Some(DescriptorInfo {
        position: parse_number(field(text, "pos:")?)?,
        flags: u32::from_str_radix(flags, 8).ok()?,
    })
}

/// Converts ticks of `USER_HZ` to time.
#[must_use]
pub fn ticks_to_duration(count: u64, per_second: u64) -> Duration {
    let per_second = per_second.max(1);
    Duration::from_secs(count / per_second)
        + Duration::from_nanos(count % per_second * 1_000_000_000 / per_second)
}
