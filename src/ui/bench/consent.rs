//! The question before something is overwritten.
//!
//! ```text
//!  OVERWRITE /dev/disk/by-id/usb-SanDisk_Ultra_4C5300   random-write
//!
//!  writes 4 KiB at random places of it, 32 in flight, at most 1.07 GB (2 % of it)
//!  takes up to 10 s, writes 1.07 GB
//!
//!  What is there now
//!    -> /dev/sdb, sdb (8:16), 61.5 GB
//!    model SanDisk Ultra, serial 4C5300
//!  Signatures that are lost
//!    dos; vfat (partition 1)
//!    partition sdb1, 61.5 GB, vfat
//!
//!  What is written over is lost for good. Type the path to start
//!  path: /dev/d_
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use super::forecast::cost;
use crate::app::consent::{OverwriteQuestion, Stakes};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::text::{typed, wrapped};

/// Longer lines are hard to follow.
const WIDEST: u16 = 100;
/// Columns of the longest path that is told more than once.
const LONGEST_REPEATED: usize = 32;
/// Facts that tell which device or file it is; the others tell what is on it.
const IDENTITY_LINES: usize = 2;
/// What stands before the path that is typed.
const PROMPT: &str = "path: ";

/// Draws it.
pub(super) fn draw(consent: &OverwriteQuestion, look: Look, area: Rect, buf: &mut Buffer) {
    let area = Rect {
        width: area.width.min(WIDEST),
        ..area
    };
    let head = head(consent, look, area.width);
    let answer = answer(consent, look, area.width);
    let facts = facts(consent, look, area.width);
    // The facts give way: what is asked, and the field for the answer, are always seen.
    let room = usize::from(area.height).saturating_sub(head.len() + answer.len() + 2);
    let facts = fitting(facts, room, look);
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

/// What shall be done.
fn head(consent: &OverwriteQuestion, look: Look, width: u16) -> Vec<Line<'static>> {
    let title = format!("OVERWRITE {}   {}", consent.path(), consent.test());
    let mut lines = match u16::try_from(title.width()).is_ok_and(|title| title <= width) {
        true => vec![Line::from(vec![
            Span::styled("OVERWRITE ", look.style(Meaning::Trouble)),
            Span::styled(consent.path().to_owned(), look.style(Meaning::Title)),
            Span::styled(format!("   {}", consent.test()), look.style(Meaning::Faint)),
        ])],
        false => styled(&title, width, look, Meaning::Trouble),
    };
    lines.push(Line::default());
    // The path is told above: a long one is not told twice, or what is lost has no room.
    let mut sentence = consent.forecast.sentence.clone();
    if !is_short(consent.path()) {
        sentence = sentence.replace(consent.path(), "it");
    }
    lines.extend(wrapped(&sentence, width).into_iter().map(Line::raw));
    let cost = cost(&consent.forecast).join(", ");
    lines.push(Line::styled(cost, look.style(Meaning::Faint)));
    lines
}

/// Whether a path can be repeated in a sentence.
fn is_short(path: &str) -> bool {
    path.width() <= LONGEST_REPEATED
}

/// A text over as many lines as it needs.
fn styled(text: &str, width: u16, look: Look, meaning: Meaning) -> Vec<Line<'static>> {
    let lines = wrapped(text, width).into_iter();
    lines
        .map(|line| Line::styled(line, look.style(meaning)))
        .collect()
}

/// A text over as many lines as it needs, further to the right.
fn indented(text: &str, width: u16, look: Look, meaning: Meaning) -> Vec<Line<'static>> {
    let lines = wrapped(text, width.saturating_sub(2)).into_iter();
    lines
        .map(|line| Line::styled(format!("  {line}"), look.style(meaning)))
        .collect()
}

/// What would be lost: what it is first, then its signatures, then everything else.
fn facts(consent: &OverwriteQuestion, look: Look, width: u16) -> Vec<Line<'static>> {
    let title = |text: &'static str| Line::styled(text, look.style(Meaning::Title));
    let mut lines = vec![title("What is there now")];
    let stakes = match &consent.stakes {
        None => {
            lines.extend(indented("looking", width, look, Meaning::Faint));
            return lines;
        }
        Some(Err(_)) => {
            lines.extend(indented("n/a", width, look, Meaning::Faint));
            return lines;
        }
        Some(Ok(stakes)) => stakes,
    };
    let line = |fact: &String| indented(fact, width, look, Meaning::Plain);
    let (first, rest) = stakes
        .facts
        .split_at(stakes.facts.len().min(IDENTITY_LINES));
    lines.extend(first.iter().flat_map(line));
    if stakes.signatures.is_empty() {
        lines.extend(indented(
            "no known signature in its bytes",
            width,
            look,
            Meaning::Plain,
        ));
    } else {
        lines.push(title(match &stakes.medium {
            Ok(_) => "Signatures that are lost",
            Err(_) => "Signatures",
        }));
        let list = stakes.signatures.join("; ");
        lines.extend(indented(&list, width, look, Meaning::Waiting));
    }
    lines.extend(rest.iter().flat_map(line));
    lines
}

/// The lines that there is room for; how many are missing is said.
fn fitting(mut lines: Vec<Line<'static>>, height: usize, look: Look) -> Vec<Line<'static>> {
    if lines.len() > height && height > 0 {
        let missing = lines.len() - height + 1;
        lines.truncate(height - 1);
        let text = format!("  +{missing} more lines: see `diskscope devices`");
        lines.push(Line::styled(text, look.style(Meaning::Waiting)));
    }
    lines.truncate(height);
    lines
}

/// The field for the path, or why there is none.
fn answer(consent: &OverwriteQuestion, look: Look, width: u16) -> Vec<Line<'static>> {
    let paragraph = |text: &str, meaning| styled(text, width, look, meaning);
    match &consent.stakes {
        None => Vec::new(),
        Some(
            Err(reason)
            | Ok(Stakes {
                medium: Err(reason),
                ..
            }),
        ) => paragraph(reason, Meaning::Trouble),
        Some(Ok(_)) => {
            let mut question =
                "What is written over is lost for good. Type the path to start".to_owned();
            if is_short(consent.path()) {
                question = format!("{question}: {}", consent.path());
            }
            let mut lines = paragraph(&question, Meaning::Plain);
            let mut field = Line::from(Span::styled(PROMPT, look.style(Meaning::Title)));
            let room = width.saturating_sub(PROMPT.len() as u16);
            field.extend(typed(&consent.text, room, look, look.style(Meaning::Plain)));
            lines.push(field);
            let mistake = if consent.mistyped {
                "this is not that path: nothing was started"
            } else {
                ""
            };
            lines.push(Line::styled(mistake, look.style(Meaning::Trouble)));
            lines
        }
    }
}
