//! The question before something is overwritten.
//!
//! ```text
//!  OVERWRITE /dev/sdb
//!  writes 4 KiB at random places of /dev/sdb, at most 1.07 GB (2 % of it)
//!
//!  What is there now
//!    /dev/sdb, 61.5 GB
//!    model SanDisk Ultra, serial 4C5300
//!    partition sdb1, 61.5 GB, vfat
//!
//!  What is written over is lost. Type /dev/sdb to start.
//!  path: /dev/s_
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::forecast::cost;
use crate::app::consent::{Consent, Stakes};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::text::{cut_end, typed, wrapped};

/// Longer lines are hard to follow.
const WIDEST: u16 = 100;
/// What stands before the path that is typed.
const PROMPT: &str = "path: ";

/// Draws it.
pub(super) fn draw(consent: &Consent, look: Look, area: Rect, buf: &mut Buffer) {
    let area = Rect {
        width: area.width.min(WIDEST),
        ..area
    };
    let head = head(consent, look, area.width);
    let answer = answer(consent, look, area.width);
    let facts = facts(consent, look, area.width);
    let [top, _, middle, _, bottom, _] = Layout::vertical([
        Constraint::Length(head.len() as u16),
        Constraint::Length(1),
        Constraint::Length(facts.len() as u16),
        Constraint::Length(1),
        Constraint::Length(answer.len() as u16),
        Constraint::Fill(1),
    ])
    .areas(area);
    let fitting = fitting(facts, usize::from(middle.height), look);
    for (part, lines) in [(top, head), (middle, fitting), (bottom, answer)] {
        for (row, line) in part.rows().zip(lines) {
            line.render(row, buf);
        }
    }
}

/// What shall be done.
fn head(consent: &Consent, look: Look, width: u16) -> Vec<Line<'static>> {
    let mut lines = vec![
        Line::from(vec![
            Span::styled("OVERWRITE ", look.style(Meaning::Trouble)),
            Span::styled(consent.path().to_owned(), look.style(Meaning::Title)),
            Span::styled(format!("   {}", consent.test()), look.style(Meaning::Faint)),
        ]),
        Line::default(),
    ];
    let sentence = wrapped(&consent.forecast.sentence, width).into_iter();
    lines.extend(sentence.map(Line::raw));
    let cost = cost(&consent.forecast).join(", ");
    lines.push(Line::styled(cost, look.style(Meaning::Faint)));
    lines
}

/// What would be lost.
fn facts(consent: &Consent, look: Look, width: u16) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(
        "What is there now",
        look.style(Meaning::Title),
    )];
    match &consent.stakes {
        None => lines.push(Line::styled("  looking", look.style(Meaning::Faint))),
        Some(Err(_)) => lines.push(Line::styled("  n/a", look.style(Meaning::Faint))),
        Some(Ok(stakes)) => {
            let facts = stakes.facts.iter();
            lines.extend(
                facts.map(|fact| Line::raw(format!("  {}", cut_end(fact, width - 2, look)))),
            );
        }
    }
    lines
}

/// The lines that there is room for; how many are missing is said.
fn fitting(mut lines: Vec<Line<'static>>, height: usize, look: Look) -> Vec<Line<'static>> {
    if lines.len() > height && height > 0 {
        let missing = lines.len() - height + 1;
        lines.truncate(height - 1);
        let text = format!("  and {missing} more: see `diskscope devices`");
        lines.push(Line::styled(text, look.style(Meaning::Waiting)));
    }
    lines
}

/// The field for the path, or why there is none.
fn answer(consent: &Consent, look: Look, width: u16) -> Vec<Line<'static>> {
    let paragraph = |text: &str, meaning| {
        let lines = wrapped(text, width).into_iter();
        lines.map(move |line| Line::styled(line, look.style(meaning)))
    };
    match &consent.stakes {
        None => Vec::new(),
        Some(
            Err(reason)
            | Ok(Stakes {
                refusal: Some(reason),
                ..
            }),
        ) => paragraph(reason, Meaning::Trouble).collect(),
        Some(Ok(_)) => {
            let question = format!(
                "What is written over is lost for good. Type the path to start: {}",
                consent.path()
            );
            let mut lines: Vec<_> = paragraph(&question, Meaning::Plain).collect();
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
