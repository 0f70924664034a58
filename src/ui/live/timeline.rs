//! The time line of a recording below its screens: throughput of the drives, and the current
//! position.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::app::replay::ReplayTimeline;
use crate::ui::live::rows::take_bottom;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::bar::level_glyph;
use crate::ui::widgets::text::{cut_end, format_time, grouped_thousands};
use crate::units;

/// Height in rows.
const TIMELINE_ROWS: u16 = 2;

/// Draws the time line at the bottom of an area and removes its rows from that, if this is a
/// recording.
pub(in crate::ui) fn draw_below(live: &LiveState, theme: Theme, area: &mut Rect, buf: &mut Buffer) {
    if let (Some(timeline), Some(sample)) = (&live.timeline, &live.snapshot) {
        let foot = take_bottom(area, TIMELINE_ROWS);
        draw(timeline, &sample.time, theme, foot, buf);
    }
}

fn draw(timeline: &ReplayTimeline, time: &str, theme: Theme, area: Rect, buf: &mut Buffer) {
    let mut rows = area.rows();
    let (Some(parts), Some(levels)) = (rows.next(), rows.next()) else {
        return;
    };
    heading(timeline, time, theme, parts.width).render(parts, buf);
    let count = timeline.frame_rates.len();
    let max = timeline
        .frame_rates
        .iter()
        .flatten()
        .max()
        .copied()
        .unwrap_or(0);
    let here = column_of_frame(timeline.frame_index, count, levels.width);
    for column in 0..levels.width {
        let cell = &mut buf[(levels.x + column, levels.y)];
        let views = frames_of_column(column, count, levels.width);
        let rate = timeline.frame_rates[views].iter().flatten().max();
        let level = rate.map_or(' ', |rate| {
            level_glyph(*rate as f64 / max.max(1) as f64, theme)
        });
        let role = if column == here {
            StyleRole::Selected
        } else {
            StyleRole::Read
        };
        cell.set_char(level).set_style(theme.role_style(role));
    }
}

fn heading(timeline: &ReplayTimeline, time: &str, theme: Theme, width: u16) -> Line<'static> {
    let count = grouped_thousands(timeline.frame_rates.len() as f64);
    let time = format_time(time);
    let position = grouped_thousands(timeline.frame_index as f64 + 1.0);
    let mut line = Line::from(vec![
        Span::styled("REPLAY ", theme.role_style(StyleRole::Title)),
        Span::raw(format!("{time}   snapshot {position} of {count}")),
    ]);
    if let Some(Some(rate)) = timeline.frame_rates.get(timeline.frame_index) {
        line.push_span(format!("   {}", units::format_throughput(*rate as f64)));
    }
    if timeline.is_playing {
        line.push_span(Span::styled(
            "   playing",
            theme.role_style(StyleRole::Success),
        ));
    }
    if let Some(note) = &timeline.warning {
        let room = usize::from(width).saturating_sub(line.width() + 3);
        let text = cut_end(note, u16::try_from(room).unwrap_or(0), theme);
        line.push_span(Span::styled(
            format!("   {text}"),
            theme.role_style(StyleRole::Warning),
        ));
    }
    line
}

/// The views of a column; at least one where there are any.
fn frames_of_column(column: u16, count: usize, width: u16) -> std::ops::Range<usize> {
    let edge = |column: u16| usize::from(column) * count / usize::from(width.max(1));
    let begin = edge(column).min(count);
    begin..edge(column + 1).max(begin + 1).min(count)
}

/// The column of a view.
fn column_of_frame(view: usize, count: usize, width: u16) -> u16 {
    // The last column whose first view is not beyond it: the inverse of the views of a column.
    let column = ((view + 1) * usize::from(width)).saturating_sub(1) / count.max(1);
    u16::try_from(column).unwrap_or(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn timeline_maps_every_frame_to_a_column(count in 1_usize..2000, width in 1_u16..300, view: usize) {
            let view = view % count;
            let column = column_of_frame(view, count, width);
            prop_assert!(column < width);
            prop_assert!(frames_of_column(column, count, width).contains(&view));
            for column in 0..width {
                let views = frames_of_column(column, count, width);
                prop_assert!(!views.is_empty() && views.end <= count);
            }
        }
    }
}
