//! The headline metrics of a benchmark, in large digits.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::session::document::Metric;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::digits::large_digits;

/// Height in rows.
pub(super) const HEIGHT: u16 = 4;
/// Columns between two metrics.
const METRIC_GAP: u16 = 4;

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
        let (number, unit) = split_unit(&metric.value_text());
        let lines = if theme.ascii {
            None
        } else {
            large_digits(&number)
        };
        let digits = lines
            .as_ref()
            .map_or(number.width(), |lines| lines[0].width()) as u16;
        let label = metric.label();
        let own_width = metric_width(metric, margins, theme);
        if left + own_width > area.right() {
            return;
        }
        let cell = Rect {
            x: left,
            width: own_width,
            ..area
        };
        draw_number(&number, lines, theme.role_style(role), cell, buf);
        let bottom = |row: u16| Rect {
            y: area.y + row.min(area.height.saturating_sub(1)),
            height: 1,
            ..cell
        };
        let unit_area = Rect {
            x: cell.x + digits + 1,
            width: own_width - digits - 1,
            ..bottom(2)
        };
        Line::raw(unit).render(unit_area, buf);
        if let Some(margin) = metric.margin_text().filter(|_| margins) {
            let above = Rect {
                y: bottom(1).y,
                ..unit_area
            };
            Line::styled(margin, theme.role_style(StyleRole::Faint)).render(above, buf);
        }
        Line::styled(label, theme.role_style(StyleRole::Faint)).render(bottom(3), buf);
        left += own_width + METRIC_GAP;
    }
}

/// Width of a metric in columns: its number with unit, and its name below.
fn metric_width(metric: &Metric, margins: bool, theme: Theme) -> u16 {
    let (number, unit) = split_unit(&metric.value_text());
    let lines = if theme.ascii {
        None
    } else {
        large_digits(&number)
    };
    let digits = lines.map_or(number.width(), |lines| lines[0].width());
    let margin = metric.margin_text().filter(|_| margins);
    let unit_width = margin.map_or(0, |margin| margin.width()).max(unit.width());
    (digits + 1 + unit_width).max(metric.label().width()) as u16
}

fn draw_number(
    number: &str,
    lines: Option<[String; 3]>,
    style: ratatui::style::Style,
    area: Rect,
    buf: &mut Buffer,
) {
    match lines {
        Some(lines) => {
            for (row, line) in area.rows().zip(lines) {
                Line::styled(line, style).render(row, buf);
            }
        }
        None => {
            let row = Rect {
                y: area.y + 2.min(area.height.saturating_sub(1)),
                height: 1,
                ..area
            };
            let bold = style.add_modifier(ratatui::style::Modifier::BOLD);
            Line::from(Span::styled(number.to_owned(), bold)).render(row, buf);
        }
    }
}

/// Splits `83.9k /s` into number and unit: `83.9`, `k /s`.
fn split_unit(text: &str) -> (String, String) {
    let numeric = |letter: char| letter.is_ascii_digit() || letter == '.' || letter == '-';
    let end = text.find(|letter| !numeric(letter)).unwrap_or(text.len());
    (text[..end].to_owned(), text[end..].trim().to_owned())
}
