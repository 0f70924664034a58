//! Individual requests as rows of text, and summaries of many as text or JSON.

use std::fmt::Write as _;

use serde::Serialize;

use super::text::histogram_text;
use crate::files::printable::printable_bytes;
use crate::session::document::LatencySummary;
use crate::trace::requests::{
    MeanTime, OperationCounts, OperationLatency, PerThreadStats, RequestActor, RequestOperation,
    RequestSummary, TracedRequest,
};
use crate::units;

/// Represents an unknown value.
const UNKNOWN_VALUE: &str = "-";
/// Maximum number of listed threads; those with the most bytes are listed.
const MAX_LISTED_THREADS: usize = 10;

/// Heading of the rows.
pub const REQUEST_HEADING: &str = "    time s    pid process          operation       sector     size       Q2D       D2C       Q2C";

/// One request as a row of slightly more than 80 columns, without a newline.
#[must_use]
pub fn request_row(request: &TracedRequest, began: u64) -> String {
    let stages = request.timestamps.stages();
    let charged = request.charged_actor();
    let time = request.timestamps.first_timestamp().saturating_sub(began) as f64 / 1e9;
    let mut name = charged.map_or_else(|| UNKNOWN_VALUE.to_owned(), actor_name);
    if request.dirtied_by.is_some() {
        name.push('*');
    }
    let pid = charged.map_or_else(|| UNKNOWN_VALUE.to_owned(), |actor| actor.pid.to_string());
    let mut row = format!(
        "{time:>10.6} {pid:>6} {name:<16} {:<7} {:<4} {:>10} {:>8}",
        request.operation.name(),
        String::from_utf8_lossy(request.flags.as_bytes()),
        request.sector,
        units::format_block_size(request.bytes as f64),
    );
    for stage in [stages.q2d, stages.d2c, stages.q2c] {
        let _ = write!(
            row,
            " {:>9}",
            format_time(stage.map(|length| length as f64))
        );
    }
    if request.error != 0 {
        let _ = write!(row, " error {}", request.error);
    }
    row
}

fn actor_name(actor: RequestActor) -> String {
    match actor.name.as_bytes() {
        [] => UNKNOWN_VALUE.to_owned(),
        bytes => printable_bytes(bytes),
    }
}

fn format_time(nanoseconds: Option<f64>) -> String {
    nanoseconds.map_or_else(|| UNKNOWN_VALUE.to_owned(), units::format_latency)
}

/// A summary of the requests of a device as text of 80 columns.
#[must_use]
pub fn summary_text(summary: &RequestSummary, device: &str, elapsed_ns: u64) -> String {
    let seconds = elapsed_ns as f64 / 1e9;
    let mut text = format!(
        "{} requests in {seconds:.1} s, {} events lost\n",
        summary.requests, summary.lost_events
    );
    for (operation, sums) in &summary.operations {
        let _ = write!(text, "\n{device} {}: ", operation.name());
        text.push_str(&stage_times(sums));
        if let Some(latency) = LatencySummary::from_histogram(&sums.q2c) {
            text.push_str(&histogram_text(&latency));
        }
    }
    if summary.requests > 0 {
        text.push_str(&process_table(summary));
    }
    text.push_str(&caveats(summary));
    text
}

/// Merges and splits of the requests of one operation, and their latency by stage.
fn stage_times(sums: &OperationLatency) -> String {
    let counts = &sums.counts;
    let mut words = vec![
        format!("{} requests", counts.requests),
        units::format_capacity(counts.bytes as f64),
    ];
    for (count, word) in [
        (counts.merged, "merged"),
        (counts.split, "split"),
        (counts.requeued, "requeued"),
        (counts.failed, "FAILED"),
    ] {
        if count > 0 {
            words.push(format!("{count} {word}"));
        }
    }
    let mean = |stage: &MeanTime| format_time(stage.mean_ns());
    format!(
        "{}\n  mean: Q2G {}, G2I {}, I2D {}, Q2D {}, D2C {}, Q2C {}\n",
        words.join(", "),
        mean(&sums.q2g),
        mean(&sums.g2i),
        mean(&sums.i2d),
        format_time(sums.q2d.mean()),
        format_time(sums.d2c.mean()),
        format_time(sums.q2c.mean()),
    )
}

fn process_table(summary: &RequestSummary) -> String {
    let mut text = String::from(
        "\n   pid process          requests       read    written    mean Q2C  writeback\n",
    );
    for (actor, toll) in summary.top_threads(MAX_LISTED_THREADS) {
        let (pid, name) = actor.map_or_else(
            || (UNKNOWN_VALUE.to_owned(), "others, unknown".to_owned()),
            |actor| (actor.pid.to_string(), actor_name(actor)),
        );
        let _ = writeln!(
            text,
            "{pid:>6} {name:<16} {:>8} {:>10} {:>10} {:>11}  {}",
            toll.requests,
            units::format_capacity(toll.read_bytes as f64),
            units::format_capacity(toll.written_bytes as f64),
            format_time(toll.q2c.mean_ns()),
            if toll.writeback_requests > 0 {
                format!(
                    "{} dirtied, *",
                    units::format_percent(toll.writeback_share())
                )
            } else {
                String::new()
            },
        );
    }
    text
}

