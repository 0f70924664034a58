//! The time line of a recording below its screens: what the drives moved, and where we are.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use super::take_bottom;
use crate::app::live::LiveState;
use crate::app::replay::Timeline;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::bar::level;
use crate::ui::widgets::text::{cut_end, grouped, moment};
use crate::units;

/// Rows that it takes.
const HEIGHT: u16 = 2;

/// Draws it at the lower end of an area and takes its rows from that, if this is a recording.
pub(in crate::ui) fn below(live: &LiveState, look: Look, area: &mut Rect, buf: &mut Buffer) {
    if let (Some(timeline), Some(sample)) = (&live.timeline, &live.sample) {
        let foot = take_bottom(area, HEIGHT);
        draw(timeline, &sample.time, look, foot, buf);
    }
}

fn draw(timeline: &Timeline, time: &str, look: Look, area: Rect, buf: &mut Buffer) {
    let mut rows = area.rows();
    let (Some(words), Some(levels)) = (rows.next(), rows.next()) else {
        return;
    };
    heading(timeline, time, look, words.width).render(words, buf);
    let count = timeline.rates.len();
    let most = timeline.rates.iter().flatten().max().copied().unwrap_or(0);
    let here = column_of(timeline.position, count, levels.width);
    for column in 0..levels.width {
        let cell = &mut buf[(levels.x + column, levels.y)];
        let views = views_of(column, count, levels.width);
        let rate = timeline.rates[views].iter().flatten().max();
        let level = rate.map_or(' ', |rate| level(*rate as f64 / most.max(1) as f64, look));
        let meaning = if column == here {
            Meaning::Selected
        } else {
            Meaning::Read
        };
        cell.set_char(level).set_style(look.style(meaning));
    }
}

fn heading(timeline: &Timeline, time: &str, look: Look, width: u16) -> Line<'static> {
    let count = grouped(timeline.rates.len() as f64);
    let time = moment(time);
    let position = grouped(timeline.position as f64 + 1.0);
    let mut line = Line::from(vec![
        Span::styled("REPLAY ", look.style(Meaning::Title)),
        Span::raw(format!("{time}   view {position} of {count}")),
    ]);
    if let Some(Some(rate)) = timeline.rates.get(timeline.position) {
        line.push_span(format!("   {}", units::throughput(*rate as f64)));
    }
    if timeline.playing {
        line.push_span(Span::styled("   playing", look.style(Meaning::Good)));
    }
    if let Some(note) = &timeline.note {
        let room = usize::from(width).saturating_sub(line.width() + 3);
        let text = cut_end(note, u16::try_from(room).unwrap_or(0), look);
        line.push_span(Span::styled(
            format!("   {text}"),
            look.style(Meaning::Waiting),
        ));
    }
    line
}

/// The views that a column stands for; at least one where there are any.
fn views_of(column: u16, count: usize, width: u16) -> std::ops::Range<usize> {
    let edge = |column: u16| usize::from(column) * count / usize::from(width.max(1));
    let begin = edge(column).min(count);
    begin..edge(column + 1).max(begin + 1).min(count)
}

/// The column that stands for a view.
fn column_of(view: usize, count: usize, width: u16) -> u16 {
    // The last column whose first view is not beyond it: the inverse of `views_of`.
    let column = ((view + 1) * usize::from(width)).saturating_sub(1) / count.max(1);
    u16::try_from(column).unwrap_or(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_view_has_its_column(count in 1_usize..2000, width in 1_u16..300, view: usize) {
            let view = view % count;
            let column = column_of(view, count, width);
            prop_assert!(column < width);
            prop_assert!(views_of(column, count, width).contains(&view));
            for column in 0..width {
                let views = views_of(column, count, width);
                prop_assert!(!views.is_empty() && views.end <= count);
            }
        }
    }
}
