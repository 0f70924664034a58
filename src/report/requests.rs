//! Single requests as rows of text, and many of them summed up as text or JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::text::bars;
use crate::model::requests::{
    Actor, Distribution, Number, Operation, Request, StageLatency, Summary,
};
use crate::printable::printable;
use crate::session::document::LatencySummary;
use crate::units;

/// Stands for what is not known.
const UNKNOWN: &str = "-";
/// Threads listed, those that moved most.
const LISTED: usize = 10;
/// Names of devices by number.
pub type Names = BTreeMap<Number, String>;

/// What stands above the rows.
pub const HEADING: &str = "    time s    pid process          operation       sector     size     \
                           queue     drive     total";

/// One request, 80 columns and a little more, without the line's end.
#[must_use]
pub fn row(request: &Request, began: u64) -> String {
    let stages = request.times.stages();
    let charged = request.charged();
    let time = request.times.first().saturating_sub(began) as f64 / 1e9;
    let mut name = charged.map_or_else(|| UNKNOWN.to_owned(), name);
    if request.dirtied_by.is_some() {
        name.push('*');
    }
    let pid = charged.map_or_else(|| UNKNOWN.to_owned(), |actor| actor.pid.to_string());
    let mut row = format!(
        "{time:>10.6} {pid:>6} {name:<16} {:<7} {:<4} {:>10} {:>8}",
        request.operation.word(),
        String::from_utf8_lossy(request.flags.bytes()),
        request.sector,
        units::block_size(request.bytes as f64),
    );
    for stage in [stages.q2d, stages.d2c, stages.q2c] {
        let _ = write!(row, " {:>9}", time_or(stage.map(|length| length as f64)));
    }
    if request.error != 0 {
        let _ = write!(row, " error {}", request.error);
    }
    row
}

fn name(actor: Actor) -> String {
    match actor.name.bytes() {
        [] => UNKNOWN.to_owned(),
        bytes => printable(bytes),
    }
}

fn time_or(nanoseconds: Option<f64>) -> String {
    nanoseconds.map_or_else(|| UNKNOWN.to_owned(), units::latency)
}

/// A summary as text of 80 columns.
#[must_use]
pub fn summary(summary: &Summary, names: &Names, elapsed_ns: u64) -> String {
    let seconds = elapsed_ns as f64 / 1e9;
    let mut text = format!(
        "{} requests in {seconds:.1} s, {} events lost\n",
        summary.requests, summary.lost
    );
    for ((device, operation), distribution) in &summary.distributions {
        let _ = write!(
            text,
            "\n{} {}: ",
            device_name(names, *device),
            operation.word()
        );
        text.push_str(&stages(distribution));
        if let Some(latency) = LatencySummary::of(&distribution.q2c) {
            text.push_str(&bars(&latency));
        }
    }
    if !summary.tolls.is_empty() {
        text.push_str(&processes(summary));
    }
    text.push_str(&caveats(summary));
    text
}

fn device_name(names: &Names, device: Number) -> String {
    names
        .get(&device)
        .cloned()
        .unwrap_or_else(|| format!("{}:{}", device.0, device.1))
}

/// What became of the requests of one kind on the way, and where their time went.
fn stages(distribution: &Distribution) -> String {
    let mut words = vec![
        format!("{} requests", distribution.requests),
        units::capacity(distribution.bytes as f64),
    ];
    for (count, word) in [
        (distribution.merged, "merged"),
        (distribution.split, "split"),
        (distribution.requeued, "given back"),
        (distribution.failed, "FAILED"),
    ] {
        if count > 0 {
            words.push(format!("{count} {word}"));
        }
    }
    let mean = |stage: &StageLatency| time_or(stage.mean());
    format!(
        "{}\n  mean: Q2G {}, G2I {}, I2D {}, D2C {}, Q2C {}; before the drive {}\n",
        words.join(", "),
        mean(&distribution.q2g),
        mean(&distribution.g2i),
        mean(&distribution.i2d),
        time_or(distribution.d2c.mean()),
        time_or(distribution.q2c.mean()),
        time_or(distribution.q2d.mean()),
    )
}