/// Limitations of the summary, such as lost events.
fn caveats(summary: &RequestSummary) -> String {
    let mut text = String::new();
    for (count, words) in [
        (
            summary.lost_events,
            "events lost: the kernel's buffer overflowed; counts are too low",
        ),
        (
            summary.match_errors.unmatched_completions,
            "completions of requests that were issued before the trace began",
        ),
        (
            summary.match_errors.abandoned_requests,
            "requests without a completion event",
        ),
        (
            summary.in_flight,
            "requests not complete when the trace ended",
        ),
    ] {
        if count > 0 {
            let _ = writeln!(text, "note: {count} {words}");
        }
    }
    text
}

/// The last line of `trace --json`.
#[derive(Debug, Serialize)]
pub struct LastLine {
    summary: SummaryLine,
}

#[derive(Debug, Serialize)]
struct SummaryLine {
    requests: u64,
    lost: u64,
    #[serde(rename = "unseen")]
    unmatched: u64,
    abandoned: u64,
    #[serde(rename = "under_way")]
    in_flight: u64,
    elapsed_ns: u64,
    operations: Vec<OperationLine>,
    processes: Vec<ProcessLine>,
}

#[derive(Debug, Serialize)]
struct OperationLine {
    device: String,
    operation: RequestOperation,
    #[serde(flatten)]
    counts: OperationCounts,
    q2g_mean_ns: Option<f64>,
    g2i_mean_ns: Option<f64>,
    i2d_mean_ns: Option<f64>,
    q2d: Option<LatencySummary>,
    d2c: Option<LatencySummary>,
    q2c: Option<LatencySummary>,
}

#[derive(Debug, Serialize)]
struct ProcessLine {
    pid: Option<u32>,
    command: Option<String>,
    requests: u64,
    read_bytes: u64,
    written_bytes: u64,
    written_back_requests: u64,
    q2c_mean_ns: Option<f64>,
}

impl OperationLine {
    fn new(device: &str, operation: RequestOperation, sums: &OperationLatency) -> Self {
        Self {
            device: device.to_owned(),
            operation,
            counts: sums.counts,
            q2g_mean_ns: sums.q2g.mean_ns(),
            g2i_mean_ns: sums.g2i.mean_ns(),
            i2d_mean_ns: sums.i2d.mean_ns(),
            q2d: LatencySummary::from_histogram(&sums.q2d),
            d2c: LatencySummary::from_histogram(&sums.d2c),
            q2c: LatencySummary::from_histogram(&sums.q2c),
        }
    }
}

impl ProcessLine {
    fn new((actor, toll): (Option<RequestActor>, PerThreadStats)) -> Self {
        Self {
            pid: actor.map(|actor| actor.pid),
            command: actor.map(|actor| printable_bytes(actor.name.as_bytes())),
            requests: toll.requests,
            read_bytes: toll.read_bytes,
            written_bytes: toll.written_bytes,
            written_back_requests: toll.writeback_requests,
            q2c_mean_ns: toll.q2c.mean_ns(),
        }
    }
}

impl LastLine {
    /// Creates the summary of the requests of a device for scripts.
    #[must_use]
    pub fn new(summary: &RequestSummary, device: &str, elapsed_ns: u64) -> Self {
        let operations = summary.operations.iter();
        let operations =
            operations.map(|(operation, sums)| OperationLine::new(device, *operation, sums));
        let threads = summary.top_threads(usize::MAX).into_iter();
        Self {
            summary: SummaryLine {
                requests: summary.requests,
                lost: summary.lost_events,
                unmatched: summary.match_errors.unmatched_completions,
                abandoned: summary.match_errors.abandoned_requests,
                in_flight: summary.in_flight,
                elapsed_ns,
                operations: operations.collect(),
                processes: threads.map(ProcessLine::new).collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::requests::RequestTimestamps;

    fn test_request() -> TracedRequest {
        TracedRequest {
            timestamps: RequestTimestamps {
                queued: Some(1_000_000),
                issued: Some(1_011_000),
                completed: 3_000_000,
                ..RequestTimestamps::default()
            },
            error: -5,
            ..TracedRequest::writeback_write()
        }
    }

    fn test_summary() -> RequestSummary {
        let mut summary = RequestSummary::default();
        for _ in 0..3 {
            summary.record(&test_request());
        }
        summary.lost_events = 7;
        summary
    }

    #[test]
    fn request_rows_and_summary_are_formatted_as_text() {
        let found = test_summary();
        let text = format!(
            "{REQUEST_HEADING}\n{}\n\n{}",
            request_row(&test_request(), 0),
            summary_text(&found, "sda", 2_000_000_000)
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn trace_summary_line_is_serialized() {
        let found = test_summary();
        let line = serde_json::to_value(LastLine::new(&found, "sda", 5)).unwrap();
        let summary = &line["summary"];
        assert_eq!(
            (&summary["requests"], &summary["lost"]),
            (&3.into(), &7.into())
        );
        let writes = &summary["operations"][0];
        assert_eq!(writes["device"], "sda");
        assert_eq!(writes["failed"], 3);
        assert!(writes["i2d_mean_ns"].is_null());
        assert_eq!(writes["d2c"]["max_ns"], 1_989_000);
        assert_eq!(summary["processes"][0]["command"], "dd");
    }
}
