//! The transfers of the Live screen: progress, rate, time left.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::app::live::{LiveList, LiveState};
use crate::report::transfer_text::{
    operation_text, short_bottleneck_text, short_end_text, throttle_text,
};
use crate::snapshot::Snapshot;
use crate::snapshot::view::{Throttle, TransferState, TransferView, is_other_users_notice};
use crate::ui::theme::{StyleRole, Theme};
use crate::ui::widgets::bar::bar;
use crate::ui::widgets::table::{TableColumn, TableWidget};
use crate::ui::widgets::text::{cut_end, cut_start, unknown_value};
use crate::units;

const COLUMNS: [TableColumn; 9] = [
    TableColumn::text("TRANSFERS", 28, 60, 0),
    TableColumn::text("", 11, 2, 1),
    TableColumn::numeric("%", "%", 3, 0),
    TableColumn::numeric("done", "done", 7, 0),
    TableColumn::numeric("of", "of", 7, 2),
    TableColumn::numeric("MB/s", "MB/s", 5, 0),
    TableColumn::numeric("ETA", "ETA", 8, 0),
    TableColumn::text("(range)", 15, 2, 4),
    TableColumn::text("bottleneck", 20, 28, 0),
];

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
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let transfer = &transfers[row];
        match column {
            0 => files_cell(transfer, width, theme),
            1 => progress_bar(transfer, width, theme),
            2 => transfer.progress_fraction().map_or_else(
                || Line::from(unknown_value(theme)),
                |share| Line::raw(format!("{:.0}", (share * 100.0).floor())),
            ),
            3 => bytes_cell(transfer.position_bytes, theme),
            4 => bytes_cell(transfer.size_bytes, theme),
            5 => rate_cell(transfer, theme),
            6 => eta_cell(transfer, theme),
            7 => eta_range_cell(transfer, theme),
            _ => bottleneck_cell(transfer, width, theme),
        }
    };
    let table = TableWidget {
        columns: &COLUMNS,
        row_count: transfers.len(),
        cell: &cell,
        selected_row: selected_row(live, transfers),
        sorted_by: None,
        theme,
    };
    (&table).render(area, buf);
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

fn rate_cell(transfer: &TransferView, theme: Theme) -> Line<'static> {
    match transfer.rate_bytes_per_s {
        Some(rate) => Line::raw(units::format_three_digits(rate / 1e6)),
        None => Line::from(unknown_value(theme)),
    }
}

fn eta_cell(transfer: &TransferView, theme: Theme) -> Line<'static> {
    match (transfer.state, transfer.eta) {
        (TransferState::Finished, _) => {
            Line::styled("finished", theme.role_style(StyleRole::Success))
        }
        (TransferState::Ended, _) => Line::styled("ended", theme.role_style(StyleRole::Warning)),
        (TransferState::Closed, _) => Line::styled("ended", theme.role_style(StyleRole::Faint)),
        (TransferState::Stalled, _) => {
            Line::styled("stalled", theme.role_style(StyleRole::Warning))
        }
        (_, Some(eta)) => Line::styled(units::format_wait(eta), theme.role_style(StyleRole::Title)),
        (_, None) => Line::from(unknown_value(theme)),
    }
}

fn eta_range_cell(transfer: &TransferView, theme: Theme) -> Line<'static> {
    let text = match (transfer.state, transfer.eta_low, transfer.eta_high) {
        (TransferState::Moving, Some(low), Some(high)) if low != high => {
            format!("({}-{})", units::format_wait(low), units::format_wait(high))
        }
        _ => String::new(),
    };
    Line::styled(text, theme.role_style(StyleRole::Faint))
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
