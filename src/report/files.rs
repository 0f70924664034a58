//! Texts about open files, and those that are deleted.

use std::fmt::Write as _;

use super::watch::table::table_text;
use crate::files::shell;
use crate::snapshot::files::{ContentUser, DeletedView, FileView};
use crate::units;

/// What is said of a deleted file whose content is needed.
#[must_use]
pub const fn needed_content_note(user: ContentUser) -> &'static str {
    match user {
        ContentUser::Benchmark => {
            "scratch or output file of a running benchmark, which needs it until it ends"
        }
        ContentUser::Process => "end or restart it; it may need the content",
    }
}

/// The open files of a process, in at most `width` terminal columns where there is a limit.
#[must_use]
pub fn open_files_text(files: &[FileView], width: Option<usize>) -> String {
    let rows: Vec<&FileView> = files.iter().collect();
    table_text(&rows, width, None)
}

/// The deleted files that still occupy space, and what frees it.
#[must_use]
pub fn deleted_files_text(files: &[DeletedView]) -> String {
    if files.is_empty() {
        return "no deleted file is open (other users' processes show theirs to root only)\n"
            .to_owned();
    }
    let bytes = |bytes: u64| units::format_capacity(bytes as f64);
    let held: u64 = files.iter().map(|file| file.held_bytes).sum();
    let mut text = format!("{} deleted files hold {}\n", files.len(), bytes(held));
    for file in files {
        let _ = write!(text, "\n{:>9}  {}", bytes(file.held_bytes), file.path);
        if let Some(mount_point) = &file.mount_point {
            let _ = write!(text, "  on {mount_point}");
        }
        for line in deleted_file_notes(file) {
            let _ = write!(text, "\n           {line}");
        }
        text.push('\n');
    }
    text
}

/// Who has a deleted file open, and what can be done.
fn deleted_file_notes(file: &DeletedView) -> Vec<String> {
    let holders = file.holders.iter().map(|holder| {
        let (pid, command) = (holder.pid, &holder.command);
        format!("open in {pid} {command} as {}", holder.descriptor)
    });
    let mut lines: Vec<String> = holders.collect();
    if let Some(truncate) = &file.truncate_command {
        lines.push(format!(
            "end or restart it, or empty it (its content is lost): {truncate}"
        ));
    }
    if let Some(user) = file.needed_by {
        lines.push(needed_content_note(user).to_owned());
    }
    if let Some(copy) = &file.copy_command {
        let copy = shell::for_terminal(copy.to_string());
        lines.push(format!("copy it out: {copy}"));
    }
    lines
}
