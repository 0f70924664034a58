//! The machine as a whole: load, uptime, memory, pressure, processor time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use procfs::prelude::{FromBufRead as _, FromRead as _};
use procfs::{IoPressure, LoadAverage, PressureRecord, Uptime};

use crate::probe::sample::{
    CpuTicks, HostSample, MemoryCounters, PagingCounters, PressureLine, PressureStall,
    ReclaimCounters,
};
use crate::probe::text::{nonempty_lines, parse_number, read_file, read_word, split_fields};
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
    let statistics = read_file(&proc.join("vmstat")).unwrap_or_default();
    let page = rustix::param::page_size() as u64;
    HostSample {
        name: shared(&before.name, "sys/kernel/hostname"),
        kernel: shared(&before.kernel, "sys/kernel/osrelease"),
        uptime: read_file(&proc.join("uptime"))
            .as_deref()
            .and_then(parse_uptime),
        load_averages: read_file(&proc.join("loadavg"))
            .as_deref()
            .and_then(parse_load),
        cpu: read_file(&proc.join("stat")).as_deref().and_then(parse_cpu),
        memory: read_memory(proc, &statistics, page),
        paging: PagingCounters::parse(&statistics, page),
        reclaim: ReclaimCounters::parse(&statistics, page),
        memory_pressure: read_file(&proc.join("pressure/memory"))
            .as_deref()
            .and_then(parse_pressure),
        cpu_pressure: read_file(&proc.join("pressure/cpu"))
            .as_deref()
            .and_then(parse_cpu_pressure),
        pressure: read_file(&proc.join("pressure/io"))
            .as_deref()
            .and_then(parse_pressure),
    }
}

