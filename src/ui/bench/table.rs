//! A table of metrics, with bars that compare their rates.
//!
//! ```text
//!  Quartet              MB/s       IOPS   latency
//!  SEQ1M Q8 read   3.21 GB/s      3.06k   2.61 ms  ━━━━━━━━━━━━━━━━━━━
//!  RND4K Q1 read   54.2 MB/s      13.2k   75.1 us  ╸
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::app::viewport::Viewport;
use crate::files::safe_text::SafeText;
use crate::session::document::{
    Findings, Metric, MetricIndex, MetricTable, MetricTableRow, MetricUnit,
};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::areas::split_heading;
use crate::tui::widgets::bar::bar;
use crate::tui::widgets::scrolled;
use crate::tui::widgets::text::{cut_end, unknown_value};

/// Columns between two columns of the table, where there is room.
const COLUMN_GAP: usize = 3;
/// Shorter bars are not meaningful.
const MIN_BAR_WIDTH: usize = 8;
/// Longer bars add no information.
const MAX_BAR_WIDTH: usize = 40;

/// A table of a run, prepared for drawing.
pub(super) struct PivotTable<'a> {
    table: &'a MetricTable,
    metrics: MetricIndex<'a>,
    /// Width of the row headings, then of each column.
    widths: Vec<usize>,
    /// Whether a metric is followed by its margin of error.
    margins: bool,
}

impl<'a> PivotTable<'a> {
    /// Creates the table with the metrics that it names.
    pub(super) fn new(table: &'a MetricTable, findings: &'a Findings) -> Self {
        Self::with_margins(table, findings.index(), true)
    }

    fn with_margins(table: &'a MetricTable, metrics: MetricIndex<'a>, margins: bool) -> Self {
        let names = table.rows.iter().map(|row| row.name.width());
        let first = names.chain([table.name.width()]).max().unwrap_or(0);
        let column = |(index, heading): (usize, &SafeText)| {
            let cells = table.rows.iter().filter_map(|row| {
                let metric = metrics.get(row.cells.get(index)?);
                Some(metric.map_or(3, |metric| cell_text(metric, margins).width()))
            });
            cells.chain([heading.width()]).max().unwrap_or(0)
        };
        let columns = table.columns.iter().enumerate().map(column);
        let widths = std::iter::once(first).chain(columns).collect();
        Self {
            table,
            metrics,
            widths,
            margins,
        }
    }

    fn width_with_gap(&self, gap: usize) -> usize {
        self.widths.iter().sum::<usize>() + gap * (self.widths.len() - 1)
    }

    /// Width without bars, in columns.
    pub(super) fn width(&self) -> u16 {
        u16::try_from(self.width_with_gap(COLUMN_GAP)).unwrap_or(u16::MAX)
    }

    /// Draws the table; rows that do not fit can be scrolled to.
    pub(super) fn draw(
        &self,
        role: StyleRole,
        viewport: &Viewport,
        theme: Theme,
        area: Rect,
        buf: &mut Buffer,
    ) {
        let room = usize::from(area.width);
        if self.margins && self.width_with_gap(COLUMN_GAP) > room {
            let narrow = Self::with_margins(self.table, self.metrics.clone(), false);
            return narrow.draw(role, viewport, theme, area, buf);
        }
        let gap = if self.width_with_gap(COLUMN_GAP) <= room {
            COLUMN_GAP
        } else {
            1
        };
        let spare = room.saturating_sub(self.width_with_gap(gap) + gap);
        let bars = (spare >= MIN_BAR_WIDTH)
            .then(|| self.bar_column())
            .flatten();
        let longest = spare.min(MAX_BAR_WIDTH) as u16;
        let (heading, body) = split_heading(area);
        self.heading(gap, bars.map(|(index, _)| index), theme)
            .render(heading, buf);
        let row = |row: &MetricTableRow| {
            let mut line = self.row(row, gap, theme);
            if let Some((index, most)) = bars
                && let Some(metric) = self.cell_metric(row, index)
            {
                let [filled, _] = bar(metric.value / most, longest, row_role(row, role), theme);
                line.push_span(" ".repeat(gap));
                line.push_span(filled);
            }
            line
        };
        let lines = self.table.rows.iter().map(row).collect();
        scrolled::draw(lines, viewport, theme, body, buf);
    }

