//! The devices of the Live screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::device_list::{DeviceColumn, DeviceList, ListedAncestors, mount_point};
use crate::app::live::{LiveList, LiveState};
use crate::files::safe_text::SafeText;
use crate::report::devices;
use crate::snapshot::Snapshot;
use crate::snapshot::history::DevicePoint;
use crate::snapshot::view::DeviceView;
use crate::ui::live::rows::take_bottom;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::bar::sparkline;
use crate::ui::widgets::table::{SortMark, TableColumn, TableWidget, fit_columns, number_cell};
use crate::ui::widgets::text::{cut_end, grouped_thousands, unknown_value};
use crate::units;

/// Name, label, the columns of [`DeviceColumn::ALL`] from the second on, and the sparkline.
const COLUMNS: [TableColumn; 12] = [
    TableColumn::text("DEVICES", 9, 5, 0),
    TableColumn::text("", 15, 23, 9),
    TableColumn::numeric("r/s", "r/s", 7, 0),
    TableColumn::numeric("w/s", "w/s", 7, 0),
    TableColumn::numeric("rMB/s", "rMB/s", 6, 0),
    TableColumn::numeric("wMB/s", "wMB/s", 6, 0),
    TableColumn::numeric("r_await ms", "r_await", 7, 2),
    TableColumn::numeric("w_await ms", "w_await", 7, 3),
    TableColumn::numeric("aqu-sz", "aqu-sz", 6, 0),
    TableColumn::numeric("areq-sz", "areq-sz", 8, 5),
    TableColumn::numeric("%util", "%util", 5, 0),
    TableColumn::text("MB/s, max at right", 18, 46, 8),
];
/// Indices of the columns that have totals.
const FIRST_RATE: usize = 2;
const LAST_RATE: usize = 5;
/// Index of the sparkline.
const SPARKLINE: usize = 11;
/// Least and most samples by which a sparkline is moved at once: moving it redraws every cell.
const SPARKLINE_MOVE_STEPS: (u16, u16) = (4, 8);
/// Width of the number beside the sparkline.
const SPARKLINE_NUMBER_WIDTH: u16 = 6;

/// Utilization above which a device that serves one request at a time is saturated.
const SATURATED_UTILIZATION: f64 = 0.9;

/// Index of a column in [`COLUMNS`].
fn column_index(column: DeviceColumn) -> usize {
    match column {
        DeviceColumn::Name => 0,
        // The label is behind the name.
        other => other.index() + 1,
    }
}

/// Number of rows that the list needs: with its heading, and a line for what is folded.
pub(super) fn row_count(list: &DeviceList<'_>) -> u16 {
    let rows = list.rows.len().max(1) + usize::from(list.folded.total() > 0) + 1;
    u16::try_from(rows).unwrap_or(u16::MAX)
}

/// Draws the devices.
pub(super) fn draw(
    list: &DeviceList<'_>,
    live: &LiveState,
    theme: Theme,
    mut area: Rect,
    buf: &mut Buffer,
) {
    if list.folded.total() > 0 && area.height > 2 {
        let row = take_bottom(&mut area, 1);
        Line::styled(folded_text(list), theme.role_style(StyleRole::Faint)).render(row, buf);
    }
    let rows = &list.rows;
    let all = live.snapshot.as_ref().map_or(&[][..], |it| &it.devices);
    let ancestors = ListedAncestors::new(rows, all);
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let device = rows[row];
        match column {
            0 => name_cell(device, &ancestors, width, theme),
            1 => label_cell(device, all, width, theme),
            SPARKLINE => sparkline_cell(live, device, width, theme),
            column => metric_cell(device, column, theme),
        }
    };
    let columns = shown_columns(&live.shown_columns);
    let drawn: Vec<usize> = fit_columns(&columns, area.width).indices().collect();
    let sortable = DeviceColumn::ALL.into_iter();
    live.device_columns.record(
        sortable
            .filter(|column| drawn.contains(&column_index(*column)))
            .map(DeviceColumn::index),
    );
    let order = live.visible_device_order();
    let table = TableWidget {
        columns: &columns,
        row_count: rows.len(),
        cell: &cell,
        selected_row: selected_row(rows, live),
        sorted_by: order.column.map(|column| SortMark {
            column: column_index(column),
            second_column: None,
            descending: order.reversed == (column == DeviceColumn::Name),
        }),
        theme,
    };
    (&table).render(area, buf);
    if rows.is_empty() && area.height > 1 {
        let row = Rect::new(area.x, area.y + 1, area.width, 1);
        let text = if live.device_filter.is_empty() {
            "no block devices with I/O"
        } else {
            "no device matches the filter"
        };
        Line::styled(text, theme.role_style(StyleRole::Faint)).render(row, buf);
    }
}

