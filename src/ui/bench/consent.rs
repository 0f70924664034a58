//! The consent dialog before a target is overwritten.
//!
//! ```text
//!  OVERWRITE /dev/disk/by-id/usb-SanDisk_Ultra_4C5300   random-write
//!
//!  writes 4 KiB at random places of it, 32 in flight, at most 1.07 GB (2 % of it)
//!  takes up to 10 s, writes 1.07 GB
//!
//!  Current contents
//!    -> /dev/sdb, sdb (8:16), 61.5 GB
//!    model SanDisk Ultra, serial 4C5300
//!  Signatures that will be lost
//!    dos; vfat (partition 1)
//!    partition sdb1, 61.5 GB, vfat
//!
//!  Overwritten data cannot be recovered. Type the path to start
//!  path: /dev/d_
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::app::consent::OverwriteQuestion;
use crate::drive::OverwriteImpact;
use crate::ui::bench::forecast::cost_lines;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::text::{input_line, wrap_text};

/// Longer lines are hard to read.
const MAX_WIDTH: u16 = 100;
/// Columns of the longest path that is repeated.
const MAX_REPEATED_PATH: usize = 32;
/// Facts that identify the device or file; the others describe its content.
const IDENTITY_LINES: usize = 2;
/// Prompt before the typed path.
const PROMPT: &str = "path: ";

/// Draws the question.
pub(super) fn draw(question: &OverwriteQuestion, theme: Theme, area: Rect, buf: &mut Buffer) {
    let area = Rect {
        width: area.width.min(MAX_WIDTH),
        ..area
    };
    let head = title_lines(question, theme, area.width);
    let answer = input_lines(question, theme, area.width);
    let facts = impact_lines(question, theme, area.width);
    // The facts are shortened: the question and the input field are always visible.
    let room = usize::from(area.height).saturating_sub(head.len() + answer.len() + 2);
    let facts = fitting_lines(facts, room, theme);
    let [top, _, middle, _, bottom, _] = Layout::vertical([
        Constraint::Length(head.len() as u16),
        Constraint::Length(1),
        Constraint::Length(facts.len() as u16),
        Constraint::Length(1),
        Constraint::Length(answer.len() as u16),
        Constraint::Fill(1),
    ])
    .areas(area);
    for (part, lines) in [(top, head), (middle, facts), (bottom, answer)] {
        for (row, line) in part.rows().zip(lines) {
            line.render(row, buf);
        }
    }
}

/// What the job will do.
fn title_lines(question: &OverwriteQuestion, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let title = format!(
        "OVERWRITE {}   {}",
        question.path(),
        question.benchmark_name()
    );
    let mut lines = match u16::try_from(title.width()).is_ok_and(|title| title <= width) {
        true => vec![Line::from(vec![
            Span::styled("OVERWRITE ", theme.role_style(StyleRole::Error)),
            Span::styled(
                question.path().to_owned(),
                theme.role_style(StyleRole::Title),
            ),
            Span::styled(
                format!("   {}", question.benchmark_name()),
                theme.role_style(StyleRole::Faint),
            ),
        ])],
        false => wrapped_lines(&title, width, theme, StyleRole::Error),
    };
    lines.push(Line::default());
    // The path is shown above: a long one is not repeated, because the facts need the space.
    let mut sentence = question.forecast.sentence.clone();
    if !is_short(question.path()) {
        sentence = sentence.replace(question.path(), "it");
    }
    lines.extend(wrap_text(&sentence, width).into_iter().map(Line::raw));
    let cost = cost_lines(&question.forecast).join(", ");
    lines.push(Line::styled(cost, theme.role_style(StyleRole::Faint)));
    lines
}

/// Whether a path can be repeated in a sentence.
fn is_short(path: &str) -> bool {
    path.width() <= MAX_REPEATED_PATH
}

