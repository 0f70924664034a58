//! Files: those with requests, and the open ones.

use super::{Column, Entity, TEXT_ONLY, Value, count};
use crate::files::safe_text::SafeText;
use crate::snapshot::files::FileView;
use crate::trace::hot_files::Access;
use crate::trace::hot_files::view::HotFileView;
use crate::units::Unit;

type HotFile = Column<HotFileView>;
type OpenFile = Column<FileView>;

impl Entity for HotFileView {
    const NAME: &'static str = "hot_file";
    const COLUMNS: &'static [HotFile] = &[
        HotFile::new("read_bytes", "rMB", Unit::Bytes, |it| number(it.read_bytes))
            .help("bytes read from the device")
            .shown(8, 0),
        HotFile::new("written_bytes", "wMB", Unit::Bytes, |it| {
            number(it.written_bytes)
        })
        .help("bytes written to the device")
        .shown(8, 0),
        HotFile::new("read_ios", "reads", Unit::Count, |it| number(it.read_ios))
            .help("requests that read it")
            .shown(7, 4),
        HotFile::new("write_ios", "writes", Unit::Count, |it| {
            number(it.write_ios)
        })
        .help("requests that wrote it")
        .shown(7, 4),
        HotFile::new("p50_ns", "p50 ms", Unit::Nanoseconds, |it| count(it.p50_ns))
            .help("median latency of its requests, from queueing to completion")
            .shown(7, 2),
        HotFile::new("p99_ns", "p99 ms", Unit::Nanoseconds, |it| count(it.p99_ns))
            .help("latency that 99 % of its requests do not exceed")
            .shown(7, 0),
        HotFile::text(
            "via",
            "access",
            |it| it.via.map(Access::name).map(SafeText::from).into(),
            (9, 0, 3),
        ),
        HotFile::text("who", "process", who, (16, 16, 1)),
        HotFile::text(
            "device",
            "device",
            |it| (&it.file.device).into(),
            (8, 6, TEXT_ONLY),
        ),
        HotFile::new("inode", "inode", Unit::Count, |it| number(it.file.inode)).help("its inode"),
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
        OpenFile::new("descriptor", "FD", Unit::Count, |it| {
            Value::Number(f64::from(it.descriptor))
        })
        .help("file descriptor")
        .shown(4, 0),
        OpenFile::new("position_bytes", "position", Unit::Bytes, |it| {
            count(it.position_bytes)
        })
        .help("offset of the next read or write")
        .shown(11, 0),
        OpenFile::new("size_bytes", "size", Unit::Bytes, |it| count(it.size_bytes))
            .help("length of a regular file")
            .shown(10, 0),
        OpenFile::text("flags", "flags", |it| it.flags.clone().into(), (13, 0, 1)),
        OpenFile::text("path", "FILE", |it| (&it.path).into(), (20, u16::MAX, 0)),
    ];
    type Counters = ();
}

fn number(count: u64) -> Value {
    Value::Number(count as f64)
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
