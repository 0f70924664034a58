//! Files: those with requests, and the open ones.

use super::{Column, Entity, TEXT_ONLY, Value, field};
use crate::snapshot::files::FileView;
use crate::trace::hot_files::Access;
use crate::trace::hot_files::view::HotFileView;
use crate::units::Unit;

type HotFile = Column<HotFileView>;
type OpenFile = Column<FileView>;

impl Entity for HotFileView {
    const NAME: &'static str = "hot_file";
    const COLUMNS: &'static [HotFile] = &[
        field!(HotFile, read_bytes, "rMB", Bytes)
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
        HotFile::text("via", "access", access, (9, 0, 3)),
        HotFile::text("who", "process", who, (16, 16, 1)),
        HotFile::text(
            "device",
            "device",
            |it| it.file.device.clone().into(),
            (8, 6, TEXT_ONLY),
        ),
        HotFile::new("inode", "inode", Unit::Count, |it| it.file.inode.into()).help("its inode"),
        HotFile::text(
            "path",
            "FILE",
            |it| it.file.path.clone().into(),
            (24, u16::MAX, 0),
        ),
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
        field!(OpenFile, flags, "flags", (13, 0, 1)),
        field!(OpenFile, path, "FILE", (20, u16::MAX, 0)),
    ];
    type Counters = ();
}

fn access(file: &HotFileView) -> Value {
    let name = file.via.map(Access::name);
    name.map(ToOwned::to_owned).into()
}

/// The processes, those with most bytes first.
fn who(file: &HotFileView) -> Value {
    let names: Vec<String> = file
        .who
        .iter()
        .map(|user| format!("{} {}", user.process.command, user.process.pid))
        .collect();
    names.join(", ").into()
}
