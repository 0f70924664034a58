//! The transfers of the Live screen: progress, rate, time left.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::app::live::{LiveList, LiveState};
use crate::columns::{self, Column, Value};
use crate::report::transfer_text::{
    operation_text, short_bottleneck_text, short_end_text, throttle_text,
};
use crate::snapshot::Snapshot;
use crate::snapshot::view::{Throttle, TransferState, TransferView, is_other_users_notice};
use crate::tui::theme::{StyleRole, Theme};
use crate::tui::widgets::bar::bar;
use crate::tui::widgets::table::EntityTable;
use crate::tui::widgets::text::{cut_end, cut_start, unknown_value};
use crate::units;

/// Columns that only the screen has.
static BAR: Column<TransferView> = Column::text("bar", "", |_| Value::Absent, (11, 2, 1));
static FILES: Column<TransferView> =
    Column::text("files", "TRANSFERS", |_| Value::Absent, (28, 60, 0));
static BOTTLENECK: Column<TransferView> =
    Column::text("bottleneck", "bottleneck", |_| Value::Absent, (20, 28, 0));

/// Draws the transfers.
pub(super) fn draw(
    live: &LiveState,
    sample: &Snapshot,
    theme: Theme,
    area: Rect,
    buf: &mut Buffer,
) {
    let transfers = &sample.transfers;
    if transfers.is_empty() {
        let hidden = sample
            .notices
            .iter()
            .any(|notice| is_other_users_notice(notice));
        let none = if hidden {
            "  no transfers visible: files of other users' processes need root"
        } else {
            "  no transfers"
        };
        Line::from(vec![
            Span::styled("TRANSFERS", theme.role_style(StyleRole::Title)),
            Span::styled(none, theme.role_style(StyleRole::Faint)),
        ])
        .render(area, buf);
        return;
    }
    let rows: Vec<&TransferView> = transfers.iter().collect();
    let cell = |row: usize, column: &Column<TransferView>, width: u16| {
        let transfer = rows[row];
        Some(match column.key {
            "files" => files_cell(transfer, width, theme),
            "bar" => progress_bar(transfer, width, theme),
            "position_bytes" => bytes_cell(transfer.position_bytes, theme),
            "size_bytes" => bytes_cell(transfer.size_bytes, theme),
            "time_left" => eta_cell(transfer, theme),
            "bottleneck" => bottleneck_cell(transfer, width, theme),
            _ => return None,
        })
    };
    let own = columns::on_screen().filter(|column| column.key != "command");
    let columns: Vec<_> = [&FILES, &BAR]
        .into_iter()
        .chain(own)
        .chain([&BOTTLENECK])
        .collect();
    let table = EntityTable {
        title: FILES.name,
        columns: &columns,
        rows: &rows,
        cell: &cell,
        selected_row: selected_row(live, transfers),
        sorted_by: &[],
        descending: false,
        theme,
    };
    table.draw(area, buf);
}

/// The selected line, if the transfers are focused.
fn selected_row(live: &LiveState, transfers: &[TransferView]) -> Option<usize> {
    let focused = live.focused_list == LiveList::Transfers;
    let key = live.selected_transfer_key.as_ref().filter(|_| focused)?;
    transfers.iter().position(|transfer| transfer.key() == *key)
}

