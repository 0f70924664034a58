//! Figures side by side, and how their rates compare.
//!
//! ```text
//!  Quartet              MB/s       IOPS   latency
//!  SEQ1M Q8 read   3.21 GB/s   3.06k /s   2.61 ms  ━━━━━━━━━━━━━━━━━━━
//!  RND4K Q1 read   54.2 MB/s   13.2k /s   75.1 us  ╸
//! ```

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::app::viewport::Viewport;
use crate::safe_text::SafeText;
use crate::session::document::{Figure, FigureIndex, Findings, Table, TableRow, Unit};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::areas::under_heading;
use crate::ui::widgets::bar::bar;
use crate::ui::widgets::scrolled;
use crate::ui::widgets::text::{cut_end, unknown};

/// Columns between two of the table's, where there is room.
const GAP: usize = 3;
/// Bars shorter than this at their longest say little.
const LEAST_BAR: usize = 8;
/// Bars longer than this say no more.
const LONGEST_BAR: usize = 40;

/// A table of a run, ready to be drawn.
pub(super) struct Crossed<'a> {
    table: &'a Table,
    figures: FigureIndex<'a>,
    /// Width of the rows' headings, then of each column.
    widths: Vec<usize>,
    /// Whether a metric is followed by how far off it may be.
    margins: bool,
}

impl<'a> Crossed<'a> {
    /// The table with the figures that it names.
    pub(super) fn new(table: &'a Table, findings: &'a Findings) -> Self {
        Self::with(table, findings.index(), true)
    }

    fn with(table: &'a Table, figures: FigureIndex<'a>, margins: bool) -> Self {
        let names = table.rows.iter().map(|row| row.name.width());
        let first = names.chain([table.name.width()]).max().unwrap_or(0);
        let column = |(index, heading): (usize, &SafeText)| {
            let cells = table.rows.iter().filter_map(|row| {
                let figure = figures.get(row.cells.get(index)?);
                Some(figure.map_or(3, |figure| text(figure, margins).width()))
            });
            cells.chain([heading.width()]).max().unwrap_or(0)
        };
        let columns = table.columns.iter().enumerate().map(column);
        let widths = std::iter::once(first).chain(columns).collect();
        Self {
            table,
            figures,
            widths,
            margins,
        }
    }

    fn wide(&self, gap: usize) -> usize {
        self.widths.iter().sum::<usize>() + gap * (self.widths.len() - 1)
    }

    /// Columns that it takes without bars.
    pub(super) fn width(&self) -> u16 {
        u16::try_from(self.wide(GAP)).unwrap_or(u16::MAX)
    }

    /// Draws it; rows that do not fit are scrolled to.
    pub(super) fn draw(
        &self,
        meaning: Meaning,
        viewport: &Viewport,
        look: Look,
        area: Rect,
        buf: &mut Buffer,
    ) {
        let room = usize::from(area.width);
        if self.margins && self.wide(GAP) > room {
            let narrow = Self::with(self.table, self.figures.clone(), false);
            return narrow.draw(meaning, viewport, look, area, buf);
        }
        let gap = if self.wide(GAP) <= room { GAP } else { 1 };
        let spare = room.saturating_sub(self.wide(gap) + gap);
        let bars = (spare >= LEAST_BAR).then(|| self.rates()).flatten();
        let longest = spare.min(LONGEST_BAR) as u16;
        let (heading, body) = under_heading(area);
        self.heading(gap, bars.map(|(index, _)| index), look)
            .render(heading, buf);
        let row = |row: &TableRow| {
            let mut line = self.row(row, gap, look);
            if let Some((index, most)) = bars
                && let Some(figure) = self.figure(row, index)
            {
                let [filled, _] = bar(figure.value / most, longest, of_row(row, meaning), look);
                line.push_span(" ".repeat(gap));
                line.push_span(filled);
            }
            line
        };
        let lines = self.table.rows.iter().map(row).collect();
        scrolled::draw(lines, viewport, look, body, buf);
    }

