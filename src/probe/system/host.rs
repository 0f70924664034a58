//! The machine as a whole: load, uptime, memory, pressure, processor time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::vmstat::MemoryStatistics;
use crate::probe::sample::{CpuTicks, HostSample, MemoryCounters, PressureLine, PressureStall};
use crate::probe::text::{
    field, named_numbers, nonempty_lines, parse_number, read_file, read_word, split_fields,
};
use crate::roots::SysPaths;

/// Reads all values of the machine; what cannot be read is `None`.
///
/// `before` is the last reading: name and release are taken from it, so that they stay one
/// allocation.
#[must_use]
pub fn read_host(roots: &SysPaths, before: &HostSample) -> HostSample {
    let proc = &roots.proc;
    let shared = |known: &Option<Arc<str>>, file: &str| match known {
        Some(word) => Some(Arc::clone(word)),
        None => read_word(&proc.join(file)).map(Arc::from),
    };
    let read = |name: &str| read_file(&proc.join(name)).unwrap_or_default();
    let statistics = MemoryStatistics::parse(&read("vmstat"), rustix::param::page_size() as u64);
    HostSample {
        name: shared(&before.name, "sys/kernel/hostname"),
        kernel: shared(&before.kernel, "sys/kernel/osrelease"),
        uptime: parse_uptime(&read("uptime")),
        load_averages: parse_load(&read("loadavg")),
        cpu: parse_cpu(&read("stat")),
        memory: MemoryCounters {
            background_threshold: statistics.background_threshold,
            throttle_threshold: statistics.throttle_threshold,
            flush_delay: read_flush_delay(proc),
            ..parse_memory(&read("meminfo"))
        },
        paging: statistics.paging,
        reclaim: statistics.reclaim,
        memory_pressure: parse_pressure(&read("pressure/memory")),
        cpu_pressure: parse_cpu_pressure(&read("pressure/cpu")),
        pressure: parse_pressure(&read("pressure/io")),
    }
}

/// The longest time for which data stay dirty before they are written back.
fn read_flush_delay(proc: &Path) -> Option<Duration> {
    let centiseconds = |name: &str| {
        let text = read_file(&proc.join("sys/vm").join(name))?;
        parse_number(text.trim_ascii())
    };
    let expire = centiseconds("dirty_expire_centisecs")?;
    // With an interval of 0, the age of dirty data is never checked.
    let check = centiseconds("dirty_writeback_centisecs").filter(|interval| *interval > 0)?;
    Some(Duration::from_millis(
        expire.saturating_add(check).saturating_mul(10),
    ))
}

/// Time since boot from `/proc/uptime`.
#[must_use]
pub fn parse_uptime(text: &[u8]) -> Option<Duration> {
    let seconds = parse_fraction(split_fields(text.trim_ascii()).next()?)?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The three load averages of `/proc/loadavg`.
#[must_use]
pub fn parse_load(text: &[u8]) -> Option<[f64; 3]> {
    let mut words = split_fields(text);
    let mut next = || parse_fraction(words.next()?);
    Some([next()?, next()?, next()?])
}

/// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal. The guest
/// columns after them are already part of user and nice.
#[must_use]
pub fn parse_cpu(text: &[u8]) -> Option<CpuTicks> {
    let mut words = split_fields(nonempty_lines(text).next()?);
    if words.next()? != b"cpu" {
        return None;
    }
    let ticks: Vec<u64> = words.take(8).map_while(parse_number).collect();
    let total = ticks
        .iter()
        .fold(0_u64, |sum, ticks| sum.wrapping_add(*ticks));
    let (idle, waiting) = (*ticks.get(3)?, ticks.get(4).copied().unwrap_or(0));
    Some(CpuTicks {
        busy: total.wrapping_sub(idle).wrapping_sub(waiting),
        iowait: waiting,
        total,
    })
}

/// `/proc/meminfo`, whose "kB" are KiB.
#[must_use]
pub fn parse_memory(text: &[u8]) -> MemoryCounters {
    let names = ["MemTotal", "Cached", "Buffers", "Dirty", "Writeback"];
    let bytes = named_numbers(text, names).map(|kib| kib?.checked_mul(1024));
    let [total, cached, buffers, dirty, writeback] = bytes;
    MemoryCounters {
        total,
        cached,
        buffers,
        dirty,
        writeback,
        ..MemoryCounters::default()
    }
}

/// A file below `/proc/pressure` (kernel Documentation/accounting/psi.rst).
#[must_use]
pub fn parse_pressure(text: &[u8]) -> Option<PressureStall> {
    Some(PressureStall {
        some: pressure_line(text, "some ")?,
        full: pressure_line(text, "full ")?,
    })
}

/// The first line of `/proc/pressure/cpu`: kernels before 5.13 have no second one.
#[must_use]
pub fn parse_cpu_pressure(text: &[u8]) -> Option<PressureLine> {
    pressure_line(text, "some ")
}

fn pressure_line(text: &[u8], kind: &str) -> Option<PressureLine> {
    let line = field(text, kind)?;
    let value = |name: &[u8]| split_fields(line).find_map(|word| word.strip_prefix(name));
    Some(PressureLine {
        average_10_s: parse_fraction(value(b"avg10=")?)?,
        total: Duration::from_micros(parse_number(value(b"total=")?)?),
    })
}

/// A decimal fraction; `None` for what is negative or not finite.
fn parse_fraction(word: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(word).ok()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}