/// `cp /srv/vm7.raw → /mnt/backup/vm7.raw`, the paths truncated at their start.
fn files_cell(transfer: &TransferView, width: u16, theme: Theme) -> Line<'static> {
    let command = cut_end(&command_text(transfer), width * 2 / 3, theme);
    let used = u16::try_from(command.width()).unwrap_or(u16::MAX) + 1;
    let room = width.saturating_sub(used);
    let arrow = theme.glyphs().arrow;
    let mut spans = vec![Span::raw(command), Span::raw(" ")];
    let path = |path: &str, room: u16, role: StyleRole| {
        Span::styled(cut_start(path, room, theme), theme.role_style(role))
    };
    match (&transfer.source, &transfer.destination) {
        (Some(from), Some(to)) => {
            let arrows = arrow.width() as u16 + 2;
            let both = room.saturating_sub(arrows);
            let (from_width, to_width) = (from.width() as u16, to.width() as u16);
            // The shorter path leaves its unused width to the other.
            let first = from_width.min((both / 2).max(both.saturating_sub(to_width)));
            spans.push(path(from, first, StyleRole::Read));
            spans.push(Span::styled(
                format!(" {arrow} "),
                theme.role_style(StyleRole::Faint),
            ));
            spans.push(path(to, both.saturating_sub(first), StyleRole::Write));
        }
        (Some(from), None) => spans.push(path(from, room, StyleRole::Read)),
        (None, Some(to)) => spans.push(path(to, room, StyleRole::Write)),
        (None, None) if transfer.pid.is_none() => {}
        (None, None) => spans.push(unknown_value(theme)),
    }
    Line::from(spans)
}

fn progress_bar(transfer: &TransferView, width: u16, theme: Theme) -> Line<'static> {
    let Some(share) = transfer.progress_fraction() else {
        // A stream has a position, but no final size.
        let reason = match transfer.position_bytes {
            Some(_) => "no size",
            None => "no position",
        };
        return Line::styled(
            cut_end(reason, width, theme),
            theme.role_style(StyleRole::Faint),
        );
    };
    let role = match transfer.state {
        TransferState::Stalled => StyleRole::Warning,
        _ => StyleRole::Success,
    };
    Line::from(bar(share, width, role, theme).to_vec())
}

fn bytes_cell(bytes: Option<u64>, theme: Theme) -> Line<'static> {
    match bytes {
        Some(bytes) => Line::raw(units::format_capacity(bytes as f64)),
        None => Line::from(unknown_value(theme)),
    }
}

fn eta_cell(transfer: &TransferView, theme: Theme) -> Line<'static> {
    let value = columns::column::<TransferView>("time_left").map(|it| (it.get)(transfer));
    let role = match transfer.state {
        TransferState::Finished => StyleRole::Success,
        TransferState::Ended | TransferState::Stalled => StyleRole::Warning,
        TransferState::Closed => StyleRole::Faint,
        TransferState::Moving | TransferState::UnknownPosition => StyleRole::Title,
    };
    match value {
        Some(Value::Text(text)) => Line::styled(text, theme.role_style(role)),
        _ => Line::from(unknown_value(theme)),
    }
}

/// The bottleneck with its reason, or how the transfer is over.
fn bottleneck_cell(transfer: &TransferView, width: u16, theme: Theme) -> Line<'static> {
    let (text, role) = if let Some(end) = short_end_text(transfer, usize::from(width)) {
        let role = match transfer.state {
            TransferState::Ended => StyleRole::Warning,
            _ => StyleRole::Faint,
        };
        (end, role)
    } else if let Some(text) = short_bottleneck_text(transfer, usize::from(width)) {
        let limited = transfer.throttle.is_some_and(|it| it != Throttle::OwnLimit);
        let role = if limited {
            StyleRole::Warning
        } else {
            StyleRole::Faint
        };
        (text, role)
    } else if let Some(throttle) = transfer.throttle {
        (throttle_text(throttle).to_owned(), StyleRole::Faint)
    } else {
        (String::new(), StyleRole::Faint)
    };
    Line::styled(cut_end(&text, width, theme), theme.role_style(role))
}

/// `cp 12/301`: the program, and for a job the number of files that are complete.
fn command_text(transfer: &TransferView) -> String {
    match (transfer.files_done, transfer.files_total) {
        (Some(done), Some(total)) => format!("{} {done}/{total}", transfer.command),
        (None, Some(total)) => format!("{} {total} files", transfer.command),
        _ => {
            // The program of an operation is often named after it.
            let operation = operation_text(transfer.kind);
            match operation.filter(|operation| *operation != &*transfer.command) {
                Some(operation) => format!("{} {operation}", transfer.command),
                None => transfer.command.clone().into(),
            }
        }
    }
}
