//! The transfers of the Live screen: how far, how fast, how long still.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::Widget;
use unicode_width::UnicodeWidthStr;

use crate::model::Live;
use crate::model::live::{Bottleneck, Throttle, TransferState, TransferView, is_about_others};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::bar::bar;
use crate::ui::widgets::table::{Column, Table};
use crate::ui::widgets::text::{cut_end, cut_start, unknown};
use crate::units;

const COLUMNS: [Column; 9] = [
    Column::words("TRANSFERS", 22, 60, 0),
    Column::words("", 11, 2, 1),
    Column::number("", "", 5, 0),
    Column::number("done", "done", 8, 0),
    Column::number("of", "of", 8, 2),
    Column::number("MB/s", "MB/s", 6, 0),
    Column::number("left", "left", 7, 0),
    Column::words("likely", 13, 2, 4),
    Column::words("which end waits", 17, 3, 5),
];

/// Draws them.
pub(super) fn draw(sample: &Live, look: Look, area: Rect, buf: &mut Buffer) {
    let transfers = &sample.transfers;
    if transfers.is_empty() {
        let hidden = sample.notices.iter().any(|notice| is_about_others(notice));
        let none = if hidden {
            "  no process that shows its files moves through a large one"
        } else {
            "  no process moves through a large file"
        };
        Line::from(vec![
            Span::styled("TRANSFERS", look.style(Meaning::Title)),
            Span::styled(none, look.style(Meaning::Faint)),
        ])
        .render(area, buf);
        return;
    }
    let cell = |row: usize, column: usize, width: u16| -> Line<'static> {
        let transfer = &transfers[row];
        match column {
            0 => files(transfer, width, look),
            1 => progress_bar(transfer, width, look),
            2 => share(transfer).map_or_else(
                || Line::from(unknown(look)),
                |share| Line::raw(format!("{:.0} %", share * 100.0)),
            ),
            3 => bytes(transfer.position_bytes, look),
            4 => bytes(transfer.size_bytes, look),
            5 => rate(transfer, look),
            6 => left(transfer, look),
            7 => likely(transfer, look),
            _ => remark(transfer, width, look),
        }
    };
    let table = Table {
        columns: &COLUMNS,
        rows: transfers.len(),
        cell: &cell,
        selected: None,
        sorted: None,
        look,
    };
    (&table).render(area, buf);
}

fn share(transfer: &TransferView) -> Option<f64> {
    let (position, size) = (transfer.position_bytes?, transfer.size_bytes?);
    (size > 0).then(|| (position as f64 / size as f64).min(1.0))
}

/// `cp /srv/vm7.raw → /mnt/backup/vm7.raw`, the paths cut at their beginning.
fn files(transfer: &TransferView, width: u16, look: Look) -> Line<'static> {
    let command = cut_end(&command(transfer), width * 2 / 3, look);
    let used = u16::try_from(command.width()).unwrap_or(u16::MAX) + 1;
    let room = width.saturating_sub(used);
    let arrow = look.glyphs().arrow;
    let mut spans = vec![Span::raw(command), Span::raw(" ")];
    let path = |path: &str, room: u16, meaning: Meaning| {
        Span::styled(cut_start(path, room, look), look.style(meaning))
    };
    match (&transfer.source, &transfer.destination) {
        (Some(from), Some(to)) => {
            let arrows = arrow.width() as u16 + 2;
            let both = room.saturating_sub(arrows);
            let whole = (from.width() as u16, to.width() as u16);
            // The shorter path leaves what it does not need to the other.
            let first = whole.0.min((both / 2).max(both.saturating_sub(whole.1)));
            spans.push(path(from, first, Meaning::Read));
            spans.push(Span::styled(
                format!(" {arrow} "),
                look.style(Meaning::Faint),
            ));
            spans.push(path(to, both.saturating_sub(first), Meaning::Write));
        }
        (Some(from), None) => spans.push(path(from, room, Meaning::Read)),
        (None, Some(to)) => spans.push(path(to, room, Meaning::Write)),
        (None, None) => spans.push(unknown(look)),
    }
    Line::from(spans)
}

