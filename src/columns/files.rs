//! Files: those with requests, the calls that wait for their writeback, and the open ones.

use super::{Column, Entity, TEXT_ONLY, Value, field};
use crate::snapshot::files::FileView;
use crate::trace::hot_files::Access;
use crate::trace::hot_files::view::{FileNameView, HotFileView, ProcessView, SyncView};
use crate::units::Unit;

type HotFile = Column<HotFileView>;
type SyncCall = Column<SyncView>;
type OpenFile = Column<FileView>;

/// Processes of a file that are named in a line.
const MAX_PROCESSES: usize = 2;

/// The path of a file, or its inode where that is all that is known.
#[must_use]
pub fn file_name(file: &FileNameView) -> String {
    match &file.path {
        Some(path) if file.deleted => format!("{path} (deleted)"),
        Some(path) => path.to_string(),
        None => format!("inode {} on {}", file.inode, file.mount_point),
    }
}

/// Program and id of a process.
#[must_use]
pub fn process_name(process: &ProcessView) -> String {
    match process.command.as_str() {
        "" => format!("? {}", process.pid),
        command => format!("{command} {}", process.pid),
    }
}

/// The process that calls, and in how many threads where there are several.
#[must_use]
pub fn sync_user_name(sync: &SyncView) -> String {
    let process = process_name(&sync.process);
    match sync.threads {
        0 | 1 => process,
        threads => format!("{process} ({threads} threads)"),
    }
}

impl Entity for HotFileView {
    const NAME: &'static str = "hot_file";
    const COLUMNS: &'static [HotFile] = &[
        HotFile::new("path", "path", Unit::Text, |it| it.file.path.clone().into())
            .help("its path; empty where only the inode is known"),
        HotFile::new("inode", "inode", Unit::Count, |it| it.file.inode.into()).help("its inode"),
        HotFile::new("read_bytes", "rMB", Unit::Bytes, |it| it.read_bytes.into())
            .help("bytes read from the device")
            .shown(8, 0),
        field!(HotFile, written_bytes, "wMB", Bytes)
            .help("bytes written to the device")
            .shown(8, 0),
        field!(HotFile, read_ios, "reads", Count)
            .help("requests that read it")
            .shown(7, 4),
        field!(HotFile, write_ios, "writes", Count)
            .help("requests that wrote it")
            .shown(7, 4),
        field!(HotFile, p50_ns, "p50 ms", Nanoseconds)
            .help("median latency of its requests, from queueing to completion")
            .shown(7, 2),
        field!(HotFile, p99_ns, "p99 ms", Nanoseconds)
            .help("latency that 99 % of its requests do not exceed")
            .shown(7, 0),
        HotFile::text("via", "access", access, (9, 0, 3))
            .help("how most of its bytes were accessed"),
        HotFile::text(
            "device",
            "device",
            |it| it.file.device.clone().into(),
            (8, 6, TEXT_ONLY),
        )
        .help("block device of its file system"),
        HotFile::text("processes", "process", users, (16, 16, 1))
            .help("processes with most of the bytes")
            .derived(),
        HotFile::text(
            "file",
            "FILE",
            |it| file_name(&it.file).into(),
            (22, u16::MAX, 0),
        )
        .help("its path, or its inode")
        .derived(),
    ];
    type Counters = ();
}

/// The processes, those with most bytes first.
fn users(file: &HotFileView) -> Value {
    let names = file.who.iter().map(|user| process_name(&user.process));
    let mut names: Vec<String> = names.take(MAX_PROCESSES).collect();
    if file.who.len() > MAX_PROCESSES {
        names.push(format!("+{}", file.who.len() - MAX_PROCESSES));
    }
    match names.is_empty() {
        true => Value::Unknown,
        false => names.join(", ").into(),
    }
}

impl Entity for SyncView {
    const NAME: &'static str = "sync_call";
    const COLUMNS: &'static [SyncCall] = &[
        SyncCall::text("call", "call", |it| it.call.to_owned().into(), (15, 0, 0))
            .help("system call that waits for writeback"),
        SyncCall::new("count", "calls", Unit::Count, |it| it.count.into())
            .help("number of calls")
            .shown(6, 0),
        SyncCall::new("total_ns", "time ms", Unit::Nanoseconds, |it| {
            it.total_ns.into()
        })
        .help("time in them, of all threads together")
        .shown(8, 0),
        SyncCall::new("p50_ns", "p50 ms", Unit::Nanoseconds, |it| it.p50_ns.into())
            .help("median duration")
            .shown(7, 3),
        SyncCall::new("p99_ns", "p99 ms", Unit::Nanoseconds, |it| it.p99_ns.into())
            .help("duration that 99 % of the calls do not exceed")
            .shown(7, 2),
        SyncCall::new("max_ns", "max ms", Unit::Nanoseconds, |it| it.max_ns.into())
            .help("longest duration")
            .shown(7, 1),
        SyncCall::text(
            "processes",
            "process",
            |it| sync_user_name(it).into(),
            (16, 16, 0),
        )
        .derived(),
        SyncCall::text(
            "path",
            "FILE",
            |it| match &it.file {
                Some(file) => file_name(file).into(),
                None => Value::Absent,
            },
            (14, u16::MAX, 2),
        )
        .derived(),
    ];
    type Counters = ();
}

impl Entity for FileView {
    const NAME: &'static str = "open_file";
    const COLUMNS: &'static [OpenFile] = &[
        field!(OpenFile, descriptor, "FD", Count)
            .help("file descriptor")
            .shown(4, 0),
        field!(OpenFile, position_bytes, "position", Bytes)
            .help("offset of the next read or write")
            .shown(11, 0),
        field!(OpenFile, size_bytes, "size", Bytes)
            .help("length of a regular file")
            .shown(10, 0),
        OpenFile::text("flags", "flags", |it| it.flags.clone().into(), (13, 0, 1)),
        OpenFile::new("deleted", "deleted", Unit::Text, |it| {
            it.deleted.to_string().into()
        })
        .help("whether it is deleted"),
        OpenFile::text("path", "FILE", |it| (&it.path).into(), (20, u16::MAX, 0)),
    ];
    type Counters = ();
}

fn access(file: &HotFileView) -> Value {
    let name = file.via.map(Access::name);
    name.map(ToOwned::to_owned).into()
}
