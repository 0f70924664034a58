//! The two lines at the top: the machine, and the tabs.
//!
//! ```text
//!  diskscope  web-07  6.1.0-56   up 41 d   load 1.8   io pressure some 12 % full 4 %   1 s
//!  [1 Live]  2 Bench  4 Sessions                                       ? help  q quit
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::look::{Look, Meaning};
use crate::app::{Screen, State};
use crate::model::live::HostView;
use crate::units;

/// Shares of pressure from which on it is waiting, and trouble.
const PRESSURE: (f64, f64) = (0.05, 0.4);

/// A fact of the header; those of the highest rank leave first.
struct Fact {
    rank: u8,
    spans: Vec<Span<'static>>,
}

/// Draws the machine's line.
pub(super) fn draw_host(state: &State, look: Look, area: Rect, buf: &mut Buffer) {
    let interval = interval(state, look);
    let mut room = usize::from(area.width).saturating_sub(interval.width() + 3);
    let title = Span::styled(" diskscope", look.style(Meaning::Title));
    room = room.saturating_sub(title.width());
    let mut facts = state
        .live
        .sample
        .as_ref()
        .map_or_else(Vec::new, |sample| facts(&sample.host, look));
    while width(&facts) > room {
        let last = facts.iter().map(|fact| fact.rank).max();
        facts.retain(|fact| Some(fact.rank) != last);
    }
    let mut line = Line::from(title);
    for fact in facts {
        line.push_span("   ");
        line.spans.extend(fact.spans);
    }
    line.render(area, buf);
    interval.right_aligned().render(area, buf);
}

fn width(facts: &[Fact]) -> usize {
    let spans = |fact: &Fact| 3 + fact.spans.iter().map(Span::width).sum::<usize>();
    facts.iter().map(spans).sum()
}

fn interval(state: &State, look: Look) -> Line<'static> {
    if state.live.timeline.is_some() {
        return Line::styled("replay ", look.style(Meaning::Waiting));
    }
    if state.live.paused {
        return Line::styled("paused ", look.style(Meaning::Waiting));
    }
    let interval = units::exact_duration(state.live.interval);
    Line::styled(format!("every {interval} "), look.style(Meaning::Faint))
}

fn facts(host: &HostView, look: Look) -> Vec<Fact> {
    let plain = |rank, text: String| Fact {
        rank,
        spans: vec![Span::raw(text)],
    };
    let mut facts = Vec::new();
    facts.extend(host.name.clone().map(|name| plain(1, name.into())));
    facts.extend(host.kernel.clone().map(|kernel| plain(5, kernel.into())));
    let uptime = host.uptime.map(units::waiting);
    facts.extend(uptime.map(|uptime| plain(6, format!("up {uptime}"))));
    let load = host.load.map(|[minute, ..]| units::three_digits(minute));
    facts.extend(load.map(|load| plain(4, format!("load {load}"))));
    facts.extend(pressure(host, look));
    facts.extend(dirty(host));
    facts
}

fn pressure(host: &HostView, look: Look) -> Option<Fact> {
    let some = host.pressure_some?;
    let mut spans = vec![Span::raw("io pressure some "), pressed(some, look)];
    if let Some(full) = host.pressure_full {
        spans.push(Span::raw(" full "));
        spans.push(pressed(full, look));
    }
    Some(Fact { rank: 2, spans })
}

fn pressed(share: f64, look: Look) -> Span<'static> {
    let meaning = if share >= PRESSURE.1 {
        Meaning::Trouble
    } else if share >= PRESSURE.0 {
        Meaning::Waiting
    } else {
        Meaning::Plain
    };
    Span::styled(format!("{:.0} %", share * 100.0), look.style(meaning))
}

fn dirty(host: &HostView) -> Option<Fact> {
    let waiting = host.dirty_bytes? + host.writeback_bytes.unwrap_or(0);
    let mut text = format!("dirty {}", units::capacity(waiting as f64));
    if let Some(drain) = host.drain {
        text.push_str(&format!(", on disk in {}", units::waiting(drain)));
    }
    Some(Fact {
        rank: 3,
        spans: vec![Span::raw(text)],
    })
}

/// Draws the tabs.
pub(super) fn draw_tabs(state: &State, look: Look, area: Rect, buf: &mut Buffer) {
    let mut line = Line::raw(" ");
    for (screen, key, name) in Screen::TABS {
        let mark = if screen == Screen::Bench && state.bench.is_running() {
            " (running)"
        } else {
            ""
        };
        let (text, meaning) = if screen == state.screen {
            (format!("[{key} {name}{mark}]"), Meaning::Title)
        } else {
            (format!(" {key} {name}{mark} "), Meaning::Faint)
        };
        line.push_span(Span::styled(text, look.style(meaning)));
        line.push_span(" ");
    }
    line.render(area, buf);
    Line::styled("? help  q quit ", look.style(Meaning::Faint))
        .right_aligned()
        .render(area, buf);
}
