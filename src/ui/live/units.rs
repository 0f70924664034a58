//! Services, containers and other control groups.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use super::filter::draw_filter;
use super::rows::{take_bottom, take_top};
use crate::app::live::LiveState;
use crate::app::live::unit_list::UnitColumn;
use crate::columns::unit_label;
use crate::snapshot::view::{Snapshot, UnitLimit, UnitView, is_units_notice};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::table::{SortMark, TableColumn, TableWidget, number_cell};
use crate::ui::widgets::text::{cut_end, unknown_value, wrap_text};
use crate::units;

const COLUMNS: [TableColumn; 9] = [
    TableColumn::text("UNITS", 20, 40, 0),
    TableColumn::numeric("r/s", "r/s", 6, 2),
    TableColumn::numeric("w/s", "w/s", 6, 2),
    TableColumn::numeric("rMB/s", "rMB/s", 7, 0),
    TableColumn::numeric("wMB/s", "wMB/s", 7, 0),
    TableColumn::numeric("some%", "some%", 5, 0),
    TableColumn::numeric("full%", "full%", 5, 1),
    TableColumn::numeric("limit%", "limit%", 6, 0),
    TableColumn::text("group", 12, 60, 3),
];

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
    let cell = |row: usize, column: usize, width: u16| cell(rows[row], column, width, theme);
    let table = TableWidget {
        columns: &COLUMNS,
        row_count: rows.len(),
        cell: &cell,
        selected_row: selected,
        sorted_by: Some(sort_mark(live.units.column, live.units.reversed)),
        theme,
    };
    (&table).render(area, buf);
    if rows.is_empty() {
        take_top(&mut area, 1);
        let text = match live.units.filter.is_empty() {
            true => "no control groups besides the root group",
            false => "no unit matches the filter",
        };
        Line::styled(text, faint).render(area, buf);
    }
}

fn sort_mark(column: UnitColumn, reversed: bool) -> SortMark {
    let (column, second_column) = match column {
        UnitColumn::Name => (0, None),
        UnitColumn::Ios => (1, Some(2)),
        UnitColumn::Bytes => (3, Some(4)),
        UnitColumn::Pressure => (5, None),
        UnitColumn::Limit => (7, None),
    };
    SortMark {
        column,
        second_column,
        descending: (column != 0) != reversed,
    }
}

fn cell(unit: &UnitView, column: usize, width: u16, theme: Theme) -> Line<'static> {
    let faint = theme.role_style(StyleRole::Faint);
    let count = |value: f64| units::format_three_digits(value);
    let megabytes = |bytes: f64| units::format_three_digits(bytes / 1e6);
    let percent = |share: f64| format!("{:.0}", share * 100.0);
    let warned = |value: Option<f64>, from: f64| match value {
        Some(value) if value >= from => StyleRole::Warning,
        _ => StyleRole::Plain,
    };
    match column {
        0 => Line::raw(cut_end(&unit_label(unit), width, theme)),
        1 => number_cell(unit.read_ios_per_s, count, StyleRole::Read, theme),
        2 => number_cell(unit.write_ios_per_s, count, StyleRole::Write, theme),
        3 => number_cell(unit.read_bytes_per_s, megabytes, StyleRole::Read, theme),
        4 => number_cell(unit.write_bytes_per_s, megabytes, StyleRole::Write, theme),
        5 => {
            let role = warned(unit.pressure_some, PRESSURE_WARNING);
            number_cell(unit.pressure_some, percent, role, theme)
        }
        6 => {
            let role = warned(unit.pressure_full, PRESSURE_WARNING);
            number_cell(unit.pressure_full, percent, role, theme)
        }
        7 if unit.limits.is_empty() => Line::styled("-", faint),
        7 => {
            let usage = unit.limit_usage();
            number_cell(usage, percent, warned(usage, LIMIT_WARNING), theme)
        }
        _ => Line::styled(cut_end(&unit.path, width, theme), faint),
    }
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
