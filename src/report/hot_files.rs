//! Which files the requests belong to, as text.

use std::fmt::Write as _;

use super::watch::table::table_text;
use crate::trace::hot_files::view::{HotFilesView, UnknownReason};
use crate::units;

/// Files in the list.
const MAX_LINES: usize = 20;

/// The result as text, in at most `width` terminal columns where there is a limit.
#[must_use]
pub fn hot_files_text(view: &HotFilesView, width: Option<usize>) -> String {
    let mut text = heading(view);
    if view.files.is_empty() {
        text.push_str("\nno file was read from or written to a device\n");
    } else {
        let shown: Vec<_> = view.files.iter().take(MAX_LINES).collect();
        text = text + "\n" + &table_text(&shown, width, None);
        let hidden = (view.files.len() - shown.len()) as u64 + view.files_omitted;
        if hidden > 0 {
            let listed = view.files.len();
            let _ = writeln!(text, "{hidden} more files; --json lists up to {listed}");
        }
    }
    let remarks = remarks(view);
    if !remarks.is_empty() {
        let _ = writeln!(text, "\n{}", remarks.join("\n"));
    }
    text
}

fn bytes(bytes: u64) -> String {
    units::format_capacity(bytes as f64)
}

fn share(part: u64, whole: u64) -> String {
    units::format_percent(part as f64 / whole.max(1) as f64)
}

fn heading(view: &HotFilesView) -> String {
    let total = view.total_bytes();
    format!(
        "{} in {:.1} s: files {} ({}), {}\n",
        bytes(total),
        view.duration_ns as f64 / 1e9,
        bytes(view.file_bytes),
        share(view.file_bytes, total),
        other_bytes(view)
    )
}

/// The bytes that belong to no known file.
#[must_use]
pub fn other_bytes(view: &HotFilesView) -> String {
    let total = view.total_bytes();
    let amount = |name, amount| format!("{name} {} ({})", bytes(amount), share(amount, total));
    [
        amount("metadata", view.metadata_bytes),
        amount("unknown", view.unknown_bytes),
    ]
    .join(", ")
}

/// What makes the numbers less than they should be.
fn remarks(view: &HotFilesView) -> Vec<String> {
    let mut lines = Vec::new();
    if view.events_lost > 0 {
        let lost = view.events_lost;
        lines.push(format!("{lost} events were lost: the bytes are too low"));
    }
    for (reason, amount) in &view.unknown {
        let reason = match reason {
            UnknownReason::NoEvent => {
                "no event names the file (encryption, compression or checksums by a thread of the kernel, \
                 direct I/O without iomap)"
            }
            UnknownReason::Subvolumes => {
                "files of two subvolumes of btrfs have the same inode number"
            }
            UnknownReason::TooManyFiles => "too many files",
            UnknownReason::NoFileSystem => "no mounted file system: raw devices, swap",
        };
        lines.push(format!("unknown {}: {reason}", bytes(*amount)));
    }
    for missing in &view.not_recorded {
        lines.push(format!("this kernel does not report {missing}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::safe_text::SafeText;
    use crate::trace::hot_files::Access;
    use crate::trace::hot_files::view::{FileNameView, FileUserView, HotFileView, ProcessView};

    fn postgres() -> ProcessView {
        ProcessView {
            pid: 4711,
            command: SafeText::from("postgres"),
            unit: Some(SafeText::from("postgresql.service")),
        }
    }

    fn file(path: Option<&str>) -> FileNameView {
        FileNameView {
            path: path.map(SafeText::from),
            deleted: false,
            device: SafeText::from("sda1"),
            mount_point: SafeText::from("/"),
            inode: 131,
        }
    }

    #[test]
    fn hot_files_are_listed_with_journal() {
        let view = HotFilesView {
            duration_ns: 10_000_000_000,
            files: vec![
                HotFileView {
                    file: file(Some("/var/lib/base/16384")),
                    read_bytes: 1_000_000_000,
                    written_bytes: 8192,
                    read_ios: 125_000,
                    write_ios: 1,
                    p50_ns: Some(80_000),
                    p99_ns: Some(2_000_000),
                    who: vec![FileUserView {
                        process: postgres(),
                        bytes: 1_000_008_192,
                    }],
                    via: Some(Access::Buffered),
                },
                HotFileView {
                    file: file(None),
                    read_bytes: 4096,
                    written_bytes: 0,
                    read_ios: 1,
                    write_ios: 0,
                    p50_ns: None,
                    p99_ns: None,
                    who: Vec::new(),
                    via: None,
                },
            ],
            file_bytes: 1_000_012_288,
            metadata_bytes: 4096,
            unknown_bytes: 8192,
            unknown: [(UnknownReason::Subvolumes, 8192)].into_iter().collect(),
            events_lost: 3,
            not_recorded: vec!["page faults: mmap reads are counted as buffered"],
            ..HotFilesView::default()
        };
        insta::assert_snapshot!(hot_files_text(&view, None));
    }
}
