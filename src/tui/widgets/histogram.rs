//! A latency distribution on a logarithmic axis, with its percentiles marked.
//!
//! ```text
//!        p50      p99  p99.9
//!      ▂▅│▇▃▂▁▁    │    │▁
//!  ──┬─────────────┬─────────────┬──
//!  10 us        100 us          1 ms
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::report::axis::{align_to_cells, log_axis_ticks};
use crate::session::document::MetricUnit;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::bar::level_glyph;

/// A latency distribution.
#[derive(Debug, Clone)]
pub struct HistogramWidget<'a> {
    /// `[low, high, count]` in nanoseconds, ascending; `low` is inclusive, `high` exclusive.
    pub bins: &'a [[u64; 3]],
    /// Percentiles to mark: name and nanoseconds, ascending.
    pub marks: &'a [(String, u64)],
    /// Role of the requests.
    pub role: StyleRole,
    /// Theme of the histogram.
    pub theme: Theme,
}

impl HistogramWidget<'_> {
    /// The axis bounds as logarithms: from a little below the fastest to a little beyond the
    /// slowest, so that the ticks are a whole number of columns apart.
    fn bounds(&self, columns: u16) -> Option<[f64; 2]> {
        let (first, last) = (self.bins.first()?, self.bins.last()?);
        let (low, high) = ((first[0].max(1) as f64).ln(), (last[1].max(2) as f64).ln());
        let room = ((high - low) * 0.03).max(0.2);
        let bounds = [low - room, high + room];
        let share = |value: f64| (value.ln() - bounds[0]) / (bounds[1] - bounds[0]);
        let ticks = axis_ticks(bounds, columns).into_iter();
        let fractions: Vec<f64> = ticks.map(|(value, _)| share(value)).collect();
        Some(align_to_cells(bounds, &fractions, columns))
    }

    /// Requests in each of `columns` columns; a bin is spread over the columns that it covers.
    fn column_counts(&self, bounds: [f64; 2], columns: usize) -> Vec<f64> {
        let mut counts = vec![0.0; columns];
        let place = |value: u64| {
            let share = ((value.max(1) as f64).ln() - bounds[0]) / (bounds[1] - bounds[0]);
            share.clamp(0.0, 1.0) * columns as f64
        };
        for [low, high, count] in self.bins {
            let (from, to) = (place(*low), place(*high));
            let width = (to - from).max(1e-9);
            let last = (to.ceil() as usize).clamp(1, columns);
            for (column, held) in counts.iter_mut().enumerate().take(last).skip(from as usize) {
                let overlap = to.min(column as f64 + 1.0) - from.max(column as f64);
                *held += *count as f64 * (overlap.max(0.0) / width);
            }
        }
        counts
    }

    fn draw_columns(&self, counts: &[f64], plot: Rect, buf: &mut Buffer) {
        let largest = counts.iter().copied().fold(0.0, f64::max);
        if largest <= 0.0 {
            return;
        }
        let style = self.theme.role_style(self.role);
        for (column, count) in plot.columns().zip(counts) {
            if *count <= 0.0 {
                continue;
            }
            // The few slow requests must be visible: at least the lowest level.
            let height = (count / largest * f64::from(plot.height)).max(0.01);
            for row in 0..plot.height {
                let share = height - f64::from(row);
                if share > 0.0 {
                    let cell = &mut buf[(column.x, plot.bottom() - 1 - row)];
                    cell.set_char(level_glyph(share, self.theme))
                        .set_style(style);
                }
            }
        }
    }

    fn draw_marks(&self, bounds: [f64; 2], area: Rect, plot: Rect, buf: &mut Buffer) {
        let style = self.theme.role_style(StyleRole::Warning);
        let mut free = area.x;
        for (name, value) in self.marks {
            let share = ((*value).max(1) as f64).ln() - bounds[0];
            let column = share / (bounds[1] - bounds[0]) * f64::from(plot.width);
            let column = plot.x + (column as u16).min(plot.width - 1);
            let label_width = name.width() as u16;
            let from = column
                .saturating_sub(label_width / 2)
                .min(area.right().saturating_sub(label_width));
            if from < free {
                continue;
            }
            free = from + label_width + 1;
            Line::styled(name.as_str(), style).render(Rect::new(from, area.y, label_width, 1), buf);
            for row in plot.top()..plot.bottom() {
                let cell = &mut buf[(column, row)];
                if cell.symbol() == " " {
                    cell.set_char(self.theme.glyphs().vertical).set_style(style);
                }
            }
        }
    }

    fn draw_axis(&self, bounds: [f64; 2], plot: Rect, buf: &mut Buffer) {
        let style = self.theme.role_style(StyleRole::Faint);
        let glyphs = self.theme.glyphs();
        let row = plot.bottom();
        for column in plot.left()..plot.right() {
            buf[(column, row)]
                .set_char(glyphs.horizontal)
                .set_style(style);
        }
        let mut free = plot.x;
        for (value, label) in axis_ticks(bounds, plot.width) {
            let share = (value.ln() - bounds[0]) / (bounds[1] - bounds[0]);
            let along = (share * f64::from(plot.width)).round() as u16;
            let column = plot.x + along.min(plot.width - 1);
            buf[(column, row)]
                .set_char(glyphs.tick_below)
                .set_style(style);
            let label_width = label.width() as u16;
            let from = column
                .saturating_sub(label_width / 2)
                .min(plot.right().saturating_sub(label_width))
                .max(plot.x);
            if from >= free {
                Line::styled(label, style).render(Rect::new(from, row + 1, label_width, 1), buf);
                free = from + label_width + 1;
            }
        }
    }
}

