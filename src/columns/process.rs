//! Processes: iotop and pidstat -d.

use super::command::command_text;
use super::{Column, Entity, NOT_IN_TABLES, TEXT_ONLY, Value, count, sum};
use crate::snapshot::view::ProcessView;
use crate::units::Unit;

type Process = Column<ProcessView>;

/// Processes in the text of `watch` at most: the busiest.
pub const MAX_PROCESSES_IN_TEXT: usize = 10;

impl Entity for ProcessView {
    const NAME: &'static str = "process";
    const COLUMNS: &'static [Process] = COLUMNS;
    type Counters = ();
}

const COLUMNS: &[Process] = &[
    Process::new("pid", "PID", Unit::Count, |it| {
        Value::Number(f64::from(it.pid))
    })
    .help("process id")
    .shown(9, 0),
    Process::text("user", "USER", |it| it.user.clone().into(), (8, 4, 4)),
    Process::new("read_bytes_per_s", "rMB/s", Unit::BytesPerSecond, |it| {
        it.read_bytes_per_s.into()
    })
    .help("bytes read from devices, without ended children")
    .shown(6, 0),
    Process::new("write_bytes_per_s", "wMB/s", Unit::BytesPerSecond, |it| {
        it.write_bytes_per_s.into()
    })
    .help("bytes written, or to be written, to devices, less cancelled writes")
    .shown(6, 0),
    Process::new("cached", "hit%", Unit::Ratio, |it| {
        match (it.cache_fraction, it.rchar_bytes_per_s) {
            (None, Some(_)) => Value::Absent,
            (share, _) => share.into(),
        }
    })
    .help("share of the bytes read that no device delivered")
    .shown(4, 3),
    Process::new("io_wait", "IO%", Unit::Ratio, |it| living(it, it.io_wait))
        .help("share of time waiting for block I/O; needs delay accounting")
        .shown(4, 1),
    Process::new("swap_in", "SWAPIN%", Unit::Ratio, |it| {
        living(it, it.swap_in)
    })
    .help("share of time waiting for memory to be swapped in; needs delay accounting")
    .shown(7, 8),
    Process::text(
        "priority",
        "class",
        |it| it.priority.clone().into(),
        (5, 0, 6),
    ),
    Process::text("devices", "device", device_names, (8, 6, 7)),
    Process::text("state", "state", |it| state_word(it).into(), (6, 0, 5)),
    Process::new("read_ios_per_s", "r/s", Unit::PerSecond, |it| {
        it.read_ios_per_s.into()
    })
    .help("reads completed at devices; unknown without `--by-device`"),
    Process::new("write_ios_per_s", "w/s", Unit::PerSecond, |it| {
        it.write_ios_per_s.into()
    })
    .help("writes completed at devices; unknown without `--by-device`"),
    Process::new(
        "asked_read_bytes_per_s",
        "rchar",
        Unit::BytesPerSecond,
        |it| it.rchar_bytes_per_s.into(),
    )
    .help("bytes read by system calls, from files, pipes and terminals too"),
    Process::new(
        "asked_write_bytes_per_s",
        "wchar",
        Unit::BytesPerSecond,
        |it| it.wchar_bytes_per_s.into(),
    )
    .help("bytes written by system calls, to files, pipes and terminals too"),
    Process::new("read_syscalls_per_s", "syscr/s", Unit::PerSecond, |it| {
        it.read_syscalls_per_s.into()
    })
    .help("read system calls, on sockets and pipes too"),
    Process::new("write_syscalls_per_s", "syscw/s", Unit::PerSecond, |it| {
        it.write_syscalls_per_s.into()
    })
    .help("write system calls, on sockets and pipes too"),
    Process::new("read_total_bytes", "rMB", Unit::Bytes, |it| {
        count(it.read_total_bytes)
    })
    .help("bytes read from devices since the process started"),
    Process::new("write_total_bytes", "wMB", Unit::Bytes, |it| {
        count(it.write_total_bytes)
    })
    .help("bytes written to devices since the process started"),
    Process::new("read_accumulated_bytes", "rMB", Unit::Bytes, |it| {
        count(it.read_accumulated_bytes)
    })
    .help("bytes read from devices since the first sample")
    .shown(6, NOT_IN_TABLES),
    Process::new("write_accumulated_bytes", "wMB", Unit::Bytes, |it| {
        count(it.write_accumulated_bytes)
    })
    .help("bytes written to devices since the first sample")
    .shown(6, NOT_IN_TABLES),
    Process::new("threads", "threads", Unit::Count, |it| {
        it.threads.map(f64::from).into()
    })
    .help("threads; unknown until it was read"),
    Process::new("bytes_per_s", "MB/s", Unit::BytesPerSecond, |it| {
        sum(it.read_bytes_per_s, it.write_bytes_per_s).into()
    })
    .help("bytes read and written at devices")
    .also(&["throughput"])
    .derived(),
    Process::text(
        "unit",
        "unit",
        |it| it.unit.clone().into(),
        (12, 12, TEXT_ONLY),
    ),
    Process::text(
        "command",
        "COMMAND",
        |it| command_text(it).into(),
        (24, u16::MAX, 0),
    ),
];

/// A value that what has ended does not have.
fn living(process: &ProcessView, value: Option<f64>) -> Value {
    match process.exited {
        true => Value::Absent,
        false => value.into(),
    }
}

fn device_names(process: &ProcessView) -> Value {
    let names: Vec<&str> = process.device_names().collect();
    names.join(",").into()
}

/// The kernel's state letter as a word (proc_pid_stat(5)).
fn state_word(process: &ProcessView) -> Option<crate::files::safe_text::SafeText> {
    if process.exited {
        return Some("ended".into());
    }
    Some(
        match process.state? {
            'D' => "disk",
            'R' => "run",
            'S' | 'I' => "sleep",
            'T' | 't' => "stop",
            'Z' => "zombie",
            _ => "other",
        }
        .into(),
    )
}
