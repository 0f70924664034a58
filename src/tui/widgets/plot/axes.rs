//! Axes and marked values around the curves.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line as Text;
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::tui::theme::StyleRole;
use crate::tui::widgets::plot::{AxisMark, PlotArea, PlotWidget};
use crate::tui::widgets::text::cut_end;

pub(super) use crate::tui::widgets::plot::ticks::{max_horizontal_marks, max_vertical_marks};

impl PlotWidget<'_> {
    /// Draws line, ticks and labels of the vertical axis, to the left of the plot.
    pub(super) fn draw_y_axis(&self, marks: &[(f64, String)], ground: &PlotArea, buf: &mut Buffer) {
        let style = self.theme.role_style(StyleRole::Faint);
        let glyphs = self.theme.glyphs();
        let PlotArea {
            curve_area: plot,
            left_width: left,
            ..
        } = *ground;
        for row in plot.top()..plot.bottom() {
            buf[(plot.x - 1, row)]
                .set_char(glyphs.vertical)
                .set_style(style);
        }
        buf[(plot.x - 1, plot.bottom())]
            .set_char(glyphs.corner)
            .set_style(style);
        for (share, label) in marks {
            // Row 0 of the plot is its highest; a value at the bottom is on the axis itself.
            let up = (share * f64::from(plot.height)).round() as u16;
            let row = plot.bottom() - up.min(plot.height);
            if up > 0 {
                buf[(plot.x - 1, row)]
                    .set_char(glyphs.tick_left)
                    .set_style(style);
            }
            let cell = Rect::new(plot.x - left, row, left - 1, 1);
            Text::styled(label.as_str(), style)
                .right_aligned()
                .render(cell, buf);
        }
    }

    /// Draws line, ticks and labels of the horizontal axis, below the plot.
    pub(super) fn draw_x_axis(&self, ground: &PlotArea, buf: &mut Buffer) {
        let style = self.theme.role_style(StyleRole::Faint);
        let glyphs = self.theme.glyphs();
        let plot = ground.curve_area;
        let row = plot.bottom();
        for column in plot.left()..plot.right() {
            buf[(column, row)]
                .set_char(glyphs.horizontal)
                .set_style(style);
        }
        let most = ground.max_x_marks;
        let (mut marks, unit) = ground.x_scale.axis_ticks(self.x_axis.unit, most);
        if let Some((_, label)) = marks.last_mut() {
            *label = format!("{label} {unit}").trim_end().to_owned();
        }
        let mut free = plot.x - ground.left_width;
        for (share, label) in marks {
            let column = column_at(share, plot);
            buf[(column, row)]
                .set_char(glyphs.tick_below)
                .set_style(style);
            let label_width = label.width() as u16;
            let from = centered_left(column, label_width, plot);
            if from >= free {
                let cell = Rect::new(from, row + 1, label_width, 1).intersection(*buf.area());
                Text::styled(label, style).render(cell, buf);
                free = from + label_width + 1;
            }
        }
    }

    /// Vertical lines at the marked values where the curves leave room, with their names above.
    /// `unit` columns of the row above belong to the vertical axis.
    pub(super) fn draw_marks(&self, unit: u16, ground: &PlotArea, buf: &mut Buffer) {
        let style = self.theme.role_style(StyleRole::Warning);
        let plot = ground.curve_area;
        let left = plot.x - ground.left_width;
        let mut free = left + if unit > 0 { unit + 2 } else { 0 };
        let mut marks: Vec<(f64, &AxisMark)> = self
            .marks
            .iter()
            .filter(|mark| ground.x_scale.contains(mark.x))
            .map(|mark| (ground.x_scale.fraction(mark.x), mark))
            .filter(|(share, _)| (0.0..=1.0).contains(share))
            .collect();
        marks.sort_by(|one, other| one.0.total_cmp(&other.0));
        for (share, mark) in marks {
            let column = column_at(share, plot);
            for row in plot.top()..plot.bottom() {
                let cell = &mut buf[(column, row)];
                if cell.symbol() == " " {
                    cell.set_char(self.theme.glyphs().vertical).set_style(style);
                }
            }
            let room = plot.right().saturating_sub(free);
            let label = cut_end(&mark.label, room, self.theme);
            let label_width = label.width() as u16;
            // A few letters of a name are useless.
            if label_width < 4.min(mark.label.width() as u16) {
                continue;
            }
            let from = centered_left(column, label_width, plot).max(free);
            Text::styled(label, style).render(Rect::new(from, plot.y - 1, label_width, 1), buf);
            free = from + label_width + 2;
        }
    }
}

fn column_at(share: f64, plot: Rect) -> u16 {
    let along = (share * f64::from(plot.width - 1)).round() as u16;
    (plot.x + along).min(plot.right() - 1)
}

/// The left end of an element of width `label_width` centred on a column, limited by the plot's right end.
fn centered_left(column: u16, label_width: u16, plot: Rect) -> u16 {
    let end = plot.right().saturating_sub(label_width);
    column.saturating_sub(label_width / 2).min(end)
}