fn processes(summary: &Summary) -> String {
    let mut text = String::from(
        "\n   pid process          requests       read    written   mean time  charged\n",
    );
    for (actor, toll) in summary.top().into_iter().take(LISTED) {
        let (pid, name) = actor.map_or_else(
            || (UNKNOWN.to_owned(), "others, unknown".to_owned()),
            |actor| (actor.pid.to_string(), name(actor)),
        );
        let share = toll.written_back as f64 / toll.requests.max(1) as f64;
        let _ = writeln!(
            text,
            "{pid:>6} {name:<16} {:>8} {:>10} {:>10} {:>11}  {}",
            toll.requests,
            units::capacity(toll.read_bytes as f64),
            units::capacity(toll.written_bytes as f64),
            time_or(toll.taken.mean()),
            if toll.written_back > 0 {
                format!("{} made dirty, *", units::percent(share))
            } else {
                String::new()
            },
        );
    }
    text
}

/// What keeps the summary from being the whole truth.
fn caveats(summary: &Summary) -> String {
    let mut text = String::new();
    for (count, words) in [
        (
            summary.lost,
            "events lost: the machine was faster than this program; figures are too low",
        ),
        (
            summary.gaps.unseen,
            "completions of requests that were issued before the trace began",
        ),
        (
            summary.gaps.abandoned,
            "requests given up: they were not seen to be completed",
        ),
        (
            summary.under_way,
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
    unseen: u64,
    abandoned: u64,
    under_way: u64,
    elapsed_ns: u64,
    operations: Vec<OperationLine>,
    processes: Vec<ProcessLine>,
}

#[derive(Debug, Serialize)]
struct OperationLine {
    device: String,
    operation: Operation,
    requests: u64,
    bytes: u64,
    merged: u64,
    split: u64,
    requeued: u64,
    failed: u64,
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

impl LastLine {
    /// A summary for scripts.
    #[must_use]
    pub fn new(summary: &Summary, names: &Names, elapsed_ns: u64) -> Self {
        let operation =
            |((device, operation), one): (&(Number, Operation), &Distribution)| OperationLine {
                device: device_name(names, *device),
                operation: *operation,
                requests: one.requests,
                bytes: one.bytes,
                merged: one.merged,
                split: one.split,
                requeued: one.requeued,
                failed: one.failed,
                q2g_mean_ns: one.q2g.mean(),
                g2i_mean_ns: one.g2i.mean(),
                i2d_mean_ns: one.i2d.mean(),
                q2d: LatencySummary::of(&one.q2d),
                d2c: LatencySummary::of(&one.d2c),
                q2c: LatencySummary::of(&one.q2c),
            };
        let process = |(actor, toll): (Option<Actor>, crate::model::requests::Toll)| ProcessLine {
            pid: actor.map(|actor| actor.pid),
            command: actor.map(|actor| printable(actor.name.bytes())),
            requests: toll.requests,
            read_bytes: toll.read_bytes,
            written_bytes: toll.written_bytes,
            written_back_requests: toll.written_back,
            q2c_mean_ns: toll.taken.mean(),
        };
        Self {
            summary: SummaryLine {
                requests: summary.requests,
                lost: summary.lost,
                unseen: summary.gaps.unseen,
                abandoned: summary.gaps.abandoned,
                under_way: summary.under_way,
                elapsed_ns,
                operations: summary.distributions.iter().map(operation).collect(),
                processes: summary.top().into_iter().map(process).collect(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::requests::Times;

    fn request() -> Request {
        Request {
            times: Times {
                queued: Some(1_000_000),
                issued: Some(1_011_000),
                completed: 3_000_000,
                ..Times::default()
            },
            error: -5,
            ..Request::written_back()
        }
    }

    fn summed() -> (Summary, Names) {
        let mut summary = Summary::default();
        for _ in 0..3 {
            summary.record(&request());
        }
        summary.lost = 7;
        (summary, Names::from([((8, 0), "sda".to_owned())]))
    }

    #[test]
    fn rows_and_summary_as_text() {
        let (found, names) = summed();
        let text = format!(
            "{HEADING}\n{}\n\n{}",
            row(&request(), 0),
            summary(&found, &names, 2_000_000_000)
        );
        insta::assert_snapshot!(text);
    }

    #[test]
    fn the_last_line_for_scripts() {
        let (found, names) = summed();
        let line = serde_json::to_value(LastLine::new(&found, &names, 5)).unwrap();
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
