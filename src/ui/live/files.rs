//! Open files: of the selected process, and those that are deleted.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use crate::app::live::LiveState;
use crate::app::viewport::Viewport;
use crate::model::files::{DeletedView, FileView};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::{cut_end, cut_start, wrapped};
use crate::units;

/// Columns before the path.
const BEFORE: u16 = 42;

/// What the selected process has open; `None` until it was listed.
pub(super) fn draw_opened(
    live: &LiveState,
    files: Option<&Result<Vec<FileView>, String>>,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let pid = live.selected.map_or(0, |(pid, _)| pid);
    let mut lines = vec![Line::styled(
        format!("OPEN FILES of process {pid}"),
        look.style(Meaning::Title),
    )];
    match files {
        None => lines.push(Line::styled("listing", look.style(Meaning::Faint))),
        Some(Err(message)) => lines.extend(wrapped(message, area.width).into_iter().map(Line::raw)),
        Some(Ok(files)) => {
            let heading = format!(
                "{:>4} {:>10} {:>10}  {:<13} file",
                "fd", "position", "size", "flags"
            );
            lines.push(Line::styled(heading, look.style(Meaning::Faint)));
            lines.extend(files.iter().map(|file| opened(file, area.width, look)));
        }
    }
    scrolled::draw(lines, &live.viewport, look, area, buf);
}

fn opened(file: &FileView, width: u16, look: Look) -> Line<'static> {
    let bytes = |bytes: Option<u64>| {
        bytes.map_or_else(|| "-".to_owned(), |bytes| units::capacity(bytes as f64))
    };
    let flags = cut_end(file.flags.as_deref().unwrap_or("n/a"), 13, look);
    let start = format!(
        "{:>4} {:>10} {:>10}  {flags:<13} ",
        file.descriptor,
        bytes(file.position_bytes),
        bytes(file.size_bytes),
    );
    let meaning = if file.deleted {
        Meaning::Waiting
    } else {
        Meaning::Plain
    };
    let path = cut_start(&file.path, width.saturating_sub(BEFORE), look);
    Line::from(vec![
        Span::raw(start),
        Span::styled(path, look.style(meaning)),
    ])
}

/// Deleted files that hold space; `None` until they were looked for.
pub(super) fn draw_deleted(
    files: Option<&[DeletedView]>,
    viewport: &Viewport,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let faint = |text: String| Line::styled(text, look.style(Meaning::Faint));
    let mut lines = vec![Line::styled(
        "DELETED FILES that are still open and hold their space",
        look.style(Meaning::Title),
    )];
    match files {
        None => lines.push(faint("looking".to_owned())),
        Some([]) => lines.push(faint(
            "none (other users' processes show theirs to root only)".to_owned(),
        )),
        Some(files) => {
            for file in files {
                lines.extend(one_deleted(file, area.width, look));
            }
        }
    }
    scrolled::draw(lines, viewport, look, area, buf);
}

fn one_deleted(file: &DeletedView, width: u16, look: Look) -> Vec<Line<'static>> {
    let held = units::capacity(file.held_bytes as f64);
    let path = cut_start(&file.path, width.saturating_sub(12), look);
    let holders: Vec<String> = file
        .holders
        .iter()
        .map(|holder| format!("{} {}", holder.pid, holder.command))
        .collect();
    let faint = |text: String| {
        let text = cut_end(&text, width, look);
        Line::styled(text, look.style(Meaning::Faint))
    };
    vec![
        Line::from(vec![
            Span::styled(format!("{held:>10}  "), look.style(Meaning::Waiting)),
            Span::raw(path),
        ]),
        faint(format!("    held by {}", holders.join(", "))),
        faint(format!("    empty it: {}", file.release)),
        faint(format!("    copy it out: {}", file.rescue)),
    ]
}
