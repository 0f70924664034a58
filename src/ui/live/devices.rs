//! The devices of the Live screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::model::history::Point;
use crate::model::live::DeviceView;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::bar::sparkline;
use crate::ui::widgets::table::{Column, Table, number_cell};
use crate::ui::widgets::text::{cut_end, grouped, unknown};
use crate::units;

const COLUMNS: [Column; 12] = [
    Column::words("DEVICES", 9, 5, 0),
    Column::words("", 18, 20, 9),
    Column::number("read/s", "read/s", 7, 0),
    Column::number("write/s", "write/s", 7, 0),
    Column::number("read MB/s", "r MB/s", 7, 0),
    Column::number("write MB/s", "w MB/s", 7, 0),
    Column::number("await r ms", "r ms", 6, 2),
    Column::number("await w ms", "w ms", 6, 3),
    Column::number("queue", "queue", 6, 4),
    Column::number("size", "size", 11, 5),
    Column::number("busy", "busy", 7, 0),
    Column::words("recent", 8, 52, 1),
];

/// From this mean size of requests on the pattern is called sequential, bytes.
const SEQUENTIAL_FROM: f64 = 128.0 * 1024.0;
/// Up to this mean size it is called random, bytes.
const RANDOM_TO: f64 = 64.0 * 1024.0;
/// Busy share from which on a device that serves one request at a time is saturated.
const SATURATED: f64 = 0.9;

/// Draws them.
pub(super) fn draw(
    devices: &[&DeviceView],
    live: &LiveState,
    look: Look,
    area: Rect,
    buf: &mut Buffer,
) {
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let device = devices[row];
        match column {
            0 => name(device, devices, look),
            1 => label(device, width, look),
            11 => history(live, device, width, look),
            column => figure(device, column, look),
        }
    };
    let table = Table {
        columns: &COLUMNS,
        rows: devices.len(),
        cell: &cell,
        selected: selected(devices, live),
        sorted: None,
        look,
    };
    (&table).render(area, buf);
    if devices.is_empty() && area.height > 1 {
        let row = Rect::new(area.x, area.y + 1, area.width, 1);
        let text = if live.idle {
            "no block device"
        } else {
            "all devices are idle"
        };
        Line::styled(text, look.style(Meaning::Faint)).render(row, buf);
    }
}

/// The selected line, while keys move through the devices.
fn selected(devices: &[&DeviceView], live: &LiveState) -> Option<usize> {
    let name = live.device.as_ref().filter(|_| live.on_devices)?;
    devices.iter().position(|device| device.name == *name)
}

fn name(device: &DeviceView, listed: &[&DeviceView], look: Look) -> Line<'static> {
    let below = device
        .parent
        .as_ref()
        .is_some_and(|parent| listed.iter().any(|other| other.name == *parent));
    let branch = if below { look.glyphs().branch } else { "" };
    Line::raw(format!("{branch}{}", device.name))
}

fn label(device: &DeviceView, width: u16, look: Look) -> Line<'static> {
    let size = device.size_bytes.map(|bytes| units::capacity(bytes as f64));
    let parts: Vec<_> = [
        Some(device.label.clone()),
        size.map(Into::into),
        device.mounted_at.clone(),
    ]
    .into_iter()
    .flatten()
    .filter(|part| !part.is_empty())
    .collect();
    // What does not fit whole is left out, from the end; the first part is cut.
    let whole = |count: &usize| parts[..*count].join("  ").chars().count() <= usize::from(width);
    let fitting = (1..=parts.len()).rev().find(whole).unwrap_or(1);
    let text = parts.get(..fitting).unwrap_or_default().join("  ");
    Line::styled(cut_end(&text, width, look), look.style(Meaning::Faint))
}

fn figure(device: &DeviceView, column: usize, look: Look) -> Line<'static> {
    let mega = |value: f64| format!("{:.1}", value / 1e6);
    let milli = |value: f64| units::three_digits(value / 1e6);
    let (value, format, meaning): (_, &dyn Fn(f64) -> String, _) = match column {
        2 => (device.read_ios_per_s, &grouped, Meaning::Read),
        3 => (device.write_ios_per_s, &grouped, Meaning::Write),
        4 => (device.read_bytes_per_s, &mega, Meaning::Read),
        5 => (device.write_bytes_per_s, &mega, Meaning::Write),
        6 => return awaited(device.read_await_ns, device.read_ios_per_s, milli, look),
        7 => return awaited(device.write_await_ns, device.write_ios_per_s, milli, look),
        8 => (device.queue_size, &one_digit, Meaning::Plain),
        9 => return request_size(device, look),
        _ => return busy(device, look),
    };
    number_cell(value, format, meaning, look)
}

fn one_digit(value: f64) -> String {
    format!("{value:.1}")
}

/// A mean time: where no request completed there is none, which is not the same as unknown.
fn awaited(
    time: Option<f64>,
    rate: Option<f64>,
    format: impl Fn(f64) -> String,
    look: Look,
) -> Line<'static> {
    if time.is_none() && rate == Some(0.0) {
        return Line::styled("-", look.style(Meaning::Faint));
    }
    number_cell(time, format, Meaning::Plain, look)
}

fn request_size(device: &DeviceView, look: Look) -> Line<'static> {
    let Some(bytes) = device.request_bytes else {
        let idle = device.read_ios_per_s == Some(0.0) && device.write_ios_per_s == Some(0.0);
        return if idle {
            Line::styled("-", look.style(Meaning::Faint))
        } else {
            Line::from(unknown(look))
        };
    };
    let pattern = if bytes >= SEQUENTIAL_FROM {
        " seq"
    } else if bytes <= RANDOM_TO {
        " rnd"
    } else {
        ""
    };
    let size = units::block_size((bytes / 512.0).round() * 512.0);
    let (number, unit) = size.split_once(' ').unwrap_or((&size, ""));
    let number = number.split('.').next().unwrap_or(number);
    Line::from(vec![
        Span::raw(format!("{number} {unit}")),
        Span::styled(pattern, look.style(Meaning::Faint)),
    ])
}

fn busy(device: &DeviceView, look: Look) -> Line<'static> {
    let Some(share) = device.busy else {
        return Line::from(unknown(look));
    };
    let meaning = if share == 0.0 {
        Meaning::Faint
    } else if device.serial && share >= SATURATED {
        Meaning::Waiting
    } else {
        Meaning::Plain
    };
    let mark = if device.serial { " " } else { "*" };
    Line::from(vec![
        Span::styled(format!("{:.0} %", share * 100.0), look.style(meaning)),
        Span::styled(mark, look.style(Meaning::Faint)),
    ])
}

/// Throughput of the last samples; the colour is the direction's that moved more.
fn history(live: &LiveState, device: &DeviceView, width: u16, look: Look) -> Line<'static> {
    let width = usize::from(width);
    let points: Vec<_> = live.history.latest(&device.name, width).collect();
    let values: Vec<_> = points
        .iter()
        .map(|point| point.bytes_per_s().map(f64::from))
        .collect();
    let sum = |of: fn(&Point) -> Option<f32>| -> f32 {
        points.iter().filter_map(|point| of(point)).sum()
    };
    let read = sum(|point| point.read_bytes_per_s);
    let written = sum(|point| point.write_bytes_per_s);
    let meaning = if read + written == 0.0 {
        Meaning::Faint
    } else if written > read {
        Meaning::Write
    } else {
        Meaning::Read
    };
    let missing = width.saturating_sub(values.len());
    let line = format!("{}{}", " ".repeat(missing), sparkline(&values, look));
    Line::styled(line, look.style(meaning))
}
