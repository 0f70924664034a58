//! The time line of a recording below its screens: the position, the throughput of the drives, and
//! the times.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::app::replay::{ReplayInput, ReplayTimeline};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::bar::level_glyph;
use crate::tui::widgets::text::{cut_end, grouped_thousands, input_line};
use crate::ui::live::rows::take_bottom;
use crate::units;

/// Height in rows.
const TIMELINE_ROWS: u16 = 3;
/// Minimum number of columns between two times.
const MIN_TIME_COLUMNS: u16 = 18;

/// Draws the time line at the bottom of an area and removes its rows from that, if this is a
/// recording.
pub fn draw_below(live: &LiveState, theme: Theme, area: &mut Rect, buf: &mut Buffer) {
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
    match &timeline.input {
        Some(input) => input_field(timeline, input, theme, parts.width).render(parts, buf),
        None => heading(timeline, time, theme, parts.width).render(parts, buf),
    }
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
        let is_here = |frame: usize| column_of_frame(frame, count, levels.width) == column;
        let has_trigger = timeline.triggers.iter().any(|it| is_here(it.frame_index));
        let has_gap = timeline.gaps.iter().any(|it| is_here(it.frame_index));
        let (mark, role) = match (has_trigger, has_gap) {
            (true, _) => ('!', StyleRole::Warning),
            (false, true) => ('|', StyleRole::Faint),
            (false, false) => (level, StyleRole::Read),
        };
        let role = if column == here {
            StyleRole::Selected
        } else {
            role
        };
        cell.set_char(mark).set_style(theme.role_style(role));
    }
    if let Some(times) = rows.next() {
        draw_times(timeline, theme, times, buf);
    }
}

/// The times of the views at columns of equal distance, and of the last view at the end.
fn draw_times(timeline: &ReplayTimeline, theme: Theme, row: Rect, buf: &mut Buffer) {
    let Some(times) = timeline.times else { return };
    let style = theme.role_style(StyleRole::Faint);
    let count = timeline.frame_times_ms.len();
    let last = Line::styled(times.label(times.last_ms), style);
    let room = row.width.saturating_sub(last.width() as u16 + 2);
    last.right_aligned().render(row, buf);
    let mut column = 0;
    while column < room {
        let view = frames_of_column(column, count, row.width).start;
        let Some(time) = timeline.frame_times_ms.get(view) else {
            return;
        };
        let label = times.label(*time);
        let width = label.len() as u16;
        if column + width > room {
            return;
        }
        let cell = Rect::new(row.x + column, row.y, width, 1);
        Line::styled(label, style).render(cell, buf);
        column += MIN_TIME_COLUMNS.max(width + 2);
    }
}

/// The field for a time or a search, with the range of times or an example.
fn input_field(
    timeline: &ReplayTimeline,
    input: &ReplayInput,
    theme: Theme,
    width: u16,
) -> Line<'static> {
    let (label, advice) = match input {
        ReplayInput::Time(_) => {
            let range = timeline.times.map(|times| times.range());
            ("go to time: ", range.unwrap_or_default())
        }
        ReplayInput::Search(_) => (
            "find I/O of: ",
            "process, pid or device; then n next, N previous".to_owned(),
        ),
    };
    let room = width.saturating_sub((label.len() + advice.len() + 4) as u16);
    let mut line = Line::styled(label, theme.role_style(StyleRole::Title));
    line.extend(input_line(input.text(), room.max(8), theme, Style::new()).spans);
    let advice = format!("   {advice}");
    line.push_span(Span::styled(advice, theme.role_style(StyleRole::Faint)));
    line
}

fn heading(timeline: &ReplayTimeline, time: &str, theme: Theme, width: u16) -> Line<'static> {
    let count = grouped_thousands(timeline.frame_rates.len() as f64);
    let time = units::format_time(time);
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
    if let Some(note) = &note(timeline) {
        let room = usize::from(width).saturating_sub(line.width() + 3);
        let text = cut_end(note, u16::try_from(room).unwrap_or(0), theme);
        line.push_span(Span::styled(
            format!("   {text}"),
            theme.role_style(StyleRole::Warning),
        ));
    }
    line
}

/// The trigger at the snapshot that is shown; otherwise what is wrong with the file, or how to get to
/// the triggers.
fn note(timeline: &ReplayTimeline) -> Option<String> {
    let count = timeline.triggers.len();
    if let Some(trigger) = timeline.current_trigger() {
        let conclusion = trigger.conclusion.as_ref();
        let found = conclusion.map_or_else(String::new, |text| format!("; {text}"));
        return Some(format!("! {}{found}", trigger.observation));
    }
    if let Some(gap) = timeline.current_gap() {
        let length = units::format_wait(gap.length);
        return Some(format!("| no snapshots in the {length} before"));
    }
    let warning = timeline.warning.as_ref().map(ToString::to_string);
    warning.or_else(|| match count {
        0 => None,
        1 => Some("1 trigger: ) or (".to_owned()),
        _ => Some(format!("{count} triggers: ) next, ( previous")),
    })
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
    use crate::app::replay::find_gaps;
    use proptest::prelude::*;

    #[test]
    fn gap_is_marked_and_named_at_the_view_after_it() {
        let rates = vec![Some(1_000_000); 5];
        let mut timeline = ReplayTimeline::new("a".into(), rates.into(), None);
        timeline.gaps = find_gaps(&[0, 1000, 2000, 48_000, 49_000]).into();
        timeline.frame_index = 3;
        let area = Rect::new(0, 0, 100, 3);
        let mut buffer = Buffer::empty(area);
        draw(
            &timeline,
            "2026-01-01T00:00:48Z",
            Theme::FULL,
            area,
            &mut buffer,
        );
        let row = |y| -> String { (0..100).map(|x| buffer[(x, y)].symbol()).collect() };
        assert!(
            row(0).contains("| no snapshots in the 46 s before"),
            "{}",
            row(0)
        );
        assert_eq!(row(1).chars().position(|mark| mark == '|'), Some(79));
        assert_eq!(row(1).matches('|').count(), 1);
        timeline.frame_index = 2;
        assert_eq!(note(&timeline), None);
    }

    #[test]
    fn views_at_equal_or_unknown_times_have_no_gap() {
        assert_eq!(find_gaps(&[]), []);
        assert_eq!(find_gaps(&[5]), []);
        assert_eq!(find_gaps(&[0, 1000, 2000, 4100, 5000]), []);
    }

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