    fn cell_metric(&self, row: &MetricTableRow, column: usize) -> Option<&'a Metric> {
        self.metrics.get(row.cells.get(column)?)
    }

    /// The column whose metrics are compared by bars, and its maximum: the first with only rates of
    /// one unit.
    fn bar_column(&self) -> Option<(usize, f64)> {
        (0..self.table.columns.len()).find_map(|column| {
            let rows = self.table.rows.iter();
            let metrics: Vec<&Metric> = rows
                .filter_map(|row| self.cell_metric(row, column))
                .collect();
            let unit = metrics.first()?.unit;
            let alike = metrics.iter().all(|metric| metric.unit == unit);
            let rates = matches!(unit, MetricUnit::BytesPerSecond | MetricUnit::PerSecond);
            let most = metrics
                .iter()
                .map(|metric| metric.value)
                .max_by(f64::total_cmp)?;
            (alike && rates && most > 0.0).then_some((column, most))
        })
    }

    fn heading(&self, gap: usize, bars: Option<usize>, theme: Theme) -> Line<'static> {
        let faint = theme.role_style(StyleRole::Faint);
        let first = format!("{:1$}", self.table.name, self.widths[0]);
        let mut line = Line::from(Span::styled(first, theme.role_style(StyleRole::Title)));
        for (heading, width) in self.table.columns.iter().zip(&self.widths[1..]) {
            let wide = gap + width;
            line.push_span(Span::styled(format!("{heading:>wide$}"), faint));
        }
        if let Some(heading) = bars.and_then(|index| self.table.columns.get(index)) {
            line.push_span(Span::styled(format!("{:gap$}{heading}", ""), faint));
        }
        line
    }

    fn row(&self, row: &MetricTableRow, gap: usize, theme: Theme) -> Line<'static> {
        let name = cut_end(&row.name, self.widths[0] as u16, theme);
        let mut line = Line::raw(format!("{name:0$}", self.widths[0]));
        for (column, width) in self.widths[1..].iter().enumerate() {
            let wide = gap + width;
            line.push_span(match self.cell_metric(row, column) {
                Some(metric) => Span::raw(format!("{:>wide$}", cell_text(metric, self.margins))),
                None => {
                    let unknown = unknown_value(theme);
                    Span::styled(format!("{:>wide$}", unknown.content), unknown.style)
                }
            });
        }
        line
    }
}

/// A metric in a cell, with its margin where it has one and it is requested.
fn cell_text(metric: &Metric, margins: bool) -> String {
    let text = metric.value_beside_label();
    match metric.margin_text().filter(|_| margins) {
        Some(margin) => format!("{text} {margin}"),
        None => text,
    }
}

/// The role of a row: reads, writes, or that of the whole benchmark.
fn row_role(row: &MetricTableRow, otherwise: StyleRole) -> StyleRole {
    if row.name.contains("read") {
        StyleRole::Read
    } else if row.name.contains("write") {
        StyleRole::Write
    } else {
        otherwise
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::KeyCommand;
    use crate::session::document::{MetricId, MetricKind, VariantKey};

    fn findings() -> Findings {
        let rate = |name: &str, value| Metric::new(MetricId::parse(name), value);
        Findings {
            metrics: vec![
                rate("a_throughput", 200e6),
                rate("b_throughput", 100e6),
                rate("a_latency", 81_000.0),
            ],
            ..Findings::default()
        }
    }

    fn drawn(width: u16, height: u16, downs: usize) -> Vec<String> {
        let mut viewport = Viewport::default();
        for _ in 0..downs {
            viewport.scroll(KeyCommand::Down);
        }
        let columns = [
            ("MB/s", MetricKind::Throughput),
            ("latency", MetricKind::Latency),
        ];
        let rows = [
            ("one read", VariantKey::new("a")),
            ("other write", VariantKey::new("b")),
        ];
        let table = MetricTable::cross_product("Lines", &columns, &rows);
        let findings = findings();
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        let pivot = PivotTable::new(&table, &findings);
        pivot.draw(StyleRole::Read, &viewport, Theme::FULL, area, &mut buf);
        let row = |y| (0..width).map(|x| buf[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| row(y).trim_end().to_owned()).collect()
    }

    #[test]
    fn metric_table_aligns_values_and_draws_bars_for_rates() {
        assert_eq!(
            drawn(48, 3, 0),
            [
                "Lines             MB/s   latency   MB/s",
                "one read      200 MB/s   81.0 us   ━━━━━━━━━━━━━",
                "other write   100 MB/s       n/a   ━━━━━━╸",
            ]
        );
    }

    #[test]
    fn metric_table_drops_bars_when_narrow_and_scrolls_when_low() {
        assert_eq!(drawn(30, 3, 0)[1], "one read    200 MB/s 81.0 us");
        assert_eq!(drawn(30, 2, 0)[1], "+2 more");
        assert_eq!(drawn(30, 2, 1)[1], "other write 100 MB/s     n/a");
    }
}
