//! Files: those with requests, and the open ones.

use super::{Column, Entity, TEXT_ONLY, Value, field};
use crate::snapshot::files::FileView;
use crate::trace::hot_files::Access;
use crate::trace::hot_files::view::{FileNameView, HotFileView, ProcessView};
use crate::units::Unit;

type HotFile = Column<HotFileView>;
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

impl Entity for HotFileView {
    const NAME: &'static str = "hot_file";
    #[rustfmt::skip]
    const COLUMNS: &'static [HotFile] = &[
        HotFile::new("path", "path", Unit::Text, |it| it.file.path.clone().into())
            .help("its path; empty where only the inode is known"),
        HotFile::new("inode", "inode", Unit::Count, |it| it.file.inode.into()).help("its inode"),
        field!(HotFile, read_bytes, "rMB", Bytes).shown(8, 0).help("bytes read from the device"),
        field!(HotFile, written_bytes, "wMB", Bytes).shown(8, 0).help("bytes written to the device"),
        field!(HotFile, read_ios, "reads", Count).shown(7, 4).help("requests that read it"),
        field!(HotFile, write_ios, "writes", Count).shown(7, 4).help("requests that wrote it"),
        field!(HotFile, p50_ns, "p50 ms", Nanoseconds).shown(7, 2)
            .help("median latency of its requests, from queueing to completion"),
        field!(HotFile, p99_ns, "p99 ms", Nanoseconds).shown(7, 0)
            .help("latency that 99 % of its requests do not exceed"),
        HotFile::text("via", "access", access, (9, 0, 3)).help("how most of its bytes were accessed"),
        HotFile::text("device", "device", |it| it.file.device.clone().into(), (8, 6, TEXT_ONLY))
            .help("block device of its file system"),
        HotFile::text("processes", "process", users, (16, 16, 1)).derived().help("processes with most of the bytes"),
        HotFile::text("file", "FILE", |it| file_name(&it.file).into(), (22, u16::MAX, 0)).derived()
            .help("its path, or its inode"),
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

impl Entity for FileView {
    const NAME: &'static str = "open_file";
    #[rustfmt::skip]
    const COLUMNS: &'static [OpenFile] = &[
        field!(OpenFile, descriptor, "FD", Count).shown(4, 0).help("file descriptor"),
        field!(OpenFile, position_bytes, "position", Bytes).shown(11, 0).help("offset of the next read or write"),
        field!(OpenFile, size_bytes, "size", Bytes).shown(10, 0).help("length of a regular file"),
        OpenFile::text("flags", "flags", |it| it.flags.clone().into(), (13, 0, 1)),
        OpenFile::new("deleted", "deleted", Unit::Text, |it| it.deleted.to_string().into())
            .help("whether it is deleted"),
        OpenFile::text("path", "FILE", |it| (&it.path).into(), (20, u16::MAX, 0)),
    ];
    type Counters = ();
}

fn access(file: &HotFileView) -> Value {
    let name = file.via.map(Access::name);
    name.map(ToOwned::to_owned).into()
}
