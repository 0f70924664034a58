//! Charts over time.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::app::live::LiveState;
use crate::app::replay::usual_interval_ms;
use crate::bench::ChartShape;
use crate::session::document::{ChartAxis, MetricUnit};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::plot::{PlotCurve, PlotWidget};
use crate::units;

/// Smallest and largest number of samples on the time axis.
const SAMPLES_SHOWN: [usize; 2] = [60, 600];

/// Samples by which curves are moved at once: moving them redraws every cell.
const MOVE_STEP_SAMPLES: u64 = 5;

/// Where the samples of a chart are in time.
#[derive(Debug, Clone, Copy)]
pub(super) struct ChartTime {
    interval: Duration,
    /// Samples between the latest one and the right end of the axis.
    lag: usize,
}

impl ChartTime {
    /// Of the samples that are shown now.
    pub(super) fn of(live: &LiveState) -> Self {
        Self {
            interval: sample_interval(live),
            lag: live.history.samples_until_move(MOVE_STEP_SAMPLES),
        }
    }
}

/// The interval of the samples; in a recording the median of those before the snapshot that is
/// shown, whose own interval may be an exception.
fn sample_interval(live: &LiveState) -> Duration {
    let recorded = live.timeline.as_ref().and_then(|timeline| {
        let times = timeline.frame_times_ms.get(..=timeline.frame_index)?;
        usual_interval_ms(&times[times.len().saturating_sub(SAMPLES_SHOWN[1] + 1)..])
    });
    recorded.map_or(live.interval, Duration::from_millis)
}

/// Curves over the last samples.
pub(super) struct ChartHistory {
    /// What the curves are.
    pub(super) title: &'static str,
    /// Unit of the values.
    pub(super) unit: MetricUnit,
    /// The curves.
    pub(super) curves: Vec<HistoryCurve>,
}

/// One curve.
pub(super) struct HistoryCurve {
    /// Its name, before its latest value; its first letter marks it where colours do not.
    pub(super) name: &'static str,
    /// Values, the oldest first.
    pub(super) values: Vec<Option<f32>>,
    /// Role of the curve.
    pub(super) role: StyleRole,
}

/// The time that a chart of so many samples spans: the same for all charts of a pane.
fn time_span(samples: usize, interval: Duration) -> f64 {
    let [least, most] = SAMPLES_SHOWN;
    let steps = samples.clamp(least, most).div_ceil(least) * least;
    steps as f64 * interval.as_secs_f64() * 1e9
}

/// Draws curves over time, with their latest values above.
pub(super) fn draw_history(
    history: &ChartHistory,
    time: ChartTime,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    if area.height < 4 || area.width < 20 {
        return;
    }
    let headings = heading_lines(history, theme, area);
    let body = Rect {
        y: area.y + headings.len() as u16,
        height: area.height - headings.len() as u16,
        ..area
    };
    for (row, line) in area.rows().zip(headings) {
        line.render(row, buf);
    }
    let samples = history.curves.iter().map(|curve| curve.values.len()).max();
    let span = time_span(samples.unwrap_or(0), time.interval);
    let curves: Vec<Vec<[f64; 2]>> = history
        .curves
        .iter()
        .map(|curve| timed_points(&curve.values, time, span))
        .collect();
    let plot = PlotWidget {
        curves: curves
            .iter()
            .zip(&history.curves)
            .map(|(points, curve)| PlotCurve {
                confidence_intervals: &[],
                points,
                role: curve.role,
                marker_letter: curve.name.chars().next(),
            })
            .collect(),
        shape: ChartShape::Line,
        x_axis: &ChartAxis::named("time", MetricUnit::Nanoseconds),
        y_axis: &ChartAxis::named(history.title, history.unit),
        log_x: false,
        log_y: false,
        from_zero: true,
        x_bounds: Some([-span, 0.0]),
        marks: Vec::new(),
        theme,
    };
    (&plot).render(body, buf);
}

/// Minimum height of a chart with a second row for its heading.
const SECOND_HEADING_MIN_HEIGHT: u16 = 8;

/// The title, and the latest value of each curve in its style: on one row, or on two where that is
/// too narrow for all.
fn heading_lines(history: &ChartHistory, theme: Theme, area: Rect) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(
        history.title,
        theme.role_style(StyleRole::Title),
    )];
    for curve in &history.curves {
        let latest = curve.values.last().copied().flatten();
        let value = latest.map_or_else(
            || "-".to_owned(),
            |value| format_value(history.unit, value.into()),
        );
        let text = format!("{} {value}", curve.name);
        let used = lines.last().map_or(0, Line::width);
        let is_full = used > 0 && used + 2 + text.width() > usize::from(area.width);
        if is_full && lines.len() == 1 && area.height >= SECOND_HEADING_MIN_HEIGHT {
            lines.push(Line::default());
        } else if used > 0
            && let Some(line) = lines.last_mut()
        {
            line.push_span("  ");
        }
        if let Some(line) = lines.last_mut() {
            line.push_span(Span::styled(text, theme.role_style(curve.role)));
        }
    }
    lines
}

fn format_value(unit: MetricUnit, value: f64) -> String {
    match unit {
        MetricUnit::BytesPerSecond => units::format_throughput(value),
        MetricUnit::Nanoseconds => units::format_latency(value),
        MetricUnit::Bytes => units::format_capacity(value),
        MetricUnit::Ratio => units::format_percent(value),
        _ => units::format_three_digits(value),
    }
}

/// Points over the time before the right end of the axis, in nanoseconds; unknown values are omitted.
fn timed_points(values: &[Option<f32>], time: ChartTime, span: f64) -> Vec<[f64; 2]> {
    let step = time.interval.as_secs_f64() * 1e9;
    let last = (values.len() + time.lag).saturating_sub(1);
    values
        .iter()
        .enumerate()
        .filter_map(|(index, value)| {
            Some([(index as f64 - last as f64) * step, f64::from((*value)?)])
        })
        .filter(|[x, _]| *x >= -span)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_of_a_recording_keep_their_scale_after_a_pause() {
        use crate::app::AppState;
        use crate::app::replay::ReplayTimeline;
        let second = Duration::from_secs(1);
        let mut timeline = ReplayTimeline::new("day".into(), Vec::new().into(), None);
        timeline.frame_times_ms = vec![0, 1000, 2000, 3000, 49_000].into();
        timeline.frame_index = 4;
        let mut state = AppState::for_replay(timeline, second);
        state.live.interval = Duration::from_secs(46);
        assert_eq!(ChartTime::of(&state.live).interval, second);
        if let Some(timeline) = &mut state.live.timeline {
            timeline.frame_times_ms = Vec::new().into();
        }
        assert_eq!(ChartTime::of(&state.live).interval.as_secs(), 46);
    }

    #[test]
    fn points_end_at_the_latest_sample_and_unknown_values_are_gaps() {
        let second = Duration::from_secs(1);
        let time = |lag| ChartTime {
            interval: second,
            lag,
        };
        let values = [Some(1.0), None, Some(3.0)];
        let points = timed_points(&values, time(0), 60e9);
        assert_eq!(points, [[-2e9, 1.0], [0.0, 3.0]]);
        let points = timed_points(&values, time(4), 60e9);
        assert_eq!(points, [[-6e9, 1.0], [-4e9, 3.0]]);
        assert_eq!(time_span(3, second), 60e9);
        assert_eq!(time_span(61, second), 120e9);
        assert_eq!(time_span(5000, second), 600e9);
    }
}
