//! Which files the requests belong to, as text.

use std::fmt::Write as _;

use crate::trace::hot_files::Access;
use crate::trace::hot_files::view::{
    FileNameView, HotFileView, HotFilesView, JournalView, NotRecorded, ProcessView, SyncView,
    UnknownReason,
};
use crate::units;

/// Lines per list.
const MAX_LINES: usize = 20;
/// Processes per line.
const MAX_PROCESSES: usize = 2;

/// The result as text.
#[must_use]
pub fn hot_files_text(view: &HotFilesView) -> String {
    let mut text = heading(view);
    files_section(view, &mut text);
    syncs_section(view, &mut text);
    for journal in &view.journals {
        journal_line(journal, &mut text);
    }
    remarks(view, &mut text);
    text
}

fn bytes(bytes: u64) -> String {
    units::format_capacity(bytes as f64)
}

fn time(nanoseconds: Option<u64>) -> String {
    nanoseconds.map_or_else(
        || "n/a".to_owned(),
        |nanoseconds| units::format_latency(nanoseconds as f64),
    )
}

fn share(part: u64, whole: u64) -> String {
    match whole {
        0 => "0 %".to_owned(),
        whole => units::format_percent(part as f64 / whole as f64),
    }
}

fn heading(view: &HotFilesView) -> String {
    let total = view.total_bytes();
    let seconds = view.duration_ns as f64 / 1e9;
    let files = view.listed_bytes().saturating_add(view.omitted_bytes);
    let mut text = format!(
        "{} in {seconds:.1} s: files {} ({})",
        bytes(total),
        bytes(files),
        share(files, total)
    );
    let others = other_bytes(view);
    if !others.is_empty() {
        let _ = write!(text, ", {others}");
    }
    text.push('\n');
    text
}

/// The bytes that belong to no known file: metadata, journals, raw devices, unknown.
#[must_use]
pub fn other_bytes(view: &HotFilesView) -> String {
    let total = view.total_bytes();
    let others = [
        ("metadata", view.metadata_bytes),
        ("journal", view.journal_bytes),
        ("raw devices and swap", view.raw_bytes),
        ("unknown", view.unknown_bytes),
    ];
    let words: Vec<String> = others
        .into_iter()
        .filter(|(name, amount)| *amount > 0 || *name == "unknown")
        .map(|(name, amount)| format!("{name} {} ({})", bytes(amount), share(amount, total)))
        .collect();
    words.join(", ")
}

fn files_section(view: &HotFilesView, text: &mut String) {
    if view.files.is_empty() {
        text.push_str("\nno file was read from or written to a device\n");
        return;
    }
    let _ = writeln!(
        text,
        "\n{:>9} {:>9} {:>7} {:>7} {:>8} {:>8}  {:<9} {:<24} FILE",
        "READ", "WRITTEN", "READS", "WRITES", "P50", "P99", "VIA", "WHO"
    );
    for file in view.files.iter().take(MAX_LINES) {
        file_line(file, text);
    }
    let hidden = view.files.len().saturating_sub(MAX_LINES) as u64 + view.files_omitted;
    if hidden > 0 {
        let _ = writeln!(
            text,
            "{hidden} more files; --json lists up to {}",
            view.files.len()
        );
    }
}

fn file_line(file: &HotFileView, text: &mut String) {
    let users: Vec<&ProcessView> = file.who.iter().map(|user| &user.process).collect();
    let _ = writeln!(
        text,
        "{:>9} {:>9} {:>7} {:>7} {:>8} {:>8}  {:<9} {:<24} {}",
        bytes(file.read_bytes),
        bytes(file.written_bytes),
        file.read_ios,
        file.write_ios,
        time(file.p50_ns),
        time(file.p99_ns),
        file.via.map_or("n/a", Access::name),
        processes(&users),
        file_name(&file.file)
    );
}

fn processes(all: &[&ProcessView]) -> String {
    let mut words: Vec<String> = all
        .iter()
        .take(MAX_PROCESSES)
        .map(|one| process_name(one))
        .collect();
    if all.len() > MAX_PROCESSES {
        words.push(format!("+{}", all.len() - MAX_PROCESSES));
    }
    words.join(", ")
}

/// Program and id of a process.
#[must_use]
pub fn process_name(process: &ProcessView) -> String {
    let command = if process.command.is_empty() {
        "?"
    } else {
        process.command.as_str()
    };
    format!("{command} {}", process.pid)
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

/// The path of a file, or its inode where that is all that is known.
#[must_use]
pub fn file_name(file: &FileNameView) -> String {
    let deleted = if file.deleted { " (deleted)" } else { "" };
    match &file.path {
        Some(path) => format!("{path}{deleted}"),
        None => format!("inode {} on {}", file.inode, file.mount_point),
    }
}

fn syncs_section(view: &HotFilesView, text: &mut String) {
    if view.syncs.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "\n{:>7} {:>8} {:>8} {:>8} {:>8} {:>7}  {:<15} {:<24} FILE",
        "SYNCS", "TIME", "P50", "P99", "MAX", "JOURNAL", "CALL", "WHO"
    );
    for sync in view.syncs.iter().take(MAX_LINES) {
        sync_line(sync, text);
    }
    if let Some(hidden @ 1..) = view.syncs.len().checked_sub(MAX_LINES) {
        let _ = writeln!(text, "{hidden} more; --json lists them");
    }
}

