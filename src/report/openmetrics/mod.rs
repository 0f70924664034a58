//! The OpenMetrics text format, as Prometheus and node_exporter's textfile collector read it, in
//! base units: seconds, bytes, ratios of 1.

mod exposition;
mod session;
mod snapshot;

pub use self::session::session_metrics;
pub use self::snapshot::SnapshotMetrics;
