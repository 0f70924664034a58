//! Processes: iotop and pidstat -d.

use super::{Column, Entity, NOT_IN_TABLES, TEXT_ONLY, Value, field, sum, throughput};
use crate::snapshot::command::program_first;
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

#[rustfmt::skip]
const COLUMNS: &[Process] = &[
    field!(Process, pid, "PID", Count).shown(9, 0).help("process id"),
    field!(Process, user, "USER", (8, 4, 4)),
    field!(Process, read_bytes_per_s, "rMB/s", BytesPerSecond).shown(6, 0)
        .help("bytes read from devices, without ended children"),
    field!(Process, write_bytes_per_s, "wMB/s", BytesPerSecond).shown(6, 0)
        .help("bytes written, or to be written, to devices, less cancelled writes"),
    Process::new("cached", "hit%", Unit::Ratio, cached_share).shown(4, 3)
        .help("share of the bytes read that no device delivered"),
    field!(Process, io_wait, "IO%", Ratio, living).shown(4, 1)
        .help("share of time waiting for block I/O; needs delay accounting"),
    field!(Process, swap_in, "SWAPIN%", Ratio, living).shown(7, 8)
        .help("share of time waiting for memory to be swapped in; needs delay accounting"),
    field!(Process, priority, "class", (5, 0, 6)),
    Process::text("devices", "device", device_names, (8, 6, 7)),
    Process::text("state", "state", state_word, (6, 0, 5)),
    field!(Process, read_ios_per_s, "r/s", PerSecond)
        .help("reads completed at devices; unknown without `--by-device`"),
    field!(Process, write_ios_per_s, "w/s", PerSecond)
        .help("writes completed at devices; unknown without `--by-device`"),
    Process::new("asked_read_bytes_per_s", "rchar", Unit::BytesPerSecond, |it| it.rchar_bytes_per_s.into())
        .help("bytes read by system calls, from files, pipes and terminals too"),
    Process::new("asked_write_bytes_per_s", "wchar", Unit::BytesPerSecond, |it| it.wchar_bytes_per_s.into())
        .help("bytes written by system calls, to files, pipes and terminals too"),
    field!(Process, read_syscalls_per_s, "syscr/s", PerSecond).help("read system calls, on sockets and pipes too"),
    field!(Process, write_syscalls_per_s, "syscw/s", PerSecond).help("write system calls, on sockets and pipes too"),
    field!(Process, read_total_bytes, "rMB", Bytes).help("bytes read from devices since the process started"),
    field!(Process, write_total_bytes, "wMB", Bytes).help("bytes written to devices since the process started"),
    field!(Process, read_accumulated_bytes, "rMB", Bytes).shown(6, NOT_IN_TABLES)
        .help("bytes read from devices since the first sample"),
    field!(Process, write_accumulated_bytes, "wMB", Bytes).shown(6, NOT_IN_TABLES)
        .help("bytes written to devices since the first sample"),
    field!(Process, threads, "threads", Count).help("threads; unknown until it was read"),
    throughput!(Process),
    field!(Process, unit, "unit", (12, 12, TEXT_ONLY)),
    Process::text("command", "COMMAND", |it| command_text(it).into(), (24, u16::MAX, 0)),
];

/// A value that what has ended does not have.
fn living(process: &ProcessView, value: Option<f64>) -> Value {
    Value::unless(process.exited, value)
}

/// There is none where nothing was asked for.
fn cached_share(process: &ProcessView) -> Value {
    let asked_nothing = process.cache_fraction.is_none() && process.rchar_bytes_per_s.is_some();
    Value::unless(asked_nothing, process.cache_fraction)
}

fn device_names(process: &ProcessView) -> Value {
    let names: Vec<&str> = process.device_names().collect();
    names.join(",").into()
}

/// The kernel's state letter as a word (proc_pid_stat(5)).
fn state_word(process: &ProcessView) -> Value {
    let word = match process.state {
        _ if process.exited => "ended",
        Some('D') => "disk",
        Some('R') => "run",
        Some('S' | 'I') => "sleep",
        Some('T' | 't') => "stop",
        Some('Z') => "zombie",
        Some(_) => "other",
        None => return Value::Unknown,
    };
    word.to_owned().into()
}

/// The command line with the name of the program first, or whose ended children a line describes.
#[must_use]
pub fn command_text(process: &ProcessView) -> String {
    let command = program_first(&process.command);
    if !process.is_ended_children() {
        return command.into_owned();
    }
    let programs = process.ended_programs.iter();
    let programs: Vec<String> = programs
        .map(|it| format!("{} {}", it.count, it.name))
        .collect();
    match programs.join(", ").as_str() {
        "" => format!("ended children of {command}"),
        programs => format!("ended: {programs} (children of {command})"),
    }
}