fn read_memory(proc: &Path, statistics: &[u8], page: u64) -> MemoryCounters {
    let mut memory = read_file(&proc.join("meminfo"))
        .map_or_else(MemoryCounters::default, |text| parse_memory(&text));
    (memory.background_threshold, memory.throttle_threshold) = parse_dirty_limits(statistics, page);
    memory.flush_delay = read_flush_delay(proc);
    memory
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

/// The limits of dirty memory in bytes from `/proc/vmstat`: above the first the kernel writes back
/// in the background, above the second writers wait (kernel
/// Documentation/admin-guide/sysctl/vm.rst, `dirty_background_ratio` and `dirty_ratio`, as
/// mm/page-writeback.c computes them).
#[must_use]
pub fn parse_dirty_limits(text: &[u8], page: u64) -> (Option<u64>, Option<u64>) {
    let value = |name: &[u8]| {
        let line = nonempty_lines(text).find_map(|line| line.strip_prefix(name))?;
        parse_number(line.trim_ascii())?.checked_mul(page)
    };
    (
        value(b"nr_dirty_background_threshold "),
        value(b"nr_dirty_threshold "),
    )
}

/// Time since boot from `/proc/uptime`.
#[must_use]
pub fn parse_uptime(text: &[u8]) -> Option<Duration> {
    let uptime = Uptime::from_read(text).ok()?;
    Duration::try_from_secs_f64(uptime.uptime).ok()
}

/// The three load averages of `/proc/loadavg`.
#[must_use]
pub fn parse_load(text: &[u8]) -> Option<[f64; 3]> {
    let load = LoadAverage::from_read(text).ok()?;
    Some([
        hundredths(load.one)?,
        hundredths(load.five)?,
        hundredths(load.fifteen)?,
    ])
}

/// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal. The guest
/// columns after them are already part of user and nice.
///
/// Not `procfs::KernelStats`, which parses the lines of all processors: docs/decisions.md.
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
///
/// Not `procfs::Meminfo`, which fails as a whole where one line is missing: docs/decisions.md.
#[must_use]
pub fn parse_memory(text: &[u8]) -> MemoryCounters {
    let mut memory = MemoryCounters::default();
    for line in nonempty_lines(text) {
        let mut words = split_fields(line);
        let (Some(name), Some(kib)) = (words.next(), words.next().and_then(parse_number)) else {
            continue;
        };
        let slot = match name {
            b"MemTotal:" => &mut memory.total,
            b"Cached:" => &mut memory.cached,
            b"Buffers:" => &mut memory.buffers,
            b"Dirty:" => &mut memory.dirty,
            b"Writeback:" => &mut memory.writeback,
            _ => continue,
        };
        *slot = kib.checked_mul(1024);
    }
    memory
}

/// A file below `/proc/pressure` (kernel Documentation/accounting/psi.rst).
#[must_use]
pub fn parse_pressure(text: &[u8]) -> Option<PressureStall> {
    // The parser of procfs panics where a line ends after its first word.
    let mut lines = text.split(|byte| *byte == b'\n');
    if !lines.next()?.starts_with(b"some ") || !lines.next()?.starts_with(b"full ") {
        return None;
    }
    let pressure = IoPressure::from_buf_read(text).ok()?;
    Some(PressureStall {
        some: pressure_line(&pressure.some)?,
        full: pressure_line(&pressure.full)?,
    })
}

/// The first line of `/proc/pressure/cpu`: kernels before 5.13 have no second one.
#[must_use]
pub fn parse_cpu_pressure(text: &[u8]) -> Option<PressureLine> {
    // The parser of procfs panics where a line ends after its first word, and for some kernels it
    // needs both lines: the first one serves as both.
    let values = nonempty_lines(text).next()?.strip_prefix(b"some ")?;
    let both = [b"some ", values, b"\nfull ", values, b"\n"].concat();
    Some(parse_pressure(&both)?.some)
}

fn pressure_line(record: &PressureRecord) -> Option<PressureLine> {
    Some(PressureLine {
        average_10_s: hundredths(record.avg10)?,
        average_60_s: hundredths(record.avg60)?,
        average_300_s: hundredths(record.avg300)?,
        total: Duration::from_micros(record.total),
    })
}

/// The decimal fraction that the kernel wrote, which has two decimals: an `f32` is only near it.
/// `None` for what is negative or not finite.
fn hundredths(value: f32) -> Option<f64> {
    let exact = (f64::from(value) * 100.0).round() / 100.0;
    (exact.is_finite() && exact >= 0.0).then_some(exact)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_files_of_real_machine_are_parsed() {
        assert_eq!(
            parse_uptime(b"1498.67 2542.48\n"),
            Some(Duration::from_secs_f64(1498.67))
        );
        assert_eq!(
            parse_load(b"0.10 0.15 0.18 1/87 12039\n"),
            Some([0.10, 0.15, 0.18])
        );
        let ticks = parse_cpu(b"cpu  10 1 5 100 20 1 2 3 9 9\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!((ticks.busy, ticks.iowait, ticks.total), (22, 20, 142));
        let pressure = parse_pressure(
            b"some avg10=5.68 avg60=1.56 avg300=0.68 total=10580100\n\
              full avg10=5.38 avg60=1.49 avg300=0.66 total=10031195\n",
        )
        .unwrap();
        assert_eq!(pressure.some.average_10_s, 5.68);
        assert_eq!(pressure.full.total, Duration::from_micros(10_031_195));
        let processors = parse_cpu_pressure(b"some avg10=0.28 avg60=1.05 avg300=4.40 total=2\n");
        assert_eq!(processors.unwrap().average_10_s, 0.28);
        assert_eq!(parse_cpu_pressure(b"some"), None);
        let memory = parse_memory(b"MemTotal:       24684084 kB\nDirty:             26016 kB\n");
        assert_eq!(memory.dirty, Some(26_016 * 1024));
        assert_eq!(memory.writeback, None);
    }

    #[test]
    fn malformed_host_files_yield_none() {
        assert_eq!(parse_uptime(b"inf 1"), None);
        assert_eq!(parse_uptime(b"-1.00 1"), None);
        assert_eq!(parse_uptime(b"12"), None);
        assert_eq!(parse_load(b"0.1 nan 0 1/2 3"), None);
        assert_eq!(parse_load(b"0.1 -1 0 1/2 3"), None);
        assert_eq!(parse_load(b"0.10 0.15\xff"), None);
        assert_eq!(parse_cpu(b""), None);
        assert_eq!(parse_cpu(b"cpu  1 2 3\n"), None);
        const LINE: &str = "avg10=1.00 avg60=1.00 avg300=1.00 total=1";
        assert!(parse_pressure(format!("some {LINE}\nfull {LINE}\n").as_bytes()).is_some());
        for text in [
            String::new(),
            "some".to_owned(),
            "some\u{e9}".to_owned(),
            format!("some {LINE}\n"),
            format!("some {LINE}\nfull"),
            format!("full {LINE}\nsome {LINE}\n"),
            format!("some {LINE}\nfull avg10=1.00 total=1\n"),
            format!("some {LINE}\nfull {}\n", LINE.replace("1.00", "inf")),
        ] {
            assert_eq!(parse_pressure(text.as_bytes()), None, "{text:?}");
        }
    }
}
