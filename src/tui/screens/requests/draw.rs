//! The Requests screen.
//!
//! ```text
//!  sda   1 204 IOPS   48 112 requests in 41 s   3 in flight  <- device, counts, missing data
//!  OPERATIONS    count   bytes   Q2D   D2C    p50    p99    max   <- by operation
//!  LATENCY (Q2C), last 60 s     | OFFSET, last 60 s               <- heat map, scatter
//!  THREADS      requests  read  written   Q2C
//!  REQUESTS  process   op   sector   size   Q2D   D2C             <- the newest first
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Paragraph, Widget, Wrap};

use crate::app::live::LiveState;
use crate::tui::screens::requests::state::RequestsState;
use crate::tui::screens::requests::view::RequestsView;
use crate::tui::screens::requests::{detail, heatmap, list, operations, scatter, threads};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::with_side_margins;
use crate::tui::widgets::text::{grouped_thousands, input_line};
use crate::ui::live::timeline;
use crate::units;

/// What the screen shows where requests can be traced.
const WITH_TRACING: &str = "With tracing, this screen lists each request of a device: process, operation, sector, \
     size, and its time in the queue (Q2D) and in the device (D2C); charts of latency and offset over \
     time; and the sums by operation and by thread.";

/// Maximum number of listed operations.
const MAX_OPERATION_ROWS: u16 = 4;

/// Draws the screen.
pub(super) fn draw(
    requests: &RequestsState,
    live: &LiveState,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let mut area = with_side_margins(area);
    timeline::draw_below(live, theme, &mut area, buf);
    let Some(view) = &requests.view else {
        let is_recording = live.timeline.is_some();
        return draw_unavailable(requests, is_recording, theme, area, buf);
    };
    let operations = u16::try_from(view.operations.len())
        .unwrap_or(u16::MAX)
        .clamp(1, MAX_OPERATION_ROWS);
    let tall = area.height >= 30;
    let who = if tall { 6 } else { 3 };
    if requests.shows_detail {
        let [top, pane, _, latest] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(detail::ROWS),
            Constraint::Length(u16::from(tall)),
            Constraint::Min(3),
        ])
        .areas(area);
        heading(requests, view, theme).render(top, buf);
        let listed = requests.visible_requests();
        if let Some(selected) = listed.get(requests.selected_index(&listed)) {
            detail::draw(*selected, theme, pane, buf);
        }
        list::draw(requests, view, theme, latest, buf);
        return draw_filter(requests, theme, latest, buf);
    }
    let [top, table, _, pictures, _, people, _, latest] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(1 + operations),
        Constraint::Length(u16::from(tall)),
        Constraint::Length(if tall { 14 } else { 7 }),
        Constraint::Length(u16::from(tall)),
        Constraint::Length(who),
        Constraint::Length(u16::from(tall)),
        Constraint::Min(3),
    ])
    .areas(area);
    heading(requests, view, theme).render(top, buf);
    operations::draw(view, theme, table, buf);
    let [left, _, right] = Layout::horizontal([
        Constraint::Fill(1),
        Constraint::Length(2),
        Constraint::Fill(1),
    ])
    .areas(pictures);
    heatmap::draw(view, theme, left, buf);
    scatter::draw(view, theme, right, buf);
    threads::draw(view, theme, people, buf);
    list::draw(requests, view, theme, latest, buf);
    draw_filter(requests, theme, latest, buf);
}

/// Draws the filter over the heading of the list while it is typed.
fn draw_filter(requests: &RequestsState, theme: Theme, latest: Rect, buf: &mut Buffer) {
    if requests.is_editing_filter {
        let row = Rect {
            height: 1,
            ..latest
        };
        let mut line = Line::styled("filter: ", theme.role_style(StyleRole::Title));
        line.spans.extend(
            input_line(
                &requests.filter,
                latest.width.saturating_sub(8),
                theme,
                Style::new(),
            )
            .spans,
        );
        Clear.render(row, buf);
        line.render(row, buf);
    }
}

/// Draws why there is nothing to show, and what works nevertheless.
fn draw_unavailable(
    requests: &RequestsState,
    is_recording: bool,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let faint = |text: &str| {
        vec![Line::styled(
            text.to_owned(),
            theme.role_style(StyleRole::Faint),
        )]
    };
    let lines = match (&requests.unavailable, &requests.device) {
        _ if is_recording => faint("no requests in the 60 s before this snapshot"),
        (Some(unavailable), _) => vec![
            Line::styled(
                unavailable.reason.clone(),
                theme.role_style(StyleRole::Warning),
            ),
            Line::raw(""),
            Line::raw(unavailable.advice.clone()),
            Line::raw(""),
            Line::styled(WITH_TRACING, theme.role_style(StyleRole::Faint)),
        ],
        (None, Some(device)) => faint(&format!("waiting for requests of {device}")),
        (None, None) => faint("no device is traced: Right traces the first one"),
    };
    Paragraph::new(lines)
        .wrap(Wrap { trim: true })
        .render(area, buf);
}

fn heading(requests: &RequestsState, view: &RequestsView, theme: Theme) -> Line<'static> {
    let seconds = view.complete_until.saturating_sub(view.started_at) as f64 / 1e9;
    let mut facts = vec![Span::styled(
        view.device.clone(),
        theme.role_style(StyleRole::Title),
    )];
    if let Some(rate) = view.requests_per_s {
        facts.push(Span::raw(format!("{} IOPS", grouped_thousands(rate))));
    }
    let lasted = units::format_wait(std::time::Duration::from_secs_f64(seconds));
    let count = grouped_thousands(view.requests as f64);
    let unit = match view.requests {
        1 => "request",
        _ => "requests",
    };
    facts.push(Span::raw(format!("{count} {unit} in {lasted}")));
    facts.push(Span::raw(format!("{} in flight", view.in_flight)));
    if view.lost_events > 0 {
        let text = format!(
            "{} events lost: counts are too low",
            grouped_thousands(view.lost_events as f64)
        );
        facts.push(Span::styled(text, theme.role_style(StyleRole::Error)));
    }
    if requests.is_held {
        facts.push(Span::styled("paused", theme.role_style(StyleRole::Warning)));
    }
    if requests.unavailable.is_some() {
        facts.push(Span::styled(
            "the trace has ended: r starts a new one",
            theme.role_style(StyleRole::Warning),
        ));
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
