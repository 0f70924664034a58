//! The devices of the Live screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::app::preferences::DeviceColumnName;
use crate::model::history::DevicePoint;
use crate::model::snapshot::DeviceView;
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::bar::sparkline;
use crate::ui::widgets::table::{TableColumn, TableWidget, number_cell};
use crate::ui::widgets::text::{cut_end, grouped_thousands, unknown_value};
use crate::units;

const COLUMNS: [TableColumn; 12] = [
    TableColumn::text("DEVICES", 11, 3, 0),
    TableColumn::text("", 18, 20, 9),
    TableColumn::numeric("r/s", "r/s", 7, 0),
    TableColumn::numeric("w/s", "w/s", 7, 0),
    TableColumn::numeric("rMB/s", "rMB/s", 6, 0),
    TableColumn::numeric("wMB/s", "wMB/s", 6, 0),
    TableColumn::numeric("r_await ms", "r_await", 7, 2),
    TableColumn::numeric("w_await ms", "w_await", 7, 3),
    TableColumn::numeric("aqu-sz", "aqu-sz", 6, 0),
    TableColumn::numeric("areq-sz", "areq-sz", 11, 5),
    TableColumn::numeric("%util", "%util", 5, 0),
    TableColumn::text("r+wMB/s", 7, 53, 4),
];

/// Mean request size in bytes from which on the pattern is called sequential.
const SEQUENTIAL_MIN_BYTES: f64 = 128.0 * 1024.0;
/// Mean request size in bytes up to which the pattern is called random.
const RANDOM_MAX_BYTES: f64 = 64.0 * 1024.0;
/// Utilization above which a device that serves one request at a time is saturated.
const SATURATED_UTILIZATION: f64 = 0.9;

/// Draws the devices.
pub(super) fn draw(
    devices: &[&DeviceView],
    live: &LiveState,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let device = devices[row];
        match column {
            0 => name_cell(device, devices, theme),
            1 => label_cell(device, width, theme),
            11 => sparkline_cell(live, device, width, theme),
            column => metric_cell(device, column, theme),
        }
    };
    let columns = shown_columns(&live.shown_columns);
    let table = TableWidget {
        columns: &columns,
        row_count: devices.len(),
        cell: &cell,
        selected_row: selected_row(devices, live),
        sorted_by: None,
        theme,
    };
    (&table).render(area, buf);
    if devices.is_empty() && area.height > 1 {
        let row = Rect::new(area.x, area.y + 1, area.width, 1);
        let text = if live.show_idle {
            "no block devices"
        } else {
            "all devices are idle"
        };
        Line::styled(text, theme.role_style(StyleRole::Faint)).render(row, buf);
    }
}

/// The columns without those that the user leaves out.
fn shown_columns(shown: &[DeviceColumnName]) -> [TableColumn; COLUMNS.len()] {
    let is_left_out = |column: &TableColumn| {
        let mut optional = DeviceColumnName::ALL.into_iter();
        let name = optional.find(|name| name.word() == column.short_heading);
        !shown.is_empty() && name.is_some_and(|name| !shown.contains(&name))
    };
    COLUMNS.map(|column| match is_left_out(&column) {
        true => column.left_out(),
        false => column,
    })
}

/// The selected line, if the devices are focused.
fn selected_row(devices: &[&DeviceView], live: &LiveState) -> Option<usize> {
    let name = live
        .selected_device_name
        .as_ref()
        .filter(|_| live.devices_focused)?;
    devices.iter().position(|device| device.name == *name)
}

fn name_cell(device: &DeviceView, listed: &[&DeviceView], theme: Theme) -> Line<'static> {
    let below = device
        .parent
        .as_ref()
        .is_some_and(|parent| listed.iter().any(|other| other.name == *parent));
    let branch = if below { theme.glyphs().branch } else { "" };
    Line::raw(format!("{branch}{}", device.name))
}

fn label_cell(device: &DeviceView, width: u16, theme: Theme) -> Line<'static> {
    let size = device
        .size_bytes
        .map(|bytes| units::format_capacity(bytes as f64));
    let parts: Vec<_> = [
        Some(device.label.clone()),
        size.map(Into::into),
        device.mount_point.clone(),
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
    let pattern = if bytes >= SEQUENTIAL_MIN_BYTES {
        " seq"
    } else if bytes <= RANDOM_MAX_BYTES {
        " rnd"
    } else {
        ""
    };
    let size = units::format_block_size((bytes / 512.0).round() * 512.0);
    let (number, unit) = size.split_once(' ').unwrap_or((&size, ""));
    let number = number.split('.').next().unwrap_or(number);
    Line::from(vec![
        Span::raw(format!("{number} {unit}")),
        Span::styled(pattern, theme.role_style(StyleRole::Faint)),
    ])
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

/// Throughput of the last samples, in the colour of the direction with more bytes.
fn sparkline_cell(
    live: &LiveState,
    device: &DeviceView,
    width: u16,
    theme: Theme,
) -> Line<'static> {
    let width = usize::from(width);
    let points: Vec<_> = live.history.latest_points(&device.name, width).collect();
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
    let missing = width.saturating_sub(values.len());
    let line = format!("{}{}", " ".repeat(missing), sparkline(&values, theme));
    Line::styled(line, theme.role_style(role))
}
