//! Transfers: progress, rate, time left.

use super::{Column, Entity, NOT_IN_TABLES, Value, count};
use crate::snapshot::view::{GrowingFile, TransferState, TransferView};
use crate::units::{self, Unit};

type Transfer = Column<TransferView>;
type Growing = Column<GrowingFile>;

impl Entity for TransferView {
    const NAME: &'static str = "transfer";
    const COLUMNS: &'static [Transfer] = COLUMNS;
    type Counters = ();
}

const COLUMNS: &[Transfer] = &[
    Transfer::text("command", "TRANSFER", |it| (&it.command).into(), (8, 8, 0)),
    Transfer::new("progress", "%", Unit::Ratio, |it| progress(it).into())
        .help("share that is done, rounded down")
        .shown(3, 0)
        .derived(),
    Transfer::new("position_bytes", "done", Unit::Bytes, |it| count(it.position_bytes))
        .help("bytes done")
        .shown(7, 0),
    Transfer::new("size_bytes", "of", Unit::Bytes, |it| count(it.size_bytes))
        .help("all bytes")
        .shown(7, 2),
    Transfer::new("rate_bytes_per_s", "MB/s", Unit::BytesPerSecond, |it| {
        it.rate_bytes_per_s.into()
    })
    .help("rate, smoothed")
    .shown(5, 0),
    Transfer::text("time_left", "ETA", time_left, (8, 0, 0))
        .right()
        .derived(),
    Transfer::text("range", "(range)", |it| range(it).into(), (15, 2, 4)).derived(),
    Transfer::new("interval_rate_bytes_per_s", "now MB/s", Unit::BytesPerSecond, |it| {
        it.interval_rate_bytes_per_s.into()
    })
    .help("rate in the last interval"),
    Transfer::new("eta_ns", "ETA ms", Unit::Nanoseconds, |it| it.eta.into())
        .help("estimated time left"),
    Transfer::new("eta_low_ns", "ETA ms", Unit::Nanoseconds, |it| it.eta_low.into())
        .help("time left at the best of the recent rates"),
    Transfer::new("eta_high_ns", "ETA ms", Unit::Nanoseconds, |it| it.eta_high.into())
        .help("time left at the worst of the recent rates"),
    Transfer::new("files_done", "files", Unit::Count, |it| count(it.files_done))
        .help("files that are copied completely, in a job of several"),
    Transfer::new("files_total", "of files", Unit::Count, |it| count(it.files_total))
        .help("files to copy, as far as they are counted"),
    Transfer::new("not_on_disk_bytes", "in RAM", Unit::Bytes, |it| {
        count(it.not_on_disk_bytes)
    })
    .help("bytes of its destination that are in memory only; an upper limit unless `not_on_disk_exact`")
    .shown(9, NOT_IN_TABLES),
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
    const COLUMNS: &'static [Growing] = &[
        Growing::new("growth_bytes_per_s", "MB/s", Unit::BytesPerSecond, |it| {
            Value::Number(it.growth_bytes_per_s)
        })
        .help("growth")
        .shown(8, 0),
        Growing::new("size_bytes", "size", Unit::Bytes, |it| {
            Value::Number(it.size_bytes as f64)
        })
        .help("length")
        .shown(8, 0),
        Growing::text("command", "writer", |it| (&it.command).into(), (10, 5, 1)),
        Growing::text(
            "path",
            "GROWING FILE",
            |it| (&it.path).into(),
            (20, u16::MAX, 0),
        ),
    ];
    type Counters = ();
}
