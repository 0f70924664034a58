//! Transfers: progress, rate, time left.

use super::{Column, Entity, NOT_IN_TABLES, Value, field};
use crate::snapshot::view::{GrowingFile, TransferState, TransferView};
use crate::units::{self, Unit};

type Transfer = Column<TransferView>;
type Growing = Column<GrowingFile>;

impl Entity for TransferView {
    const NAME: &'static str = "transfer";
    const COLUMNS: &'static [Transfer] = COLUMNS;
    type Counters = ();
}

#[rustfmt::skip]
const COLUMNS: &[Transfer] = &[
    field!(Transfer, command, "TRANSFER", (8, 8, 0)),
    Transfer::new("progress", "%", Unit::Ratio, |it| progress(it).into()).shown(3, 0).derived()
        .help("share that is done, rounded down"),
    field!(Transfer, position_bytes, "done", Bytes).shown(7, 0).help("bytes done"),
    field!(Transfer, size_bytes, "of", Bytes).shown(7, 2).help("all bytes"),
    field!(Transfer, rate_bytes_per_s, "MB/s", BytesPerSecond).shown(5, 0).help("rate, smoothed"),
    Transfer::text("time_left", "ETA", time_left, (8, 0, 0)).right().derived(),
    Transfer::text("range", "(range)", |it| range(it).into(), (15, 2, 4)).derived(),
    field!(Transfer, interval_rate_bytes_per_s, "now MB/s", BytesPerSecond).help("rate in the last interval"),
    Transfer::new("eta_ns", "ETA ms", Unit::Nanoseconds, |it| it.eta.into()).help("estimated time left"),
    Transfer::new("eta_low_ns", "ETA ms", Unit::Nanoseconds, |it| it.eta_low.into())
        .help("time left at the best of the recent rates"),
    Transfer::new("eta_high_ns", "ETA ms", Unit::Nanoseconds, |it| it.eta_high.into())
        .help("time left at the worst of the recent rates"),
    field!(Transfer, files_done, "files", Count).help("files that are copied completely, in a job of several"),
    field!(Transfer, files_total, "of files", Count).help("files to copy, as far as they are counted"),
    field!(Transfer, not_on_disk_bytes, "in RAM", Bytes).shown(9, NOT_IN_TABLES)
        .help("bytes of its destination that are in memory only; an upper limit unless `not_on_disk_exact`"),
    Transfer::new("drain_ns", "drain", Unit::Nanoseconds, |it| it.time_to_flush.into())
        .help("time within which these are flushed"),
];

/// Rounded down: 99.9 % is not everything.
fn progress(transfer: &TransferView) -> Option<f64> {
    let share = transfer.progress_fraction()?;
    Some((share * 100.0).floor() / 100.0)
}

/// The time left, or how it is over.
fn time_left(transfer: &TransferView) -> Value {
    let word = match (transfer.state, transfer.eta) {
        (TransferState::Finished, _) => "finished".to_owned(),
        (TransferState::Ended | TransferState::Closed, _) => "ended".to_owned(),
        (TransferState::Stalled, _) => "stalled".to_owned(),
        (_, Some(eta)) => units::format_wait(eta),
        (TransferState::Moving | TransferState::UnknownPosition, None) => return Value::Unknown,
    };
    word.into()
}

fn range(transfer: &TransferView) -> String {
    match (transfer.state, transfer.eta_low, transfer.eta_high) {
        (TransferState::Moving, Some(low), Some(high)) if low != high => {
            format!("({}-{})", units::format_wait(low), units::format_wait(high))
        }
        _ => String::new(),
    }
}

impl Entity for GrowingFile {
    const NAME: &'static str = "growing";
    #[rustfmt::skip]
    const COLUMNS: &'static [Growing] = &[
        field!(Growing, growth_bytes_per_s, "MB/s", BytesPerSecond).shown(8, 0).help("growth"),
        field!(Growing, size_bytes, "size", Bytes).shown(8, 0).help("length"),
        field!(Growing, command, "writer", (10, 5, 1)),
        field!(Growing, path, "GROWING FILE", (20, u16::MAX, 0)),
    ];
    type Counters = ();
}
