//! Open files: of the selected process, and those that are deleted.

use std::sync::Arc;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::error::OpenFilesError;
use crate::app::live::LiveState;
use crate::app::viewport::Viewport;
use crate::report::files::needed_content_note;
use crate::snapshot::files::{DeletedView, FileView};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::command::command_lines;
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::{cut_end, cut_start, wrap_text};
use crate::units;

/// Columns before the path.
const FIXED_COLUMNS_WIDTH: u16 = 42;

/// Draws the open files of the selected process; `None` until they are listed.
pub(super) fn draw_open_files(
    live: &LiveState,
    files: Option<&Result<Vec<FileView>, Arc<OpenFilesError>>>,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let pid = live.selected_process_id.map_or(0, |(pid, _)| pid);
    let mut lines = vec![Line::styled(
        format!("OPEN FILES, PID {pid}"),
        theme.role_style(StyleRole::Title),
    )];
    match files {
        None => lines.push(Line::styled(
            "reading /proc/PID/fd",
            theme.role_style(StyleRole::Faint),
        )),
        Some(Err(error)) => {
            let wrapped = wrap_text(&error.to_string(), area.width);
            lines.extend(wrapped.into_iter().map(Line::raw));
        }
        Some(Ok(files)) => {
            let heading = format!(
                "{:>4} {:>10} {:>10}  {:<13} file",
                "FD", "position", "size", "flags"
            );
            lines.push(Line::styled(heading, theme.role_style(StyleRole::Faint)));
            lines.extend(
                files
                    .iter()
                    .map(|file| open_file_line(file, area.width, theme)),
            );
        }
    }
    scrolled::draw(lines, &live.viewport, theme, area, buf);
}

fn open_file_line(file: &FileView, width: u16, theme: Theme) -> Line<'static> {
    let bytes = |bytes: Option<u64>| {
        bytes.map_or_else(
            || "-".to_owned(),
            |bytes| units::format_capacity(bytes as f64),
        )
    };
    let flags = cut_end(file.flags.as_deref().unwrap_or("n/a"), 13, theme);
    let start = format!(
        "{:>4} {:>10} {:>10}  {flags:<13} ",
        file.descriptor,
        bytes(file.position_bytes),
        bytes(file.size_bytes),
    );
    let role = if file.deleted {
        StyleRole::Warning
    } else {
        StyleRole::Plain
    };
    let path = cut_start(&file.path, width.saturating_sub(FIXED_COLUMNS_WIDTH), theme);
    Line::from(vec![
        Span::raw(start),
        Span::styled(path, theme.role_style(role)),
    ])
}

/// Draws the deleted files that still occupy space; `None` until the search is done.
pub(super) fn draw_deleted_files(
    files: Option<&[DeletedView]>,
    viewport: &Viewport,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let faint = |text: String| Line::styled(text, theme.role_style(StyleRole::Faint));
    let mut lines = vec![Line::styled(
        "DELETED FILES still open: their space is not freed",
        theme.role_style(StyleRole::Title),
    )];
    match files {
        None => lines.push(faint("searching /proc".to_owned())),
        Some([]) => lines.push(faint(
            "none (open files of other users' processes need root)".to_owned(),
        )),
        Some(files) => {
            for file in files {
                lines.extend(deleted_file_lines(file, area.width, theme));
            }
        }
    }
    scrolled::draw(lines, viewport, theme, area, buf);
}

fn deleted_file_lines(file: &DeletedView, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let held = units::format_capacity(file.held_bytes as f64);
    let path = cut_start(&file.path, width.saturating_sub(12), theme);
    let holders: Vec<String> = file
        .holders
        .iter()
        .map(|holder| format!("{} {}", holder.pid, holder.command))
        .collect();
    let faint = |text: String| {
        let text = cut_end(&text, width, theme);
        Line::styled(text, theme.role_style(StyleRole::Faint))
    };
    let mut lines = vec![
        Line::from(vec![
            Span::styled(
                format!("{held:>10}  "),
                theme.role_style(StyleRole::Warning),
            ),
            Span::raw(path),
        ]),
        faint(format!("    open in {}", holders.join(", "))),
    ];
    let notes = file.needed_by.map(needed_content_note);
    lines.extend(notes.map(|note| faint(format!("    {note}"))));
    let commands = [
        ("truncate, its content is lost", &file.truncate_command),
        ("copy", &file.copy_command),
    ];
    for (effect, command) in commands {
        if let Some(command) = command {
            lines.push(faint(format!("    {effect}:")));
            lines.extend(indented_command(command, width, theme));
        }
    }
    lines
}

/// A command below what it does.
fn indented_command(command: &str, width: u16, theme: Theme) -> Vec<Line<'static>> {
    const INDENT: &str = "    ";
    let room = width.saturating_sub(INDENT.len() as u16);
    let style = theme.role_style(StyleRole::Faint);
    let mut lines = command_lines(command, "diskscope files", room, style, theme);
    for line in &mut lines {
        line.spans.insert(0, Span::raw(INDENT));
    }
    lines
}
