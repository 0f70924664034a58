//! The Requests screen.
//!
//! ```text
//!  sda   1 204 requests/s   48 112 in 41 s   3 under way          <- which, how many, what is missing
//!  REQUESTS    count   size   queue   drive    p50    p99    max  <- by operation
//!  how long, last minute        | where, last minute              <- heat map, scatter
//!  WHO          requests  read  written   mean
//!  LATEST   process   operation   sector   size  queue  drive     <- the newest first
//! ```

mod heat;
mod list;
mod operations;
mod scatter;
mod who;

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Widget, Wrap};

use super::live::timeline;
use super::look::{Look, Meaning};
use super::widgets::text::{grouped, typed};
use crate::app::State;
use crate::app::requests::RequestsState;
use crate::model::requests::RequestsView;
use crate::units;

/// Operations that are listed at most.
const OPERATIONS: u16 = 4;

/// Draws it.
pub(super) fn draw(state: &State, look: Look, area: Rect, buf: &mut Buffer) {
    let requests = &state.requests;
    let mut area = Rect::new(
        area.x + 1,
        area.y,
        area.width.saturating_sub(2),
        area.height,
    );
    timeline::below(&state.live, look, &mut area, buf);
    let Some(view) = &requests.view else {
        let is_recording = state.live.timeline.is_some();
        return without(requests, is_recording, look, area, buf);
    };
    let operations = u16::try_from(view.operations.len())
        .unwrap_or(u16::MAX)
        .clamp(1, OPERATIONS);
    let tall = area.height >= 30;
    let who = if tall { 6 } else { 3 };
    let [top, table, _, pictures, _, people, _, latest] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1 + operations),
        Constraint::Length(u16::from(tall)),
        Constraint::Length(if tall { 13 } else { 7 }),
        Constraint::Length(u16::from(tall)),
        Constraint::Length(who),
        Constraint::Length(u16::from(tall)),
        Constraint::Min(2),
    ])
    .areas(area);
    heading(requests, view, look).render(top, buf);
    operations::draw(view, look, table, buf);
    let [left, _, right] = Layout::horizontal([
        Constraint::Fill(1),
        Constraint::Length(2),
        Constraint::Fill(1),
    ])
    .areas(pictures);
    heat::draw(view, look, left, buf);
    scatter::draw(view, look, right, buf);
    who::draw(view, look, people, buf);
    list::draw(requests, view, look, latest, buf);
    if requests.filtering {
        let row = Rect::new(area.x, latest.y, area.width, 1);
        let mut line = Line::styled("filter: ", look.style(Meaning::Title));
        line.spans.extend(
            typed(
                &requests.filter,
                area.width.saturating_sub(8),
                look,
                Style::new(),
            )
            .spans,
        );
        buf.set_style(row, Style::reset());
        line.render(row, buf);
    }
}

/// Nothing to show yet, or nothing to be had, and what works nevertheless.
fn without(requests: &RequestsState, is_recording: bool, look: Look, area: Rect, buf: &mut Buffer) {
    let faint = |text: &str| vec![Line::styled(text.to_owned(), look.style(Meaning::Faint))];
    let lines = match (&requests.refused, &requests.device) {
        _ if is_recording => faint("no request in the minute before this view"),
        (Some([message, advice]), _) => vec![
            Line::styled(message.clone(), look.style(Meaning::Waiting)),
            Line::raw(""),
            Line::raw(advice.clone()),
        ],
        (None, Some(device)) => faint(&format!("waiting for requests of {device}")),
        (None, None) => faint("no device is known yet: press the right arrow to choose one"),
    };
    Paragraph::new(lines)
        .wrap(Wrap { trim: true })
        .render(area, buf);
}

fn heading(requests: &RequestsState, view: &RequestsView, look: Look) -> Line<'static> {
    let seconds = view.until.saturating_sub(view.began) as f64 / 1e9;
    let mut facts = vec![Span::styled(
        view.device.clone(),
        look.style(Meaning::Title),
    )];
    if let Some(rate) = view.per_second {
        facts.push(Span::raw(format!("{} requests/s", grouped(rate))));
    }
    let lasted = units::waiting(std::time::Duration::from_secs_f64(seconds));
    let count = grouped(view.requests as f64);
    facts.push(Span::raw(format!("{count} in {lasted}")));
    facts.push(Span::raw(format!("{} under way", view.under_way)));
    if view.lost > 0 {
        let text = format!("{} EVENTS LOST: figures too low", grouped(view.lost as f64));
        facts.push(Span::styled(text, look.style(Meaning::Trouble)));
    }
    if requests.held {
        facts.push(Span::styled("held", look.style(Meaning::Waiting)));
    }
    let mut line = Line::default();
    for fact in facts {
        if !line.spans.is_empty() {
            line.push_span("   ");
        }
        line.push_span(fact);
    }
    line
}

/// A time, or a dash where it is not known.
fn time(nanoseconds: Option<f64>, look: Look) -> Line<'static> {
    match nanoseconds {
        Some(value) => Line::raw(units::latency(value)),
        None => Line::styled("-", look.style(Meaning::Faint)),
    }
}

/// What an operation means.
fn meaning(operation: crate::model::requests::Operation) -> Meaning {
    use crate::model::requests::Operation;
    match operation {
        Operation::Read => Meaning::Read,
        Operation::Write | Operation::Discard => Meaning::Write,
        Operation::Flush | Operation::Zone | Operation::Other => Meaning::Plain,
    }
}
