//! The two lines at the top: the machine, and the tabs.
//!
//! ```text
//!  diskscope  web-07  6.1.0-56   up 41 d   load 1.8   PSI io some 12 % full 4 %   every 1s
//!  [1 Live]  2 Bench  4 Sessions                                       ? help  q quit
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::{AppState, Screen};
use crate::columns::swap::SwapTraffic;
use crate::snapshot::Snapshot;
use crate::snapshot::view::HostView;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::text::right_aligned;
use crate::units;

/// Fractions of pressure above which it is shown as a warning and as an error.
const PRESSURE_LIMITS: (f64, f64) = (0.05, 0.4);

/// A fact of the header; those of the highest rank are dropped first.
struct HeaderFact {
    drop_rank: u8,
    spans: Vec<Span<'static>>,
}

/// Draws the machine's line.
pub(super) fn draw_host(state: &AppState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let interval = interval_line(state, theme);
    let mut room = usize::from(area.width).saturating_sub(interval.width() + 3);
    let title = Span::styled(" diskscope", theme.role_style(StyleRole::Title));
    room = room.saturating_sub(title.width());
    let mut facts = state
        .live
        .snapshot
        .as_ref()
        .map_or_else(Vec::new, |sample| host_facts(sample, theme));
    while facts_width(&facts) > room {
        let last = facts.iter().map(|fact| fact.drop_rank).max();
        facts.retain(|fact| Some(fact.drop_rank) != last);
    }
    let mut line = Line::from(title);
    for fact in facts {
        line.push_span("   ");
        line.spans.extend(fact.spans);
    }
    line.render(area, buf);
    interval.render(area, buf);
}

fn facts_width(facts: &[HeaderFact]) -> usize {
    let spans = |fact: &HeaderFact| 3 + fact.spans.iter().map(Span::width).sum::<usize>();
    facts.iter().map(spans).sum()
}

fn interval_line(state: &AppState, theme: Theme) -> Line<'static> {
    if let Some(timeline) = &state.live.timeline {
        let text = match timeline.is_demo {
            true => "demo: recorded ",
            false => "replay ",
        };
        return right_aligned(text, theme.role_style(StyleRole::Warning));
    }
    if state.live.paused {
        return right_aligned("paused ", theme.role_style(StyleRole::Warning));
    }
    let interval = units::format_exact_duration(state.live.interval);
    right_aligned(
        format!("every {interval} "),
        theme.role_style(StyleRole::Faint),
    )
}

fn host_facts(sample: &Snapshot, theme: Theme) -> Vec<HeaderFact> {
    let host = &sample.host;
    let plain = |rank, text: String| HeaderFact {
        drop_rank: rank,
        spans: vec![Span::raw(text)],
    };
    let mut facts = Vec::new();
    facts.extend(host.name.clone().map(|name| plain(1, name.into())));
    facts.extend(host.kernel.clone().map(|kernel| plain(6, kernel.into())));
    let uptime = host.uptime.map(units::format_wait);
    facts.extend(uptime.map(|uptime| plain(7, format!("up {uptime}"))));
    let load = host
        .load_averages
        .map(|[minute, ..]| units::format_three_digits(minute));
    facts.extend(load.map(|load| plain(5, format!("load {load:<4}"))));
    facts.extend(pressure_fact(host, theme));
    facts.extend(dirty_fact(host));
    facts.extend(SwapTraffic::of(sample).map(|swap| HeaderFact {
        drop_rank: 2,
        spans: vec![Span::styled(
            swap.text(),
            theme.role_style(StyleRole::Warning),
        )],
    }));
    facts
}

/// Of constant width, so that nothing beside it moves.
fn pressure_fact(host: &HostView, theme: Theme) -> Option<HeaderFact> {
    let some = host.pressure_some?;
    let mut spans = vec![Span::raw("PSI io some ")];
    spans.extend(pressure_spans(some, theme));
    if let Some(full) = host.pressure_full {
        spans.push(Span::raw(" full "));
        spans.extend(pressure_spans(full, theme));
    }
    Some(HeaderFact {
        drop_rank: 3,
        spans,
    })
}