fn sync_line(sync: &SyncView, text: &mut String) {
    let journal = sync
        .journal_fraction
        .map_or_else(|| "n/a".to_owned(), units::format_percent);
    let _ = writeln!(
        text,
        "{:>7} {:>8} {:>8} {:>8} {:>8} {:>7}  {:<15} {:<24} {}",
        sync.count,
        time(Some(sync.total_ns)),
        time(sync.p50_ns),
        time(sync.p99_ns),
        time(sync.max_ns),
        journal,
        sync.call.name(),
        sync_user_name(sync),
        sync.file.as_ref().map_or_else(|| "-".to_owned(), file_name)
    );
}

fn journal_line(journal: &JournalView, text: &mut String) {
    let total: u64 = journal.who.iter().map(|user| user.blocks).sum();
    let users: Vec<String> = journal
        .who
        .iter()
        .take(5)
        .map(|user| {
            format!(
                "{} {}",
                process_name(&user.process),
                share(user.blocks, total)
            )
        })
        .collect();
    let _ = writeln!(
        text,
        "\nblocks put into the journal of {} ({}): {}",
        journal.mount_point,
        journal.device,
        users.join(", ")
    );
}

fn remarks(view: &HotFilesView, text: &mut String) {
    let mut lines: Vec<String> = Vec::new();
    if view.recorded_ns < view.duration_ns {
        lines.push(format!(
            "sampled: requests of {} of the time are counted",
            share(view.recorded_ns, view.duration_ns)
        ));
    }
    if view.events_lost > 0 {
        lines.push(format!(
            "{} events were lost: the bytes are too low",
            view.events_lost
        ));
    }
    for unknown in &view.unknown {
        let reason = match unknown.reason {
            UnknownReason::NoEvent => {
                "no event names the file (encryption, compression or checksums by a thread of the kernel, \
                 direct I/O without iomap)"
            }
            UnknownReason::Subvolumes => {
                "btrfs with subvolumes: the file of the inode was not open any more"
            }
            UnknownReason::TooManyFiles => "too many files",
        };
        lines.push(format!("unknown {}: {reason}", bytes(unknown.bytes)));
    }
    for missing in &view.not_recorded {
        lines.push(
            match missing {
                NotRecorded::PageCache => {
                    "this kernel does not report buffered reads: their files are unknown"
                }
                NotRecorded::PageFaults => {
                    "this kernel does not report page faults: mmap reads are counted as buffered"
                }
                NotRecorded::DirectIo => {
                    "this kernel does not report direct I/O: its files are unknown"
                }
                NotRecorded::SystemCalls => {
                    "this kernel does not report system calls: fsync and similar calls are missing"
                }
            }
            .to_owned(),
        );
    }
    if !lines.is_empty() {
        let _ = writeln!(text, "\n{}", lines.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::safe_text::SafeText;
    use crate::trace::events::SyncCall;
    use crate::trace::hot_files::view::{FileUserView, JournalUserView, UnknownBytes};

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
    fn hot_files_are_listed_with_syncs_and_journal() {
        let view = HotFilesView {
            duration_ns: 10_000_000_000,
            recorded_ns: 5_000_000_000,
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
            metadata_bytes: 4096,
            journal_bytes: 20_480,
            unknown_bytes: 8192,
            unknown: vec![UnknownBytes {
                reason: UnknownReason::Subvolumes,
                bytes: 8192,
            }],
            events_lost: 3,
            syncs: vec![SyncView {
                call: SyncCall::Fdatasync,
                process: postgres(),
                file: Some(file(Some("/var/lib/wal/1"))),
                count: 120,
                total_ns: 900_000_000,
                p50_ns: Some(7_000_000),
                p99_ns: None,
                max_ns: Some(30_000_000),
                threads: 8,
                journal_fraction: Some(0.75),
            }],
            journals: vec![JournalView {
                device: SafeText::from("sda1"),
                mount_point: SafeText::from("/"),
                who: vec![JournalUserView {
                    process: postgres(),
                    blocks: 9,
                }],
            }],
            not_recorded: vec![NotRecorded::PageFaults],
            ..HotFilesView::default()
        };
        insta::assert_snapshot!(hot_files_text(&view));
    }
}
