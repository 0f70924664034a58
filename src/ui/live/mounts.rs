//! Mounted file systems: network, FUSE, btrfs and those on block devices.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::Line;
use ratatui::widgets::Widget;

use crate::app::live::LiveState;
use crate::columns::{self, Column, mount_error_text};
use crate::snapshot::view::MountView;
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::table::EntityTable;
use crate::tui::widgets::text::cut_end;
use crate::ui::live::rows::take_bottom;
use crate::units;

/// Draws the list.
pub(super) fn draw(live: &LiveState, theme: Theme, mut area: Rect, buf: &mut Buffer) {
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
    let rows: Vec<&MountView> = mounts.iter().collect();
    let errors = mounts.iter().flat_map(|mount| &mount.errors);
    let errors: Vec<String> = errors
        .filter(|errors| errors.total() > 0)
        .map(mount_error_text)
        .collect();
    let height = (errors.len() as u16).min(area.height / 3);
    let foot = take_bottom(&mut area, height);
    let height = usize::from(area.height.saturating_sub(1));
    live.viewport.record_extent(rows.len(), height);
    let first = live.viewport.first().min(rows.len());
    let columns: Vec<_> = columns::on_screen().collect();
    let table = EntityTable {
        title: "MOUNTED AT",
        columns: &columns,
        rows: &rows[first..],
        cell: &|row, column, _| warned_cell(rows[first + row], column, theme),
        selected_row: None,
        sorted_by: &[],
        descending: false,
        theme,
    };
    table.draw(area, buf);
    for (row, text) in foot.rows().zip(errors) {
        let style = theme.role_style(StyleRole::Error);
        Line::styled(cut_end(&text, row.width, theme), style).render(row, buf);
    }
}

/// Requests that were lost are a warning; the free space has a unit of its own.
fn warned_cell(
    mount: &MountView,
    column: &Column<MountView>,
    theme: Theme,
) -> Option<Line<'static>> {
    match column.key {
        "retransmissions_per_s" => {
            let lost = column.number(mount).filter(|lost| *lost > 0.0)?;
            let style = theme.role_style(StyleRole::Warning);
            Some(Line::styled(column.unit.cell(lost), style))
        }
        "available_bytes" => {
            let bytes = mount.available_bytes?;
            Some(Line::raw(units::format_capacity(bytes as f64)))
        }
        _ => None,
    }
}
