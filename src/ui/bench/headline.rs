//! The headline metrics of a benchmark, in large digits.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Line;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::session::document::{Findings, Metric, MetricId, MetricUnit};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::digits::large_digits;

/// Columns between two metrics.
const METRIC_GAP: u16 = 4;

/// Height in rows: the digits, and the label below them.
pub(super) fn height(theme: Theme) -> u16 {
    if theme.ascii { 2 } else { 4 }
}

/// A metric in its parts.
struct HeadlineParts {
    number: String,
    unit: String,
    label: String,
    /// The number in large digits, where the theme and the number allow them.
    digits: Option<[String; 3]>,
}

impl HeadlineParts {
    fn new(metric: &Metric, theme: Theme) -> Self {
        let (number, unit) = split_unit(&metric.value_with_named_unit());
        let digits = if theme.ascii {
            None
        } else {
            large_digits(&number)
        };
        Self {
            number,
            unit,
            label: metric.label_without_unit(),
            digits,
        }
    }

    /// Width of the number in columns.
    fn number_width(&self) -> usize {
        match &self.digits {
            Some(lines) => lines[0].width(),
            None => self.number.width(),
        }
    }
}

/// The headline metrics of a result in the order of importance: the first, beside a rate of requests
/// its 99th percentile, then the others.
pub(super) fn by_importance<'a>(declared: Vec<&'a Metric>, all: &'a Findings) -> Vec<&'a Metric> {
    let Some(first) = declared.first().copied() else {
        return declared;
    };
    let tail = all
        .metric(&MetricId::LATENCY_P99)
        .filter(|_| first.unit == MetricUnit::PerSecond);
    let mut metrics = vec![first];
    metrics.extend(tail);
    for metric in declared {
        if !metrics.iter().any(|known| known.id == metric.id) {
            metrics.push(metric);
        }
    }
    metrics
}

/// Draws as many as fit, the first in the colour of the role.
pub(super) fn draw(
    metrics: &[&Metric],
    role: StyleRole,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let mut left = area.x;
    // Margins are shown only where all metrics fit next to each other with them.
    let full_width = |metric: &&Metric| metric_width(metric, true, theme) + METRIC_GAP;
    let margins = metrics.iter().map(full_width).sum::<u16>() <= area.width + METRIC_GAP;
    for (index, metric) in metrics.iter().enumerate() {
        let role = if index == 0 { role } else { StyleRole::Plain };
        let own_width = metric_width(metric, margins, theme);
        if left + own_width > area.right() {
            return;
        }
        let cell = Rect {
            x: left,
            width: own_width,
            ..area
        };
        draw_metric(metric, margins, role, theme, cell, buf);
        left += own_width + METRIC_GAP;
    }
}

fn draw_metric(
    metric: &Metric,
    margins: bool,
    role: StyleRole,
    theme: Theme,
    cell: Rect,
    buf: &mut Buffer,
) {
    let parts = HeadlineParts::new(metric, theme);
    let digits = parts.number_width() as u16;
    let row_above_bottom = |rows: u16| Rect {
        y: (cell.bottom().saturating_sub(1 + rows)).max(cell.y),
        height: cell.height.min(1),
        ..cell
    };
    // Without large digits the prefix of the unit belongs to the number: 83.9k.
    let gap = u16::from(
        parts.digits.is_some()
            || metric.unit != MetricUnit::PerSecond
            || !parts.unit.starts_with(is_prefix),
    );
    let style = theme.role_style(role);
    let unit_area = Rect {
        x: cell.x + digits + gap,
        width: cell.width.saturating_sub(digits + gap),
        ..row_above_bottom(1)
    };
    match parts.digits {
        Some(lines) => {
            for (row, line) in cell.rows().zip(lines) {
                Line::styled(line, style).render(row, buf);
            }
        }
        None => {
            let bold = style.add_modifier(Modifier::BOLD);
            Line::styled(parts.number, bold).render(row_above_bottom(1), buf);
        }
    }
    Line::raw(parts.unit).render(unit_area, buf);
    let faint = theme.role_style(StyleRole::Faint);
    match metric.margin_text().filter(|_| margins) {
        Some(margin) if !theme.ascii => {
            let above = Rect {
                y: row_above_bottom(2).y,
                ..unit_area
            };
            Line::styled(margin, faint).render(above, buf);
        }
        _ => {}
    }
    Line::styled(parts.label, faint).render(row_above_bottom(0), buf);
}

/// Whether the unit continues the number without a blank: `k IOPS`.
fn is_prefix(letter: char) -> bool {
    matches!(letter, 'k' | 'M' | 'G' | 'T')
}

/// Width of a metric in columns: its number with unit, and its name below.
fn metric_width(metric: &Metric, margins: bool, theme: Theme) -> u16 {
    let parts = HeadlineParts::new(metric, theme);
    let margin = metric.margin_text().filter(|_| margins);
    let unit_width = margin
        .map_or(0, |margin| margin.width())
        .max(parts.unit.width());
    (parts.number_width() + 1 + unit_width).max(parts.label.width()) as u16
}

/// Splits `83.9k IOPS` into number and unit: `83.9`, `k IOPS`.
fn split_unit(text: &str) -> (String, String) {
    let numeric = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-';
    let end = text.find(|letter| !numeric(letter)).unwrap_or(text.len());
    (text[..end].to_owned(), text[end..].trim().to_owned())
}