/// Ticks of the axis with these bounds, given as logarithms.
fn axis_ticks(bounds: [f64; 2], columns: u16) -> Vec<(f64, String)> {
    /// Minimum number of columns between two ticks.
    const MIN_MARK_WIDTH: u16 = 10;
    let most = usize::from((columns / MIN_MARK_WIDTH).max(1));
    log_axis_ticks(MetricUnit::Nanoseconds, bounds.map(f64::exp), most)
}

impl Widget for &HistogramWidget<'_> {
    fn render(self, area: Rect, buf: &mut Buffer) {
        let area = area.intersection(*buf.area());
        if area.height < 4 || area.width < 12 {
            return;
        }
        let Some(bounds) = self.bounds(area.width) else {
            let text = "no latencies yet";
            Line::styled(text, self.theme.role_style(StyleRole::Faint)).render(area, buf);
            return;
        };
        let plot = Rect {
            y: area.y + 1,
            height: area.height - 3,
            ..area
        };
        let counts = self.column_counts(bounds, usize::from(plot.width));
        self.draw_columns(&counts, plot, buf);
        self.draw_marks(bounds, area, plot, buf);
        self.draw_axis(bounds, plot, buf);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn histogram_columns_count_every_request(
            values in prop::collection::vec((1..1_000_000_000_u64, 1..1000_u64), 1..40),
            columns in 1..120_usize,
        ) {
            let mut bins: Vec<[u64; 3]> =
                values.iter().map(|(low, count)| [*low, low + low / 16 + 1, *count]).collect();
            bins.sort_unstable();
            let histogram = HistogramWidget {
                bins: &bins, marks: &[], role: StyleRole::Read, theme: Theme::FULL,
            };
            // Overlapping bins may end in any order; the axis covers the last of them.
            let bounds = [0.0, 30.0];
            let counted: f64 = histogram.column_counts(bounds, columns).iter().sum();
            let expected: u64 = bins.iter().map(|bin| bin[2]).sum();
            prop_assert!((counted - expected as f64).abs() < 1e-6 * expected as f64 + 1e-3);
        }
    }

    #[test]
    fn histogram_marks_percentiles_above_their_column() {
        let bins = [[10_000, 11_000, 90], [100_000, 110_000, 10]];
        let marks = [("p50".to_owned(), 10_500), ("p99".to_owned(), 105_000)];
        let histogram = HistogramWidget {
            bins: &bins,
            marks: &marks,
            role: StyleRole::Read,
            theme: Theme::FULL,
        };
        let area = Rect::new(0, 0, 40, 6);
        let mut buf = Buffer::empty(area);
        (&histogram).render(area, &mut buf);
        let row = |y| (0..40).map(|x| buf[(x, y)].symbol()).collect::<String>();
        assert!(
            row(0).contains("p50") && row(0).contains("p99"),
            "{}",
            row(0)
        );
        for label in ["10 us", "20 us", "40 us", "80 us"] {
            assert!(row(5).contains(label), "{}", row(5));
        }
    }
}
