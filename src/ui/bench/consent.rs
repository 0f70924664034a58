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

use crate::app::consent::{DrawnLines, OverwriteQuestion};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::{cut_start, prompted_input_line, wrap_text};
use crate::ui::bench::forecast::cost_lines;

/// Longer lines are hard to read.
const MAX_WIDTH: u16 = 100;
/// Columns of the longest path that is repeated.
const MAX_REPEATED_PATH: usize = 32;
/// Facts that identify the device or file; the others describe its content.
const IDENTITY_LINES: usize = 2;
/// Begin of the title.
const TITLE: &str = "OVERWRITE ";
/// Rows of a title that is not cut.
const MAX_TITLE_ROWS: usize = 2;
/// Prompt before the typed path.
const PROMPT: &str = "path: ";
/// Rows below the prompt: the field, and the last mistake.
const FIELD_HEIGHT: usize = 2;
/// Shown in place of the field while lines are below that the path consents to.
const SCROLL_ADVICE: &str = "The path can be typed once all that is lost was shown: scroll with \
                             Down or PageDown";

/// The lines that scroll.
struct ScrolledLines {
    lines: Vec<Line<'static>>,
    /// How many of them, from the first one, the typed path consents to.
    required: usize,
}

/// Draws the question: the title, lines that scroll where they do not fit, and the field. The field
/// takes text once the last signature was on the screen.
pub(super) fn draw(question: &OverwriteQuestion, theme: Theme, area: Rect, buf: &mut Buffer) {
    let area = Rect {
        width: area.width.min(MAX_WIDTH),
        ..area
    };
    let title = title_lines(question, theme, area.width);
    let takes_path = question.impact.is_some() && !question.is_refused();
    let field_height = match takes_path {
        true => prompt_lines(question, theme, area.width).len() + FIELD_HEIGHT,
        false => 0,
    };
    let scrolled = scrolled_lines(question, theme, area.width);
    let room = usize::from(area.height).saturating_sub(title.len() + field_height + 2);
    let [top, _, middle, _, bottom, _] = Layout::vertical([
        Constraint::Length(title.len() as u16),
        Constraint::Length(1),
        Constraint::Length(scrolled.lines.len().min(room) as u16),
        Constraint::Length(1),
        Constraint::Length(field_height as u16),
        Constraint::Fill(1),
    ])
    .areas(area);
    draw_lines(title, top, buf);
    let viewport = &question.facts.viewport;
    viewport.clear_extent();
    let drawn = scrolled::draw(scrolled.lines, viewport, theme, middle, buf);
    if !takes_path {
        return;
    }
    let is_shown = question.facts.record_drawn(DrawnLines {
        width: area.width,
        first: drawn.start,
        end: drawn.end,
        required: scrolled.required,
    });
    let lines = match is_shown {
        true => field_lines(question, theme, area.width),
        false => wrapped_lines(SCROLL_ADVICE, area.width, theme, StyleRole::Warning),
    };
    draw_lines(lines, bottom, buf);
}

fn draw_lines(lines: Vec<Line<'static>>, area: Rect, buf: &mut Buffer) {
    for (row, line) in area.rows().zip(lines) {
        line.render(row, buf);
    }
}

/// The path and the benchmark. A path that is too long is cut: it is in the lines that scroll.
fn title_lines(question: &OverwriteQuestion, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let benchmark = format!("   {}", question.benchmark_name());
    let title = format!("{TITLE}{}{benchmark}", question.path());
    if usize::from(width) < title.width() && !is_cut(question, width) {
        return wrapped_lines(&title, width, theme, StyleRole::Error);
    }
    let room = usize::from(width).saturating_sub(TITLE.width() + benchmark.width());
    vec![Line::from(vec![
        Span::styled(TITLE, theme.role_style(StyleRole::Error)),
        Span::styled(
            cut_start(question.path(), room as u16, theme),
            theme.role_style(StyleRole::Title),
        ),
        Span::styled(benchmark, theme.role_style(StyleRole::Faint)),
    ])]
}

/// Whether the title has no room for the whole path.
fn is_cut(question: &OverwriteQuestion, width: u16) -> bool {
    let title = format!("{TITLE}{}   {}", question.path(), question.benchmark_name());
    wrap_text(&title, width).len() > MAX_TITLE_ROWS
}

