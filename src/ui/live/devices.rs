//! The devices of the Live screen.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;

use crate::app::live::device_list::{
    DeviceColumn, DeviceList, ListedAncestors, mount_point, optional_columns,
};
use crate::app::live::{LiveList, LiveState};
use crate::columns::swap::SwapTraffic;
use crate::columns::{self, Column, Value};
use crate::files::safe_text::SafeText;
use crate::report::devices;
use crate::snapshot::Snapshot;
use crate::snapshot::history::DevicePoint;
use crate::snapshot::view::DeviceView;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::bar::sparkline;
use crate::tui::widgets::table::EntityTable;
use crate::tui::widgets::text::{cut_end, unknown_value};
use crate::ui::live::rows::take_bottom;
use crate::units;

/// Throughput of the last samples, which only the screen has.
static SPARKLINE: Column<DeviceView> = Column::text(
    "history",
    "MB/s, max at right",
    |_| Value::Absent,
    (18, 46, 8),
);
/// Least and most samples by which a sparkline is moved at once: moving it redraws every cell.
const SPARKLINE_MOVE_STEPS: (u16, u16) = (4, 8);
/// Width of the number beside the sparkline.
const SPARKLINE_NUMBER_WIDTH: u16 = 6;

/// Utilization above which a device that serves one request at a time is saturated.
const SATURATED_UTILIZATION: f64 = 0.9;

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
    let swap = live.snapshot.as_deref().and_then(SwapTraffic::of);
    let cell = |row: usize, column: &Column<DeviceView>, width: u16| {
        let device = rows[row];
        match column.key {
            "device" => Some(name_cell(device, &ancestors, width, theme)),
            "label" => Some(label_cell(device, all, swap.as_ref(), width, theme)),
            "busy" => Some(utilization_cell(device, theme)),
            "history" => Some(sparkline_cell(live, device, width, theme)),
            _ => None,
        }
    };
    let order = live.visible_device_order();
    let sorted_by: Vec<_> = order.column.into_iter().collect();
    let table = EntityTable {
        title: "DEVICES",
        columns: &shown_columns(&live.shown_columns),
        rows,
        cell: &cell,
        selected_row: selected_row(rows, live),
        sorted_by: &sorted_by,
        descending: order.column.is_some_and(Column::sorts_descending) != order.reversed,
        theme,
    };
    let drawn = table.draw(area, buf);
    live.device_columns
        .record(drawn.iter().map(|column| column.index()));
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

/// The columns without those that the user leaves out, and the sparkline; all if `shown` is empty.
fn shown_columns(shown: &[DeviceColumn]) -> Vec<DeviceColumn> {
    let optional = optional_columns();
    let is_shown =
        |it: &DeviceColumn| shown.is_empty() || shown.contains(it) || !optional.contains(it);
    let columns = columns::on_screen().filter(is_shown);
    columns.chain([&SPARKLINE]).collect()
}

/// What is not listed, and the key that lists it.
fn folded_text(list: &DeviceList<'_>) -> String {
    format!("+{}   i shows all", devices::folded_text(&list.folded))
}

/// Draws the rates of all media in the columns of the list, unless there is only one: devices on top
/// of others are not counted again.
pub(super) fn draw_totals(
    live: &LiveState,
    sample: &Snapshot,
    theme: Theme,
    row: Rect,
    buf: &mut Buffer,
) {
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
    let table = EntityTable {
        title: "",
        columns: &shown_columns(&live.shown_columns),
        rows: &[],
        cell: &|_, _, _| None,
        selected_row: None,
        sorted_by: &[],
        descending: false,
        theme,
    };
    table.draw_row("total", &total, row, buf);
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

fn label_cell(
    device: &DeviceView,
    all: &[DeviceView],
    swap: Option<&SwapTraffic<'_>>,
    width: u16,
    theme: Theme,
) -> Line<'static> {
    let size = device
        .size_bytes
        .map(|bytes| units::format_capacity(bytes as f64));
    let swap = swap.filter(|swap| swap.is_on(device, all));
    let parts: Vec<_> = [
        swap.map(|swap| swap.text().into()),
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

/// Bytes per second in MB/s, in at most six characters below 1 TB/s.
fn format_megabytes(bytes: f64) -> String {
    let megabytes = bytes / 1e6;
    if megabytes < 9999.95 {
        format!("{megabytes:.1}")
    } else {
        format!("{megabytes:.0}")
    }
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
