//! Measured values as text.

use crate::diagnosis::{Measurement, Quantity, Unit};
use crate::units;

/// Characters of a subject that are shown: a command line may be long.
const SUBJECT_CHARACTERS: usize = 32;

/// `sda w_await 41.0 ms`.
#[must_use]
pub fn measurement_text(measurement: &Measurement) -> String {
    let value = value_text(measurement.quantity, measurement.value);
    let label = label(measurement.quantity);
    match &measurement.subject {
        Some(subject) => {
            let subject = subject.clone().cut(SUBJECT_CHARACTERS);
            format!("{subject}: {label} {value}")
        }
        None => format!("{label} {value}"),
    }
}

/// The value with its unit.
pub(super) fn value_text(quantity: Quantity, value: f64) -> String {
    match quantity.unit() {
        Unit::Nanoseconds => units::format_latency(value),
        Unit::Bytes => units::format_capacity(value),
        Unit::BytesPerSecond => units::format_throughput(value),
        Unit::PerSecond => format!("{}/s", units::format_count(value.round())),
        Unit::Fraction => units::format_percent(value),
        Unit::Count if value.fract() == 0.0 => units::format_count(value),
        Unit::Count => units::format_three_digits(value),
    }
}

/// What stands before the value.
fn label(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::ReadAwait
        | Quantity::WriteAwait
        | Quantity::FlushAwait
        | Quantity::DiscardAwait
        | Quantity::QueueSize
        | Quantity::ReadSize
        | Quantity::WriteSize => quantity.name(),
        Quantity::LightLoadLatency => "latency under light load",
        Quantity::Utilization => "%util",
        Quantity::Iops => "IOPS",
        Quantity::Throughput => "throughput",
        Quantity::FlushRate => "flushes",
        Quantity::StuckRequests => "requests that do not complete",
        Quantity::BlockedTime => "blocked",
        Quantity::BlockedFor => "longest sleep",
        Quantity::WaitingTasks => "waiting tasks",
        Quantity::RequestsAhead => "share of the requests ahead",
        Quantity::TrafficShare => "share of the traffic",
        Quantity::IoPressure => "PSI io some",
        Quantity::MemoryPressure => "PSI memory some",
        Quantity::CpuPressure => "PSI cpu some",
        Quantity::CpuBusy => "CPU",
        Quantity::DirtyBytes => "dirty and writeback",
        Quantity::DirtyLimit => "throttled from",
        Quantity::SwapIn => "swap-in",
        Quantity::SwapOut => "swap-out",
        Quantity::Refaults => "refaults of files",
        Quantity::LimitUsage => "use of the limit",
        Quantity::LimitBytes | Quantity::LimitIops => "limit",
        Quantity::AvailableBytes => "available",
        Quantity::UsedFraction => "used",
        Quantity::LoggedErrors => "errors in the kernel log",
        Quantity::CommandErrors => "failed commands",
        Quantity::FuseWaiting => "requests to FUSE servers waiting",
        Quantity::LinkSpeed => "link",
        Quantity::LinkSupported => "supported",
        Quantity::DiscardShare => "share of the discards",
        Quantity::FilePieces => "pieces",
        Quantity::PieceSize => "mean size of a piece",
        Quantity::SaturatedTime => "saturated",
        Quantity::ThroughputSpread => "spread of the throughput",
    }
}
