//! Draws the Why screen.
//!
//! ```text
//!  WHY   10 s watched until 2026-11-21 18:02:11 UTC                          problem found
//!  cp (backup.service) waits ...                <- the causes, if there are several
//!
//!  postgres on vg0-data waits 41 ms per write because sda is saturated by cp.
//!    evidence   sda: w_await 41 ms                         /proc/diskstats
//!    do         I/O class idle for all threads, which the scheduler bfq heeds ...:
//!                 ps -L -p 4711 -o lwp= | xargs -n 1 ionice -c 3 -p
//!    ruled out  ...
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::tui::screens::why::state::WhyState;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::{split_heading, with_side_margins};
use crate::tui::widgets::command::command_lines;
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::{cut_end, right_aligned, wrap_text};
use crate::ui::live::timeline;
use crate::units;
use crate::why::{Cause, Diagnosis, Severity};
use crate::why::{Entry, cause_entries, machine_entries, remainder_entries};

/// Columns before the values of an entry.
const INDENT: u16 = 15;
/// Columns of the code in the list of causes.
const CODE_WIDTH: usize = 23;

/// Draws the screen.
pub(super) fn draw(why: &WhyState, live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let mut area = with_side_margins(area);
    timeline::draw_below(live, theme, &mut area, buf);
    why.viewport.clear_extent();
    let Some(diagnosis) = &why.diagnosis else {
        let text = match live.timeline.is_some() {
            true => "the snapshots up to here have no rates",
            false => "watching: the first conclusion follows after a few seconds",
        };
        Line::styled(text, theme.role_style(StyleRole::Faint)).render(area, buf);
        return;
    };
    let (top, below) = split_heading(area);
    draw_heading(why, diagnosis, theme, top, buf);
    let lines = page(why, diagnosis, below.width, theme);
    scrolled::draw(lines, &why.viewport, theme, below, buf);
}

/// Style of what is this serious.
fn severity_role(severity: Severity) -> StyleRole {
    match severity {
        Severity::Note => StyleRole::Plain,
        Severity::Warning => StyleRole::Warning,
        Severity::Critical => StyleRole::Error,
    }
}

fn draw_heading(why: &WhyState, diagnosis: &Diagnosis, theme: Theme, area: Rect, buf: &mut Buffer) {
    let watched = units::format_wait(diagnosis.window);
    let time = units::format_time(&diagnosis.time);
    let mut line = Line::from(vec![
        Span::styled("WHY", theme.role_style(StyleRole::Title)),
        Span::raw(format!("   {watched} watched until {time}")),
    ]);
    if why.is_held {
        line.push_span(Span::styled(
            "   frozen",
            theme.role_style(StyleRole::Warning),
        ));
    }
    if let Some(device) = &why.traced_device {
        line.push_span(format!("   traces {device}"));
    } else if why.wants_trace {
        line.push_span("   traces the first busy device");
    }
    line.render(area, buf);
    let role = match diagnosis.causes.first() {
        Some(cause) if diagnosis.is_problem() => severity_role(cause.severity),
        _ => StyleRole::Success,
    };
    right_aligned(diagnosis.verdict(), theme.role_style(role)).render(area, buf);
}

fn page(why: &WhyState, diagnosis: &Diagnosis, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let selected = why.selected_index();
    let mut lines = Vec::new();
    if diagnosis.causes.len() > 1 {
        let rows = diagnosis.causes.iter().enumerate();
        lines.extend(rows.map(|(index, cause)| cause_row(cause, index == selected, width, theme)));
        lines.push(Line::default());
    }
    let cause = diagnosis.causes.get(selected);
    let (sentence, role) = match cause {
        Some(cause) if selected > 0 => (cause.sentence.clone(), severity_role(cause.severity)),
        Some(cause) => (diagnosis.conclusion(), severity_role(cause.severity)),
        None => (diagnosis.conclusion(), StyleRole::Success),
    };
    let style = theme.role_style(role);
    let sentence = wrap_text(&sentence, width).into_iter();
    lines.extend(sentence.map(|line| Line::styled(line, style)));
    let mut entries = match diagnosis.is_problem() {
        true => Vec::new(),
        false => machine_entries(diagnosis),
    };
    if let Some(cause) = cause {
        entries.extend(cause_entries(cause, diagnosis));
    }
    entries.extend(remainder_entries(diagnosis));
    lines.extend(entry_lines(&entries, width, theme));
    lines
}

/// A cause in the list.
fn cause_row(cause: &Cause, is_selected: bool, width: u16, theme: Theme) -> Line<'static> {
    let pointer = match is_selected {
        true => theme.glyphs().pointer,
        false => ' ',
    };
    let code = cause.code;
    let why = cause
        .consequence_of
        .map_or_else(String::new, |other| format!("(because of {}) ", other));
    let text = format!("{why}{}", cause.headline());
    let room = width.saturating_sub(CODE_WIDTH as u16 + 3);
    Line::from(vec![
        Span::styled(
            format!("{pointer} {code:<CODE_WIDTH$} "),
            theme.role_style(severity_role(cause.severity)),
        ),
        Span::raw(cut_end(&text, room, theme)),
    ])
}

/// The entries; a title stands before the first of its kind.
fn entry_lines(entries: &[Entry], width: u16, theme: Theme) -> Vec<Line<'static>> {
    let room = width.saturating_sub(INDENT);
    let mut lines = Vec::new();
    let mut last = "";
    for entry in entries {
        let mut title = if last == entry.title { "" } else { entry.title };
        last = entry.title;
        for mut line in value_lines(entry, room, theme) {
            let blank = usize::from(INDENT) - 2;
            let before = format!("  {title:<blank$}");
            let before = Span::styled(before, theme.role_style(StyleRole::Faint));
            line.spans.insert(0, before);
            lines.push(line);
            title = "";
        }
    }
    lines
}

/// The lines of one entry, of a command with what it does above.
fn value_lines(entry: &Entry, width: u16, theme: Theme) -> Vec<Line<'static>> {
    let style = theme.role_style(if entry.is_remainder {
        StyleRole::Faint
    } else {
        StyleRole::Plain
    });
    let lines = entry.lines(usize::from(width)).into_iter();
    let mut lines: Vec<Line> = lines
        .map(|it| Line::from(Span::styled(it, style)))
        .collect();
    let command_style = theme.role_style(StyleRole::Title);
    lines.extend(
        entry.command.iter().flat_map(|command| {
            command_lines(command, "diskscope why", width, command_style, theme)
        }),
    );
    lines
}

/// Draws the line about a problem at the top of the Live screen.
pub fn draw_problem_line(cause: &Cause, theme: Theme, area: Rect, buf: &mut Buffer) {
    let hint = Line::from(vec![
        Span::styled("5", theme.role_style(StyleRole::Title)),
        Span::styled(" why ", theme.role_style(StyleRole::Faint)),
    ]);
    let room = area.width.saturating_sub(hint.width() as u16 + 4);
    let text = cut_end(cause.headline(), room, theme);
    let style = theme.role_style(severity_role(cause.severity));
    Line::from(Span::styled(format!(" ! {text}"), style)).render(area, buf);
    hint.right_aligned().render(area, buf);
}