/// A text wrapped to as many lines as needed.
fn wrapped_lines(text: &str, width: u16, theme: Theme, role: StyleRole) -> Vec<Line<'static>> {
    let lines = wrap_text(text, width).into_iter();
    lines
        .map(|line| Line::styled(line, theme.role_style(role)))
        .collect()
}

/// A text wrapped to as many lines as needed, indented.
fn indented_lines(text: &str, width: u16, theme: Theme, role: StyleRole) -> Vec<Line<'static>> {
    let lines = wrap_text(text, width.saturating_sub(2)).into_iter();
    lines
        .map(|line| Line::styled(format!("  {line}"), theme.role_style(role)))
        .collect()
}

/// What would be lost: identity of the target, its signatures, then all other facts.
fn impact_lines(question: &OverwriteQuestion, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let title = |text: &'static str| Line::styled(text, theme.role_style(StyleRole::Title));
    let mut lines = vec![title("Current contents")];
    let impact = match &question.impact {
        None => {
            lines.extend(indented_lines(
                "examining the target",
                width,
                theme,
                StyleRole::Faint,
            ));
            return lines;
        }
        Some(Err(_)) => {
            lines.extend(indented_lines("n/a", width, theme, StyleRole::Faint));
            return lines;
        }
        Some(Ok(impact)) => impact,
    };
    let line = |fact: &String| indented_lines(fact, width, theme, StyleRole::Plain);
    let (first, rest) = impact
        .target_facts
        .split_at(impact.target_facts.len().min(IDENTITY_LINES));
    lines.extend(first.iter().flat_map(line));
    if impact.signatures.is_empty() {
        lines.extend(indented_lines(
            "no known signature found",
            width,
            theme,
            StyleRole::Plain,
        ));
    } else {
        lines.push(title(match &impact.medium {
            Ok(_) => "Signatures that will be lost",
            Err(_) => "Signatures",
        }));
        let list = impact.signatures.join("; ");
        lines.extend(indented_lines(&list, width, theme, StyleRole::Warning));
    }
    lines.extend(rest.iter().flat_map(line));
    lines
}

/// The lines that fit, with a count of the missing ones.
fn fitting_lines(mut lines: Vec<Line<'static>>, height: usize, theme: Theme) -> Vec<Line<'static>> {
    if lines.len() > height && height > 0 {
        let missing = lines.len() - height + 1;
        lines.truncate(height - 1);
        let text = format!("  +{missing} more lines: see `diskscope devices`");
        lines.push(Line::styled(text, theme.role_style(StyleRole::Warning)));
    }
    lines.truncate(height);
    lines
}

/// The input field for the path, or why there is none.
fn input_lines(question: &OverwriteQuestion, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let paragraph = |text: &str, role| wrapped_lines(text, width, theme, role);
    match &question.impact {
        None => Vec::new(),
        Some(Err(error)) => paragraph(&format!("{error}; {}", error.advice()), StyleRole::Error),
        Some(Ok(OverwriteImpact {
            medium: Err(refusal),
            ..
        })) => paragraph(
            &format!("{refusal}; {}", refusal.advice()),
            StyleRole::Error,
        ),
        Some(Ok(_)) => {
            let mut prompt =
                "Overwritten data cannot be recovered. Type the path to start".to_owned();
            if is_short(question.path()) {
                prompt = format!("{prompt}: {}", question.path());
            }
            let mut lines = paragraph(&prompt, StyleRole::Plain);
            let mut field = Line::from(Span::styled(PROMPT, theme.role_style(StyleRole::Title)));
            let room = width.saturating_sub(PROMPT.len() as u16);
            field.extend(input_line(
                &question.typed_path,
                room,
                theme,
                theme.role_style(StyleRole::Plain),
            ));
            lines.push(field);
            let mistake = if question.is_mistyped {
                "the path does not match: nothing was started"
            } else {
                ""
            };
            lines.push(Line::styled(mistake, theme.role_style(StyleRole::Error)));
            lines
        }
    }
}