    fn figure(&self, row: &TableRow, column: usize) -> Option<&'a Figure> {
        self.figures.get(row.cells.get(column)?)
    }

    /// The column whose figures are compared by bars, and its largest: the first with nothing but
    /// rates of one unit.
    fn rates(&self) -> Option<(usize, f64)> {
        (0..self.table.columns.len()).find_map(|column| {
            let rows = self.table.rows.iter();
            let figures: Vec<&Figure> = rows.filter_map(|row| self.figure(row, column)).collect();
            let unit = figures.first()?.unit;
            let alike = figures.iter().all(|figure| figure.unit == unit);
            let rates = matches!(unit, Unit::BytesPerSecond | Unit::PerSecond);
            let most = figures
                .iter()
                .map(|figure| figure.value)
                .max_by(f64::total_cmp)?;
            (alike && rates && most > 0.0).then_some((column, most))
        })
    }

    fn heading(&self, gap: usize, bars: Option<usize>, look: Look) -> Line<'static> {
        let faint = look.style(Meaning::Faint);
        let first = format!("{:1$}", self.table.name, self.widths[0]);
        let mut line = Line::from(Span::styled(first, look.style(Meaning::Title)));
        for (heading, width) in self.table.columns.iter().zip(&self.widths[1..]) {
            let wide = gap + width;
            line.push_span(Span::styled(format!("{heading:>wide$}"), faint));
        }
        if let Some(heading) = bars.and_then(|index| self.table.columns.get(index)) {
            line.push_span(Span::styled(format!("{:gap$}{heading}", ""), faint));
        }
        line
    }

    fn row(&self, row: &TableRow, gap: usize, look: Look) -> Line<'static> {
        let name = cut_end(&row.name, self.widths[0] as u16, look);
        let mut line = Line::raw(format!("{name:0$}", self.widths[0]));
        for (column, width) in self.widths[1..].iter().enumerate() {
            let wide = gap + width;
            line.push_span(match self.figure(row, column) {
                Some(figure) => Span::raw(format!("{:>wide$}", text(figure, self.margins))),
                None => {
                    let unknown = unknown(look);
                    Span::styled(format!("{:>wide$}", unknown.content), unknown.style)
                }
            });
        }
        line
    }
}

/// A metric in a cell, with its margin where it has one and that is wanted.
fn text(figure: &Figure, margins: bool) -> String {
    let text = figure.text();
    match figure.margin_text().filter(|_| margins) {
        Some(margin) => format!("{text} {margin}"),
        None => text,
    }
}

/// What a row is about: reads, writes, or what the whole test does.
fn of_row(row: &TableRow, otherwise: Meaning) -> Meaning {
    if row.name.contains("read") {
        Meaning::Read
    } else if row.name.contains("write") {
        Meaning::Write
    } else {
        otherwise
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Command;

    fn findings() -> Findings {
        let rate = |name: &str, value| Figure::new(name, value, Unit::BytesPerSecond);
        Findings {
            figures: vec![
                rate("a_throughput", 200e6),
                rate("b_throughput", 100e6),
                Figure::new("a_latency", 81_000.0, Unit::Nanoseconds),
            ],
            ..Findings::default()
        }
    }

    fn drawn(width: u16, height: u16, downs: usize) -> Vec<String> {
        let mut viewport = Viewport::default();
        for _ in 0..downs {
            viewport.scroll(Command::Down);
        }
        let columns = [("MB/s", "throughput"), ("latency", "latency")];
        let rows = [("one read", "a"), ("other write", "b")];
        let table = Table::crossed("Lines", &columns, &rows);
        let findings = findings();
        let area = Rect::new(0, 0, width, height);
        let mut buf = Buffer::empty(area);
        let crossed = Crossed::new(&table, &findings);
        crossed.draw(Meaning::Read, &viewport, Look::FULL, area, &mut buf);
        let row = |y| (0..width).map(|x| buf[(x, y)].symbol()).collect::<String>();
        (0..height).map(|y| row(y).trim_end().to_owned()).collect()
    }

    #[test]
    fn figures_are_aligned_and_rates_have_bars() {
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
    fn a_narrow_table_has_no_bars_and_a_low_one_is_scrolled() {
        assert_eq!(drawn(30, 3, 0)[1], "one read    200 MB/s 81.0 us");
        assert_eq!(drawn(30, 2, 0)[1], "2 more below");
        assert_eq!(drawn(30, 2, 1)[1], "other write 100 MB/s     n/a");
    }
}
