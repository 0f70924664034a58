//! The machine as a whole: load, uptime, memory, pressure, processor time.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::sample::{CpuTicks, Host, Memory, Pressure, Stall, Traffic};
use super::text::{fields, lines, number, read, read_word};
use crate::roots::Roots;

/// Reads everything about the machine; what cannot be read is `None`.
///
/// `before` is the last reading: name and release are taken over from it, so that they stay one
/// allocation.
#[must_use]
pub fn read_host(roots: &Roots, before: &Host) -> Host {
    let proc = &roots.proc;
    let shared = |known: &Option<Arc<str>>, file: &str| match known {
        Some(word) => Some(Arc::clone(word)),
        None => read_word(&proc.join(file)).map(Arc::from),
    };
    let statistics = read(&proc.join("vmstat")).unwrap_or_default();
    let page = rustix::param::page_size() as u64;
    Host {
        name: shared(&before.name, "sys/kernel/hostname"),
        kernel: shared(&before.kernel, "sys/kernel/osrelease"),
        uptime: read(&proc.join("uptime")).as_deref().and_then(uptime),
        load: read(&proc.join("loadavg")).as_deref().and_then(load),
        cpu: read(&proc.join("stat")).as_deref().and_then(cpu),
        memory: read_memory(proc, &statistics, page),
        traffic: Traffic::read(&statistics, page),
        pressure: read(&proc.join("pressure/io"))
            .as_deref()
            .and_then(pressure),
    }
}

fn read_memory(proc: &Path, statistics: &[u8], page: u64) -> Memory {
    let mut memory = read(&proc.join("meminfo")).map_or_else(Memory::default, |text| memory(&text));
    (memory.background_from, memory.throttled_from) = dirty_limits(statistics, page);
    memory
}

/// The limits of dirty memory in bytes from `/proc/vmstat`: from where the kernel writes back in the
/// background, and from where writers wait (kernel Documentation/admin-guide/sysctl/vm.rst,
/// `dirty_background_ratio` and `dirty_ratio`, as mm/page-writeback.c works them out).
#[must_use]
pub fn dirty_limits(text: &[u8], page: u64) -> (Option<u64>, Option<u64>) {
    let value = |name: &[u8]| {
        let line = lines(text).find_map(|line| line.strip_prefix(name))?;
        number(line.trim_ascii())?.checked_mul(page)
    };
    (
        value(b"nr_dirty_background_threshold "),
        value(b"nr_dirty_threshold "),
    )
}

/// Time since boot from `/proc/uptime`.
#[must_use]
pub fn uptime(text: &[u8]) -> Option<Duration> {
    decimal(fields(text).next()?).and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
}

/// The three load averages of `/proc/loadavg`.
#[must_use]
pub fn load(text: &[u8]) -> Option<[f64; 3]> {
    let mut words = fields(text).map(decimal);
    Some([words.next()??, words.next()??, words.next()??])
}

/// The first line of `/proc/stat`: user nice system idle iowait irq softirq steal. The guest
/// columns after them are already part of user and nice.
#[must_use]
pub fn cpu(text: &[u8]) -> Option<CpuTicks> {
    let mut words = fields(lines(text).next()?);
    if words.next()? != b"cpu" {
        return None;
    }
    let ticks: Vec<u64> = words.take(8).map_while(number).collect();
    let total = ticks
        .iter()
        .fold(0_u64, |sum, ticks| sum.wrapping_add(*ticks));
    let (idle, waiting) = (*ticks.get(3)?, ticks.get(4).copied().unwrap_or(0));
    Some(CpuTicks {
        busy: total.wrapping_sub(idle).wrapping_sub(waiting),
        waiting,
        total,
    })
}

/// `/proc/meminfo`, whose "kB" are KiB.
#[must_use]
pub fn memory(text: &[u8]) -> Memory {
    let mut memory = Memory::default();
    for line in lines(text) {
        let mut words = fields(line);
        let (Some(name), Some(kib)) = (words.next(), words.next().and_then(number)) else {
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
pub fn pressure(text: &[u8]) -> Option<Pressure> {
    let (mut some, mut full) = (None, None);
    for line in lines(text) {
        let mut words = fields(line);
        match words.next() {
            Some(b"some") => some = stall(words),
            Some(b"full") => full = stall(words),
            _ => {}
        }
    }
    Some(Pressure {
        some: some?,
        full: full?,
    })
}

fn stall<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<Stall> {
    let mut stall = Stall::default();
    for word in words {
        let at = word.iter().position(|byte| *byte == b'=')?;
        let value = &word[at + 1..];
        match &word[..at] {
            b"avg10" => stall.average_10_s = decimal(value)?,
            b"avg60" => stall.average_60_s = decimal(value)?,
            b"avg300" => stall.average_300_s = decimal(value)?,
            b"total" => stall.total = Duration::from_micros(number(value)?),
            _ => {}
        }
    }
    Some(stall)
}

/// A decimal fraction that is finite and not negative.
fn decimal(field: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(field.trim_ascii()).ok()?.parse().ok()?;
    (value.is_finite() && value >= 0.0).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_real_machine() {
        assert_eq!(
            uptime(b"1498.67 2542.48\n"),
            Some(Duration::from_secs_f64(1498.67))
        );
        assert_eq!(
            load(b"0.10 0.15 0.18 1/87 12039\n"),
            Some([0.10, 0.15, 0.18])
        );
        let ticks = cpu(b"cpu  10 1 5 100 20 1 2 3 9 9\ncpu0 1 1 1 1\n").unwrap();
        assert_eq!((ticks.busy, ticks.waiting, ticks.total), (22, 20, 142));
        let pressure = pressure(
            b"some avg10=5.68 avg60=1.56 avg300=0.68 total=10580100\n\
              full avg10=5.38 avg60=1.49 avg300=0.66 total=10031195\n",
        )
        .unwrap();
        assert!((pressure.some.average_10_s - 5.68).abs() < 1e-12);
        assert_eq!(pressure.full.total, Duration::from_micros(10_031_195));
        let memory = memory(b"MemTotal:       24684084 kB\nDirty:             26016 kB\n");
        assert_eq!(memory.dirty, Some(26_016 * 1024));
        assert_eq!(memory.writeback, None);
    }

    #[test]
    fn what_cannot_be_read_is_unknown() {
        assert_eq!(uptime(b"inf 1"), None);
        assert_eq!(load(b"0.1 nan 0"), None);
        assert_eq!(cpu(b""), None);
        assert_eq!(pressure(b"some avg10=1 avg60=1 avg300=1 total=1\n"), None);
    }
}