/// Why it is refused, what the benchmark would do, and what would be lost.
fn scrolled_lines(question: &OverwriteQuestion, theme: Theme, width: u16) -> ScrolledLines {
    let mut lines = forecast_lines(question, theme, width);
    if let Some(refusal) = refusal(question) {
        let mut refusal = wrapped_lines(&refusal, width, theme, StyleRole::Error);
        refusal.push(Line::default());
        lines.splice(0..0, refusal);
    }
    if is_cut(question, width) {
        let path = format!("path {}", question.path());
        lines.splice(0..0, wrapped_lines(&path, width, theme, StyleRole::Plain));
    }
    lines.push(Line::default());
    let impact = impact_lines(question, theme, width);
    let before = lines.len();
    lines.extend(impact.lines);
    ScrolledLines {
        required: before + impact.required,
        lines,
    }
}

/// What the benchmark will do.
fn forecast_lines(question: &OverwriteQuestion, theme: Theme, width: u16) -> Vec<Line<'static>> {
    // The path is shown above: a long one is not repeated, because the facts need the space.
    let mut sentence = question.forecast.sentence.clone();
    if !is_short(question.path()) {
        sentence = sentence.replace(question.path(), "it");
    }
    let mut lines = wrapped_lines(&sentence, width, theme, StyleRole::Plain);
    let cost = cost_lines(&question.forecast).join(", ");
    lines.extend(wrapped_lines(&cost, width, theme, StyleRole::Faint));
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

/// What would be lost: identity of the target, its signatures, then all other facts. The typed path
/// consents to the identity and the signatures.
fn impact_lines(question: &OverwriteQuestion, theme: Theme, width: u16) -> ScrolledLines {
    let title = |text: &'static str| Line::styled(text, theme.role_style(StyleRole::Title));
    let mut lines = vec![title("Current contents")];
    let indented = |text: &str, role| indented_lines(text, width, theme, role);
    let impact = match &question.impact {
        Some(Ok(impact)) => impact,
        unknown => {
            lines.extend(indented(
                match unknown {
                    None => "examining the target",
                    Some(_) => "n/a",
                },
                StyleRole::Faint,
            ));
            let required = lines.len();
            return ScrolledLines { lines, required };
        }
    };
    let line = |fact: &String| indented(fact, StyleRole::Plain);
    let (first, rest) = impact
        .target_facts
        .split_at(impact.target_facts.len().min(IDENTITY_LINES));
    lines.extend(first.iter().flat_map(line));
    if impact.signatures.is_empty() {
        lines.extend(indented("no known signature found", StyleRole::Plain));
    } else {
        lines.push(title(match &impact.medium {
            Ok(_) => "Signatures that will be lost",
            Err(_) => "Signatures",
        }));
        lines.extend(indented(&impact.signatures.join("; "), StyleRole::Warning));
    }
    let required = lines.len();
    lines.extend(rest.iter().flat_map(line));
    ScrolledLines { lines, required }
}

/// Why the target cannot be overwritten.
fn refusal(question: &OverwriteQuestion) -> Option<String> {
    match question.impact.as_ref()? {
        Err(error) => Some(format!("{error}; {}", error.advice())),
        Ok(impact) => {
            let refusal = impact.medium.as_ref().err()?;
            Some(format!("{refusal}; {}", refusal.advice()))
        }
    }
}

/// What the path is typed for.
fn prompt_lines(question: &OverwriteQuestion, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let mut prompt = "Overwritten data cannot be recovered. Type the path to start".to_owned();
    if is_short(question.path()) {
        prompt = format!("{prompt}: {}", question.path());
    }
    wrapped_lines(&prompt, width, theme, StyleRole::Plain)
}

/// The prompt, the field and the last mistake.
fn field_lines(question: &OverwriteQuestion, theme: Theme, width: u16) -> Vec<Line<'static>> {
    let mut lines = prompt_lines(question, theme, width);
    lines.push(prompted_input_line(
        PROMPT,
        &question.typed_path,
        width,
        theme,
    ));
    let mistake = if question.is_mistyped {
        "the path does not match: nothing was started"
    } else {
        ""
    };
    lines.push(Line::styled(mistake, theme.role_style(StyleRole::Error)));
    lines
}