fn progress_bar(transfer: &TransferView, width: u16, look: Look) -> Line<'static> {
    let Some(share) = share(transfer) else {
        // A dump is as long as it will be; nobody knows.
        let why = match transfer.position_bytes {
            Some(_) => "open end",
            None => "no position",
        };
        return Line::styled(cut_end(why, width, look), look.style(Meaning::Faint));
    };
    let meaning = match transfer.state {
        TransferState::Stalled => Meaning::Waiting,
        _ => Meaning::Good,
    };
    Line::from(bar(share, width, meaning, look).to_vec())
}

fn bytes(bytes: Option<u64>, look: Look) -> Line<'static> {
    match bytes {
        Some(bytes) => Line::raw(units::capacity(bytes as f64)),
        None => Line::from(unknown(look)),
    }
}

fn rate(transfer: &TransferView, look: Look) -> Line<'static> {
    match transfer.rate_bytes_per_s {
        Some(rate) => Line::raw(units::three_digits(rate / 1e6)),
        None => Line::from(unknown(look)),
    }
}

fn left(transfer: &TransferView, look: Look) -> Line<'static> {
    match (transfer.state, transfer.eta) {
        (TransferState::Finished, _) => Line::styled("done", look.style(Meaning::Good)),
        (TransferState::Stalled, _) => Line::styled("stalled", look.style(Meaning::Waiting)),
        (_, Some(eta)) => Line::styled(units::waiting(eta), look.style(Meaning::Title)),
        (_, None) => Line::from(unknown(look)),
    }
}

fn likely(transfer: &TransferView, look: Look) -> Line<'static> {
    let text = match (transfer.state, transfer.eta_low, transfer.eta_high) {
        (TransferState::Moving, Some(low), Some(high)) if low != high => {
            format!("{}-{}", units::waiting(low), units::waiting(high))
        }
        _ => String::new(),
    };
    Line::styled(text, look.style(Meaning::Faint))
}

/// What it waits for, and what of a finished one is in memory only.
fn remark(transfer: &TransferView, width: u16, look: Look) -> Line<'static> {
    let unwritten = transfer.unwritten_bytes.filter(|bytes| *bytes > 0);
    let not_on_disk = |bytes: u64| format!("{} not on disk", units::capacity(bytes as f64));
    let (text, meaning) = match (transfer.throttled, transfer.waits_for, unwritten) {
        (Some(Throttle::DirtyMemory), ..) => ("throttled: dirty".to_owned(), Meaning::Waiting),
        (Some(Throttle::ControlGroup), ..) => ("throttled: cgroup".to_owned(), Meaning::Waiting),
        (Some(Throttle::OwnLimit), ..) => ("own limit".to_owned(), Meaning::Faint),
        (None, None, Some(bytes)) => (not_on_disk(bytes), Meaning::Waiting),
        (None, Some(end), _) => (end_of(end).to_owned(), Meaning::Faint),
        (None, None, None) => (String::new(), Meaning::Faint),
    };
    Line::styled(cut_end(&text, width, look), look.style(meaning))
}

fn end_of(end: Bottleneck) -> &'static str {
    match end {
        Bottleneck::Source => "source",
        Bottleneck::Destination => "destination",
        Bottleneck::Both => "one device",
        Bottleneck::Program => "no device",
    }
}

/// `cp 12/301`: the program, and of a job how many files have arrived.
fn command(transfer: &TransferView) -> String {
    match (transfer.files_done, transfer.files_total) {
        (Some(done), Some(total)) => format!("{} {done}/{total}", transfer.command),
        (None, Some(total)) => format!("{} {total} files", transfer.command),
        _ => transfer.command.clone().into(),
    }
}
