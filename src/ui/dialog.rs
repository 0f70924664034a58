//! A dialog over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::border;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Widget};
use unicode_width::UnicodeWidthStr;

use crate::app::{Dialog, ProcessAction, ProcessTarget};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::text::cut_end;

/// Columns and rows of the border, and blanks beside the text.
const FRAME: (u16, u16) = (6, 2);

/// A border of ASCII characters.
const ASCII_BORDER: border::Set<'static> = border::Set {
    top_left: "+",
    top_right: "+",
    bottom_left: "+",
    bottom_right: "+",
    vertical_left: "|",
    vertical_right: "|",
    horizontal_top: "-",
    horizontal_bottom: "-",
};

/// Draws the dialog.
pub(super) fn draw(dialog: &Dialog, theme: Theme, area: Rect, buf: &mut Buffer) {
    let lines = dialog_lines(dialog);
    let room = area.width.saturating_sub(FRAME.0);
    let lines: Vec<String> = lines
        .iter()
        .map(|line| cut_end(line, room, theme))
        .collect();
    let widest = lines.iter().map(|line| line.width()).max().unwrap_or(0) as u16;
    let (width, height) = (widest + FRAME.0, lines.len() as u16 + FRAME.1);
    let place = Rect::new(
        area.x + area.width.saturating_sub(width) / 2,
        area.y + area.height.saturating_sub(height) / 2,
        width,
        height,
    )
    .intersection(area);
    Clear.render(place, buf);
    let set = if theme.ascii {
        ASCII_BORDER
    } else {
        border::PLAIN
    };
    let block = Block::bordered()
        .border_set(set)
        .border_style(theme.role_style(StyleRole::Title));
    let inner = block.inner(place);
    block.render(place, buf);
    for (row, text) in inner.rows().zip(lines) {
        Line::raw(format!("  {text}")).render(row, buf);
    }
}

fn dialog_lines(dialog: &Dialog) -> Vec<String> {
    let owned = |lines: [&str; 3]| lines.map(str::to_owned).to_vec();
    match dialog {
        // The help has a screen of its own.
        Dialog::Help => Vec::new(),
        Dialog::ConfirmQuit => owned([
            "A benchmark is running.",
            "Stop it and quit? The results so far are saved.",
            "y, Enter quit    n, Esc cancel",
        ]),
        Dialog::ConfirmAccounting => owned([
            "Turn on delay accounting (for IO% and SWAPIN%)? It is reset on exit.",
            "sysctl kernel.task_delayacct=1",
            "y, Enter confirm    n, Esc cancel",
        ]),
        Dialog::ConfirmProcessAction(process, action) => {
            let mut lines = process_lines(process);
            lines.push(action.label().to_owned());
            lines.push(String::new());
            lines.push(confirmation_keys(*action).to_owned());
            lines
        }
        Dialog::ChooseProcessAction(process, actions) => {
            let choices = actions.iter().enumerate();
            let choices =
                choices.map(|(index, action)| format!("{}  {}", index + 1, action.label()));
            let mut lines = process_lines(process);
            lines.push(String::new());
            lines.extend(choices);
            lines.push(String::new());
            lines.push("Esc cancel".to_owned());
            lines
        }
    }
}

/// What an administrator recognizes a process by.
fn process_lines(process: &ProcessTarget) -> Vec<String> {
    let user = process.user.as_deref().unwrap_or("n/a");
    vec![
        format!("process {} of user {user}", process.id.pid),
        process.command.to_string(),
    ]
}

fn confirmation_keys(action: ProcessAction) -> &'static str {
    if action.is_destructive() {
        "y confirm (Enter does not)    n, Esc cancel"
    } else {
        "y, Enter confirm    n, Esc cancel"
    }
}
