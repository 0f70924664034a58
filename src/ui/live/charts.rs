//! Charts over time.

use std::time::Duration;

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::bench::ChartShape;
use crate::session::document::{ChartAxis, MetricUnit};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::plot::{PlotCurve, PlotWidget};

/// Curves over the last samples.
pub(super) struct ChartHistory {
    /// Title of the chart.
    pub(super) title: &'static str,
    /// Unit of the values.
    pub(super) unit: MetricUnit,
    /// Values, the oldest first, and their roles.
    pub(super) curves: Vec<(Vec<Option<f32>>, StyleRole)>,
}

/// Draws curves over time.
pub(super) fn draw_history(
    history: &ChartHistory,
    interval: Duration,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    if area.height < 4 || area.width < 20 {
        return;
    }
    let heading = Rect { height: 1, ..area };
    Line::styled(history.title, theme.role_style(StyleRole::Title)).render(heading, buf);
    let body = Rect {
        y: area.y + 1,
        height: area.height - 1,
        ..area
    };
    let seconds = interval.as_secs_f64();
    let curves: Vec<(Vec<[f64; 2]>, StyleRole)> = history
        .curves
        .iter()
        .map(|(values, role)| (timed_points(values, seconds), *role))
        .collect();
    let plot = PlotWidget {
        curves: curves
            .iter()
            .map(|(points, role)| PlotCurve {
                confidence_intervals: &[],
                points,
                role: *role,
                marker_letter: None,
            })
            .collect(),
        shape: ChartShape::Line,
        x_axis: &ChartAxis::named("time", MetricUnit::Nanoseconds),
        y_axis: &ChartAxis::named(history.title, history.unit),
        log_x: false,
        log_y: false,
        from_zero: true,
        x_bounds: None,
        marks: Vec::new(),
        theme,
    };
    (&plot).render(body, buf);
}

/// Points over the time since the first, in nanoseconds; unknown values are omitted.
fn timed_points(values: &[Option<f32>], seconds: f64) -> Vec<[f64; 2]> {
    values
        .iter()
        .enumerate()
        .filter_map(|(index, value)| Some([index as f64 * seconds * 1e9, f64::from((*value)?)]))
        .collect()
}
