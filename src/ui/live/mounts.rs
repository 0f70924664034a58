//! Mounted file systems: network, FUSE, btrfs and those on block devices.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::columns::{file_system_name, mount_error_text, no_values_text};
use crate::snapshot::view::{MountErrors, MountView, NoMountValues};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::table::{TableColumn, TableWidget, number_cell};
use crate::ui::widgets::text::{cut_end, cut_start};
use crate::units;

const COLUMNS: [TableColumn; 11] = [
    TableColumn::text("MOUNTED AT", 16, 40, 0),
    TableColumn::text("type", 8, 4, 0),
    TableColumn::numeric("rMB/s", "rMB/s", 6, 0),
    TableColumn::numeric("wMB/s", "wMB/s", 6, 0),
    TableColumn::numeric("req/s", "req/s", 6, 0),
    TableColumn::numeric("rtt ms", "rtt", 5, 0),
    TableColumn::numeric("exe ms", "exe", 5, 0),
    TableColumn::numeric("rexm/s", "rexm/s", 6, 4),
    TableColumn::numeric("wait", "wait", 5, 0),
    TableColumn::numeric("free", "free", 8, 3),
    TableColumn::text("source", 10, 40, 1),
];

/// One line of the list.
enum MountRow<'s> {
    Mount(&'s MountView),
    /// Errors of a device of the btrfs above it.
    Errors(&'s MountErrors),
}

/// Draws the list.
pub(super) fn draw(live: &LiveState, theme: Theme, area: Rect, buf: &mut Buffer) {
    let faint = theme.role_style(StyleRole::Faint);
    let snapshot = live.snapshot.as_deref();
    let Some(mounts) = snapshot.and_then(|snapshot| snapshot.mounts.as_deref()) else {
        let text = match live.timeline {
            Some(_) => "this recording contains no mounts",
            None => "mounts are read with the next sample",
        };
        Line::styled(text, faint).render(area, buf);
        return;
    };
    let rows: Vec<MountRow<'_>> = mounts.iter().flat_map(rows_of).collect();
    let height = usize::from(area.height.saturating_sub(1));
    live.viewport.record_extent(rows.len(), height);
    let first = live.viewport.first().min(rows.len());
    let shown = &rows[first..];
    let cell = |row: usize, column: usize, width: u16| match shown[row] {
        MountRow::Mount(mount) => cell(mount, column, width, theme),
        MountRow::Errors(_) => Line::default(),
    };
    let table = TableWidget {
        columns: &COLUMNS,
        row_count: shown.len(),
        cell: &cell,
        selected_row: None,
        sorted_by: None,
        theme,
    };
    (&table).render(area, buf);
    // What has no numbers gets a text over all columns.
    for (row, mount) in area.rows().skip(1).zip(shown) {
        let text = match mount {
            MountRow::Errors(errors) => mount_error_text(errors),
            MountRow::Mount(_) => continue,
        };
        let style = theme.role_style(StyleRole::Error);
        Line::styled(cut_end(&text, row.width, theme), style).render(row, buf);
    }
}

/// Which device the rates are of, or why there are none.
fn source_text(mount: &MountView, reason: NoMountValues) -> String {
    match mount.shared_device() {
        Some((device, mounts)) => format!("on {device}, of {mounts} mounts"),
        None => no_values_text(mount, reason),
    }
}

fn rows_of(mount: &MountView) -> impl Iterator<Item = MountRow<'_>> {
    let errors = mount.errors.iter().filter(|errors| errors.total() > 0);
    std::iter::once(MountRow::Mount(mount)).chain(errors.map(MountRow::Errors))
}

fn cell(mount: &MountView, column: usize, width: u16, theme: Theme) -> Line<'static> {
    let faint = theme.role_style(StyleRole::Faint);
    let rate =
        |value: Option<f64>, role| number_cell(value, units::format_three_digits, role, theme);
    let time =
        |nanoseconds: Option<f64>| rate(nanoseconds.map(|time| time / 1e6), StyleRole::Plain);
    let megabytes = |bytes: Option<f64>, role| rate(bytes.map(|bytes| bytes / 1e6), role);
    match column {
        0 => Line::raw(cut_start(&mount.mount_point, width, theme)),
        1 => Line::raw(cut_end(&file_system_name(mount), width, theme)),
        9 => match mount.available_bytes {
            Some(bytes) => Line::raw(units::format_capacity(bytes as f64)),
            None => Line::styled("-", faint),
        },
        10 => match mount.no_values {
            Some(reason) => Line::styled(cut_end(&source_text(mount, reason), width, theme), faint),
            None => Line::styled(cut_end(&mount.source, width, theme), faint),
        },
        // The reason is in the last column.
        _ if mount.without_rates().is_some() => Line::styled("-", faint),
        // A block device has none of these.
        5..=8 if mount.no_values.is_some() => Line::styled("-", faint),
        2 => megabytes(mount.read_bytes_per_s, StyleRole::Read),
        3 => megabytes(mount.write_bytes_per_s, StyleRole::Write),
        4 => rate(mount.requests_per_s, StyleRole::Plain),
        5 => time(mount.round_trip_ns),
        6 => time(mount.execution_ns),
        7 => match mount.retransmissions_per_s {
            Some(lost) if lost > 0.0 => rate(Some(lost), StyleRole::Warning),
            other => rate(other, StyleRole::Plain),
        },
        _ => number_cell(
            mount.waiting.map(|waiting| waiting as f64),
            |waiting| format!("{waiting:.0}"),
            StyleRole::Plain,
            theme,
        ),
    }
}