/// The columns without those that the user leaves out; all if `shown` is empty.
fn shown_columns(shown: &[DeviceColumn]) -> [TableColumn; COLUMNS.len()] {
    let mut columns = COLUMNS;
    let optional = DeviceColumn::optional().iter();
    for column in optional.filter(|column| !shown.is_empty() && !shown.contains(column)) {
        let index = column_index(*column);
        columns[index] = columns[index].left_out();
    }
    columns
}

/// What is not listed, and the key that lists it.
fn folded_text(list: &DeviceList<'_>) -> String {
    format!("+{}   i shows all", devices::folded_text(&list.folded))
}

/// Draws the rates of all media in the columns of the list, unless there is only one: devices on top
/// of others are not counted again.
pub(super) fn draw_totals(sample: &Snapshot, theme: Theme, row: Rect, buf: &mut Buffer) {
    let media = || sample.devices.iter().filter(|device| device.is_medium());
    if media().count() == 1 {
        return;
    }
    let sum =
        |of: fn(&DeviceView) -> Option<f64>| media().filter_map(of).reduce(|sum, rate| sum + rate);
    let total = DeviceView {
        read_ios_per_s: sum(|device| device.read_ios_per_s),
        write_ios_per_s: sum(|device| device.write_ios_per_s),
        read_bytes_per_s: sum(|device| device.read_bytes_per_s),
        write_bytes_per_s: sum(|device| device.write_bytes_per_s),
        ..DeviceView::default()
    };
    let cell = |column: usize| match column {
        0 => Some(Line::styled("total", theme.role_style(StyleRole::Faint))),
        FIRST_RATE..=LAST_RATE => Some(metric_cell(&total, column, theme)),
        _ => None,
    };
    fit_columns(&COLUMNS, row.width).draw_row(&COLUMNS, cell, row, buf);
}

/// The selected line, if the devices are focused.
fn selected_row(devices: &[&DeviceView], live: &LiveState) -> Option<usize> {
    let name = live
        .selected_device_name
        .as_ref()
        .filter(|_| live.focused_list == LiveList::Devices)?;
    devices.iter().position(|device| device.name == *name)
}

fn name_cell(
    device: &DeviceView,
    ancestors: &ListedAncestors<'_>,
    width: u16,
    theme: Theme,
) -> Line<'static> {
    let below = ancestors.index_below(device).is_some();
    let branch = if below { theme.glyphs().branch } else { "" };
    let name = format!("{branch}{}", device.display_name());
    Line::raw(cut_end(&name, width, theme))
}

fn label_cell(device: &DeviceView, all: &[DeviceView], width: u16, theme: Theme) -> Line<'static> {
    let size = device
        .size_bytes
        .map(|bytes| units::format_capacity(bytes as f64));
    let parts: Vec<_> = [
        Some(SafeText::from(devices::device_description(all, device))),
        size.map(Into::into),
        mount_point(device, all).map(SafeText::from),
    ]
    .into_iter()
    .flatten()
    .filter(|part| !part.is_empty())
    .collect();
    // Parts that do not fit are omitted, from the end; the first part is truncated.
    let fits = |count: &usize| parts[..*count].join("  ").chars().count() <= usize::from(width);
    let fitting = (1..=parts.len()).rev().find(fits).unwrap_or(1);
    let text = parts.get(..fitting).unwrap_or_default().join("  ");
    Line::styled(
        cut_end(&text, width, theme),
        theme.role_style(StyleRole::Faint),
    )
}

fn metric_cell(device: &DeviceView, column: usize, theme: Theme) -> Line<'static> {
    let milli = |value: f64| units::format_three_digits(value / 1e6);
    let (value, format, role): (_, &dyn Fn(f64) -> String, _) = match column {
        2 => (device.read_ios_per_s, &grouped_thousands, StyleRole::Read),
        3 => (device.write_ios_per_s, &grouped_thousands, StyleRole::Write),
        4 => (device.read_bytes_per_s, &format_megabytes, StyleRole::Read),
        5 => (
            device.write_bytes_per_s,
            &format_megabytes,
            StyleRole::Write,
        ),
        6 => return await_cell(device.read_await_ns, device.read_ios_per_s, milli, theme),
        7 => return await_cell(device.write_await_ns, device.write_ios_per_s, milli, theme),
        8 => (device.queue_size, &one_digit, StyleRole::Plain),
        9 => return request_size_cell(device, theme),
        _ => return utilization_cell(device, theme),
    };
    number_cell(value, format, role, theme)
}

