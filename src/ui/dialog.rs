//! A dialog over the screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::symbols::border;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Padding, Widget};
use unicode_width::UnicodeWidthStr;

use crate::app::{Dialog, ProcessAction, ProcessTarget};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::{cut_end, wrap_text};

/// Columns of the border, and of blanks beside the text.
const FRAME_WIDTH: u16 = 8;
/// Rows of the border, and blank ones above and below the text.
const FRAME_HEIGHT: u16 = 4;
/// Maximum width of the text: longer lines are hard to read.
const MAX_TEXT_WIDTH: u16 = 68;
/// Maximum number of rows of a command.
const MAX_COMMAND_ROWS: usize = 3;
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

/// What a dialog shows.
struct DialogText {
    title: &'static str,
    lines: Vec<Line<'static>>,
}

/// Draws the dialog.
pub(super) fn draw(dialog: &Dialog, theme: Theme, area: Rect, buf: &mut Buffer) {
    let room = area.width.saturating_sub(FRAME_WIDTH).min(MAX_TEXT_WIDTH);
    let text = dialog_text(dialog, theme, room);
    let widest = text.lines.iter().map(Line::width).max().unwrap_or(0) as u16;
    let (width, height) = (
        widest.max(text.title.width() as u16) + FRAME_WIDTH,
        text.lines.len() as u16 + FRAME_HEIGHT,
    );
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
    let title = Line::styled(
        format!(" {} ", text.title),
        theme.role_style(StyleRole::Title),
    );
    let block = Block::bordered()
        .border_set(set)
        .title(title)
        .padding(Padding::symmetric(3, 1));
    let inner = block.inner(place);
    block.render(place, buf);
    for (row, line) in inner.rows().zip(text.lines) {
        line.render(row, buf);
    }
}

fn dialog_text(dialog: &Dialog, theme: Theme, width: u16) -> DialogText {
    let (title, mut lines) = match dialog {
        // The help has a screen of its own.
        Dialog::Help => ("", Vec::new()),
        Dialog::ConfirmQuit => (
            "QUIT",
            vec![
                Line::raw("A benchmark is running."),
                Line::raw("Stop it and quit? The results so far are saved."),
            ],
        ),
        Dialog::ConfirmAccounting => (
            "DELAY ACCOUNTING",
            vec![
                Line::raw("Turn on delay accounting, which IO% and SWAPIN% need?"),
                Line::raw("It is turned off again on exit."),
                Line::default(),
                faint("sysctl kernel.task_delayacct=1", theme),
            ],
        ),
        Dialog::ConfirmProcessAction(process, action) => {
            let mut lines = process_lines(process, theme, width);
            let role = if action.is_destructive() {
                StyleRole::Error
            } else {
                StyleRole::Title
            };
            lines.push(Line::default());
            lines.push(Line::styled(action.label(), theme.role_style(role)));
            (action_title(*action), lines)
        }
        Dialog::ChooseProcessAction(process, actions) => {
            let mut lines = process_lines(process, theme, width);
            lines.push(Line::default());
            lines.extend(actions.iter().enumerate().map(|(index, action)| {
                let key = (index + 1).to_string();
                Line::from(vec![
                    Span::styled(key, theme.role_style(StyleRole::Title)),
                    Span::raw(format!("  {}", action.label())),
                ])
            }));
            if let Some(action) = actions.first() {
                lines.push(Line::default());
                let wrapped = wrap_text(action_note(*action), width);
                let faint = theme.role_style(StyleRole::Faint);
                lines.extend(wrapped.into_iter().map(|row| Line::styled(row, faint)));
            }
            let title = actions.first().map_or("PROCESS", |it| action_title(*it));
            (title, lines)
        }
    };
    lines.push(Line::default());
    lines.push(keys_line(dialog, theme));
    DialogText { title, lines }
}

fn action_title(action: ProcessAction) -> &'static str {
    match action {
        ProcessAction::SetIoClass(_) => "I/O CLASS",
        ProcessAction::SendSignal(_) => "SIGNAL",
    }
}

/// What to mind with actions of this kind.
fn action_note(action: ProcessAction) -> &'static str {
    match action {
        ProcessAction::SetIoClass(_) => {
            "Only the schedulers bfq, and mq-deadline since Linux 5.14, heed it."
        }
        ProcessAction::SendSignal(_) => {
            "While the server of a file system or device is stopped, its users hang."
        }
    }
}

fn faint(text: &'static str, theme: Theme) -> Line<'static> {
    Line::styled(text, theme.role_style(StyleRole::Faint))
}

/// What an administrator recognizes a process by.
fn process_lines(process: &ProcessTarget, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let user = process.user.as_deref().unwrap_or("n/a");
    let mut lines = vec![Line::raw(format!("PID {}, user {user}", process.id.pid))];
    let mut command = wrap_text(&process.command, width);
    if command.len() > MAX_COMMAND_ROWS {
        let rest = command.split_off(MAX_COMMAND_ROWS - 1).join(" ");
        command.push(cut_end(&rest, width, theme));
    }
    lines.extend(command.into_iter().map(Line::raw));
    lines
}

/// The keys of the dialog.
fn keys_line(dialog: &Dialog, theme: Theme) -> Line<'static> {
    let keys: &[(&str, &str)] = match dialog {
        Dialog::Help => &[],
        Dialog::ConfirmQuit => &[("y, Enter", "quit"), ("n, Esc", "cancel")],
        Dialog::ConfirmProcessAction(_, action) if action.is_destructive() => {
            &[("y", "confirm (Enter does not)"), ("n, Esc", "cancel")]
        }
        Dialog::ConfirmAccounting | Dialog::ConfirmProcessAction(..) => {
            &[("y, Enter", "confirm"), ("n, Esc", "cancel")]
        }
        Dialog::ChooseProcessAction(..) => &[("Esc", "cancel")],
    };
    let mut line = Line::default();
    for (key, does) in keys {
        line.push_span(Span::styled(*key, theme.role_style(StyleRole::Title)));
        line.push_span(Span::styled(
            format!(" {does}   "),
            theme.role_style(StyleRole::Faint),
        ));
    }
    line
}