/// The pressure, and the blanks up to the width of 100%.
fn pressure_spans(share: f64, theme: Theme) -> [Span<'static>; 2] {
    let role = if share >= PRESSURE_LIMITS.1 {
        StyleRole::Error
    } else if share >= PRESSURE_LIMITS.0 {
        StyleRole::Warning
    } else {
        StyleRole::Plain
    };
    let text = format!("{:.0}%", share * 100.0);
    let blanks = " ".repeat(4_usize.saturating_sub(text.len()));
    [
        Span::styled(text, theme.role_style(role)),
        Span::raw(blanks),
    ]
}

/// Of constant width, so that nothing beside it moves.
fn dirty_fact(host: &HostView) -> Option<HeaderFact> {
    let size = |bytes: u64| format!("{:<7}", units::format_capacity(bytes as f64));
    let mut text = format!("dirty {}", size(host.dirty_bytes?));
    if let Some(bytes) = host.writeback_bytes {
        text.push_str(&format!("  writeback {}", size(bytes)));
    }
    Some(HeaderFact {
        drop_rank: 4,
        spans: vec![Span::raw(text)],
    })
}

/// Draws the tabs.
pub(super) fn draw_tabs(state: &AppState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let mut line = Line::raw(" ");
    for (screen, key, name) in Screen::TABS {
        let mark = if screen == Screen::Bench && state.bench.is_running() {
            " (running)"
        } else {
            ""
        };
        let (text, role) = if screen == state.screen {
            (format!("[{key} {name}{mark}]"), StyleRole::Title)
        } else {
            (format!(" {key} {name}{mark} "), StyleRole::Faint)
        };
        line.push_span(Span::styled(text, theme.role_style(role)));
        line.push_span(" ");
    }
    line.render(area, buf);
    right_aligned("? help  q quit ", theme.role_style(StyleRole::Faint)).render(area, buf);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use ratatui::style::Modifier;

    use super::*;
    use crate::snapshot::ViewBuilder;

    #[test]
    fn what_is_at_the_right_leaves_the_style_of_the_facts() {
        let mut state = AppState::new(Duration::from_secs(1));
        let mut sample = ViewBuilder::default().update(Arc::default());
        sample.host.pressure_some = Some(0.5);
        state.live.set_snapshot(Arc::new(sample));
        let area = Rect::new(0, 0, 80, 1);
        let mut buf = Buffer::empty(area);
        draw_host(&state, Theme::FULL, area, &mut buf);
        let cells: Vec<_> = buf.content().iter().collect();
        let column = |symbol| cells.iter().position(|cell| cell.symbol() == symbol);
        let percent = cells[column("%").unwrap()];
        assert_eq!(percent.modifier, Modifier::BOLD, "an error, and not dim");
        assert!(
            cells[column("y").unwrap()].modifier.contains(Modifier::DIM),
            "every 1s"
        );
    }

    #[test]
    fn swap_traffic_stays_beside_the_host_in_80_columns() {
        let mut state = AppState::new(Duration::from_secs(1));
        let mut sample = ViewBuilder::default().update(Arc::default());
        sample.host.name = Some("web-07".into());
        sample.host.kernel = Some("6.1.0-56-amd64".into());
        sample.host.pressure_some = Some(0.5);
        sample.host.pressure_full = Some(0.4);
        sample.host.dirty_bytes = Some(1 << 30);
        sample.host.swap_in_bytes_per_s = Some(180e6);
        sample.host.swap_out_bytes_per_s = Some(0.0);
        state.live.set_snapshot(Arc::new(sample));
        let area = Rect::new(0, 0, 80, 1);
        let mut buf = Buffer::empty(area);
        draw_host(&state, Theme::FULL, area, &mut buf);
        let line: String = buf.content().iter().map(|cell| cell.symbol()).collect();
        assert!(line.contains("web-07   "), "{line}");
        assert!(line.contains("swap in 180 out 0 MB/s"), "{line}");
    }
}