/// Bytes per second in MB/s, in at most six characters below 1 TB/s.
fn format_megabytes(bytes: f64) -> String {
    let megabytes = bytes / 1e6;
    if megabytes < 9999.95 {
        format!("{megabytes:.1}")
    } else {
        format!("{megabytes:.0}")
    }
}

fn one_digit(value: f64) -> String {
    format!("{value:.1}")
}

/// A mean time: without completed requests there is none, which differs from unknown.
fn await_cell(
    time: Option<f64>,
    rate: Option<f64>,
    format: impl Fn(f64) -> String,
    theme: Theme,
) -> Line<'static> {
    if time.is_none() && rate == Some(0.0) {
        return Line::styled("-", theme.role_style(StyleRole::Faint));
    }
    number_cell(time, format, StyleRole::Plain, theme)
}

fn request_size_cell(device: &DeviceView, theme: Theme) -> Line<'static> {
    let Some(bytes) = device.request_bytes else {
        let idle = device.read_ios_per_s == Some(0.0) && device.write_ios_per_s == Some(0.0);
        return if idle {
            Line::styled("-", theme.role_style(StyleRole::Faint))
        } else {
            Line::from(unknown_value(theme))
        };
    };
    let size = units::format_block_size((bytes / 512.0).round() * 512.0);
    let (number, unit) = size.split_once(' ').unwrap_or((&size, ""));
    let number = number.split('.').next().unwrap_or(number);
    Line::raw(format!("{number} {unit}"))
}

fn utilization_cell(device: &DeviceView, theme: Theme) -> Line<'static> {
    let Some(share) = device.busy else {
        return Line::from(unknown_value(theme));
    };
    let role = if share == 0.0 {
        StyleRole::Faint
    } else if device.serves_serially && share >= SATURATED_UTILIZATION {
        StyleRole::Warning
    } else {
        StyleRole::Plain
    };
    let mark = if device.serves_serially { " " } else { "*" };
    Line::from(vec![
        Span::styled(format!("{:.0}", share * 100.0), theme.role_style(role)),
        Span::styled(mark, theme.role_style(StyleRole::Faint)),
    ])
}

/// Throughput of the last samples and the largest value, which is the height of the line, in the
/// colour of the direction with more bytes.
fn sparkline_cell(
    live: &LiveState,
    device: &DeviceView,
    width: u16,
    theme: Theme,
) -> Line<'static> {
    let width = width.saturating_sub(SPARKLINE_NUMBER_WIDTH + 1);
    let (least, most) = SPARKLINE_MOVE_STEPS;
    let step = (width / 5).clamp(least, most);
    let lag = live.history.samples_until_move(step.into());
    let width = usize::from(width);
    let shown = width.saturating_sub(lag);
    let points: Vec<_> = live.history.latest_points(&device.name, shown).collect();
    let values: Vec<_> = points
        .iter()
        .map(|point| point.bytes_per_s().map(f64::from))
        .collect();
    let sum = |of: fn(&DevicePoint) -> Option<f32>| -> f32 {
        points.iter().filter_map(|point| of(point)).sum()
    };
    let read = sum(|point| point.read_bytes_per_s);
    let written = sum(|point| point.write_bytes_per_s);
    let role = if read + written == 0.0 {
        StyleRole::Faint
    } else if written > read {
        StyleRole::Write
    } else {
        StyleRole::Read
    };
    let largest = values.iter().flatten().copied().reduce(f64::max);
    let missing = shown.saturating_sub(values.len());
    let line = format!(
        "{}{}{}",
        " ".repeat(missing),
        sparkline(&values, theme),
        " ".repeat(width - shown)
    );
    let number = largest.map_or_else(String::new, format_megabytes);
    Line::from(vec![
        Span::styled(line, theme.role_style(role)),
        Span::styled(format!(" {number:>6}"), theme.role_style(StyleRole::Faint)),
    ])
}
