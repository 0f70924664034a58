//! Services, containers and other control groups.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::filter::draw_filter;
use super::rows::{take_bottom, take_top};
use crate::app::live::LiveState;
use crate::app::live::unit_list::UnitColumn;
use crate::columns::{self, Column};
use crate::snapshot::view::{Snapshot, UnitLimit, UnitView, is_units_notice};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::table::EntityTable;
use crate::tui::widgets::text::{cut_end, unknown_value, wrap_text};
use crate::units;

/// Pressure, and use of a limit, from which they are shown as a warning.
const PRESSURE_WARNING: f64 = 0.2;
const LIMIT_WARNING: f64 = 0.9;
/// Limits of the selected unit that are listed.
const MAX_LIMITS: usize = 4;

/// Draws the list, and below it what the selected unit is and what limits it.
pub(super) fn draw(live: &LiveState, theme: Theme, mut area: Rect, buf: &mut Buffer) {
    let snapshot = live.snapshot.as_deref();
    let faint = theme.role_style(StyleRole::Faint);
    let Some(rows) = live.units.rows(snapshot) else {
        let text = match live.timeline {
            Some(_) => "this recording contains no services and containers",
            None => "services and containers are read with the next sample",
        };
        Line::styled(text, faint).render(area, buf);
        return;
    };
    let selected = live.units.selected_index(&rows);
    let unit = selected.map(|index| rows[index]);
    let lines = foot_lines(snapshot, unit, area.width, theme);
    let height = u16::try_from(lines.len()).unwrap_or(u16::MAX);
    let height = height.min(area.height / 2);
    let foot = take_bottom(&mut area, height);
    for (row, line) in foot.rows().zip(lines) {
        line.render(row, buf);
    }
    if live.is_editing_filter || !live.units.filter.is_empty() {
        let line = take_bottom(&mut area, 1);
        draw_filter(live, theme, line, buf);
    }
    let columns: Vec<_> = columns::on_screen().collect();
    let list = &live.units;
    let table = EntityTable {
        title: "UNITS",
        columns: &columns,
        rows: &rows,
        cell: &|row, column, _| warned_cell(rows[row], column, theme),
        selected_row: selected,
        sorted_by: &list.column.columns(),
        descending: (list.column != UnitColumn::Name) != list.reversed,
        theme,
    };
    table.draw(area, buf);
    if rows.is_empty() {
        take_top(&mut area, 1);
        let text = match live.units.filter.is_empty() {
            true => "no control groups besides the root group",
            false => "no unit matches the filter",
        };
        Line::styled(text, faint).render(area, buf);
    }
}

/// Pressure and use of a limit from which they are shown as a warning.
fn warned_cell(unit: &UnitView, column: &Column<UnitView>, theme: Theme) -> Option<Line<'static>> {
    let limit = match column.key {
        "pressure_some" | "pressure_full" => PRESSURE_WARNING,
        "limit_usage" => LIMIT_WARNING,
        _ => return None,
    };
    let value = column.number(unit).filter(|value| *value >= limit)?;
    let style = theme.role_style(StyleRole::Warning);
    Some(Line::styled(column.unit.cell(value), style))
}

/// The selected unit's group and limits, and what the kernel does not tell.
fn foot_lines(
    snapshot: Option<&Snapshot>,
    unit: Option<&UnitView>,
    width: u16,
    theme: Theme,
) -> Vec<Line<'static>> {
    let faint = theme.role_style(StyleRole::Faint);
    let mut lines = vec![Line::default()];
    if let Some(unit) = unit {
        let text = format!("{}   Enter lists its processes", unit.path);
        lines.push(Line::raw(cut_end(&text, width, theme)));
        for limit in unit.limits.iter().take(MAX_LIMITS) {
            lines.push(limit_line(limit, theme));
        }
    }
    let notices = snapshot.map_or(&[][..], |snapshot| &snapshot.notices);
    let notices = notices.iter().filter(|notice| is_units_notice(notice));
    let mut notes: Vec<String> = notices.map(ToString::to_string).collect();
    let units = snapshot.and_then(|snapshot| snapshot.units.as_deref());
    if units.is_some_and(|units| units.iter().all(|unit| unit.pressure_some.is_none())) {
        let text =
            "pressure of units: n/a, no io.pressure (control groups of version 2, kernel with PSI)";
        notes.push(text.to_owned());
    }
    for note in notes {
        let wrapped = wrap_text(&note, width).into_iter();
        lines.extend(wrapped.map(|text| Line::styled(text, faint)));
    }
    lines
}

fn limit_line(limit: &UnitLimit, theme: Theme) -> Line<'static> {
    let bytes = |name: &str, limit: Option<u64>| {
        limit.map(|limit| format!("{name} {}", units::format_throughput(limit as f64)))
    };
    let ios =
        |name: &str, limit: Option<u64>| limit.map(|limit| format!("{name} {limit} per second"));
    let parts = [
        bytes("read", limit.read_bytes_per_s),
        bytes("write", limit.write_bytes_per_s),
        ios("reads", limit.read_ios_per_s),
        ios("writes", limit.write_ios_per_s),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let mut line = Line::raw(format!("limit on {}: {}", limit.device, parts.join(", ")));
    match limit.usage {
        Some(usage) => {
            let role = match usage >= LIMIT_WARNING {
                true => StyleRole::Warning,
                false => StyleRole::Plain,
            };
            let text = format!("   {} used", units::format_percent(usage));
            line.push_span(ratatui::text::Span::styled(text, theme.role_style(role)));
        }
        None => line.push_span(unknown_value(theme)),
    }
    line
}
