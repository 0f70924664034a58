//! Sequential reads over the whole address space: how fast, and where.

use std::time::{Duration, Instant};

use super::common::{self, place, reading_plan};
use super::{Bench, BenchError, Chart, Description, Forecast, Parameters, Shape, Test, Value};
use crate::drive::Target;
use crate::engine::{Outcome, Pattern, Plan};
use crate::session::document::{Axis, Figure, Series, Unit};
use crate::stats::latency::Latency;
use crate::units;

/// Large reads in 100 even zones of the window, ascending.
pub struct SequentialRead;

/// Zones of the window.
const ZONES: u64 = 100;
/// Bytes read in each zone, unless the zone is smaller.
const BYTES_PER_ZONE: u64 = 128 << 20;

const BYTES_EACH: super::Parameter = super::Parameter {
    name: "zone-bytes",
    kind: super::Kind::Size { least: 1 },
    help: "bytes read in each of the 100 zones",
    default: |_| Value::Bytes(BYTES_PER_ZONE),
};

static DESCRIPTION: Description = Description {
    name: "sequential-read",
    aliases: &["seqread"],
    summary: "large reads over the whole drive: MB/s, and where it is fast and slow",
    explanation: "\
Splits the window into 100 even zones and reads a large piece at the beginning of each, in \
ascending order. This is what backups, video and scans of tables do to a drive.

The chart shows throughput against the address. A hard disk is fastest at the beginning, on the \
outer tracks, and falls to about half towards the end, in steps: each step is a zone with its own \
number of sectors per track (zone bit recording). An SSD draws a level line; dips show worn or \
never-written regions. A line cut off flat from above is the interface, not the medium.

It only reads: by default up to 128 MiB in each zone, 12.8 GiB in all.",
    writes: false,
    parameters: &[
        common::BLOCK_SIZE.with_default(|_| Value::Bytes(1 << 20)),
        common::DEPTH.with_default(|_| Value::Count(4)),
        BYTES_EACH,
        common::DURATION.with_default(|_| Value::Unset),
        common::BYTES,
        common::REQUESTS,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::CACHE,
    ],
    charts: &[Chart::new(
        "Throughput against address",
        Shape::Steps,
        &["throughput-over-address"],
    )],
    headline: &["throughput_mean", "throughput_min", "throughput_max"],
};

/// One piece of the address space, measured.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Zone {
    offset: u64,
    bytes: u64,
    rate: f64,
}

impl Test for SequentialRead {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let plan = reading_plan(target, parameters, Pattern::Sequential)?;
        let zones = zones(&plan, parameters);
        let planned: u64 = zones.iter().map(|zone| zone.end - zone.start).sum();
        let bytes = plan
            .limits
            .bytes
            .map_or(planned, |limit| limit.min(planned));
        Ok(Forecast {
            sentence: format!(
                "reads {} in {} zones of {}, ascending, {} at a time",
                units::capacity(bytes as f64),
                zones.len(),
                place(target),
                units::block_size(f64::from(plan.block_size.largest())),
            ),
            duration: plan.limits.duration,
            reads: Some(bytes),
            writes: None,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let whole = reading_plan(bench.target, bench.parameters, Pattern::Sequential)?;
        let zones = zones(&whole, bench.parameters);
        let mut budget = Budget::new(&whole);
        let mut latency = Latency::default();
        let mut measured = Vec::with_capacity(zones.len());
        for (index, zone) in zones.iter().enumerate() {
            let Some(plan) = budget.grant(&whole, zone.clone()) else {
                break;
            };
            let phase = format!("zone {} of {}", index + 1, zones.len());
            let outcome = bench.execute(&phase, 1.0 / zones.len() as f64, &plan)?;
            budget.take(&outcome);
            latency.merge(&outcome.tally.read.latency);
            measured.extend(zone_of(zone.start, &outcome));
            report(bench, &measured, &latency);
            bench.phase_finished();
            if bench.stopped() {
                break;
            }
        }
        Ok(())
    }

    fn fio(&self, target: &Target, parameters: &Parameters) -> Option<String> {
        let plan = reading_plan(target, parameters, Pattern::Sequential).ok()?;
        Some(common::fio_command("read", &plan))
    }
}

/// The pieces to read: at the beginning of each zone, a whole number of blocks, none twice.
fn zones(plan: &Plan, parameters: &Parameters) -> Vec<std::ops::Range<u64>> {
    let block = u64::from(plan.block_size.largest());
    let start = plan.window.start.next_multiple_of(plan.align);
    let blocks = plan.window.end.saturating_sub(start) / block;
    let each = (parameters.bytes("zone-bytes").unwrap_or(BYTES_PER_ZONE) / block).max(1);
    let count = ZONES.min(blocks);
    (0..count)
        .map(|zone| {
            let (first, next) = (blocks * zone / count, blocks * (zone + 1) / count);
            let begin = start + first * block;
            begin..begin + each.min(next - first) * block
        })
        .collect()
}

/// What the limits leave for the zones to come.
struct Budget {
    deadline: Option<Instant>,
    bytes: Option<u64>,
    requests: Option<u64>,
}

impl Budget {
    fn new(plan: &Plan) -> Self {
        Self {
            deadline: plan
                .limits
                .duration
                .map(|duration| Instant::now() + duration),
            bytes: plan.limits.bytes,
            requests: plan.limits.requests,
        }
    }

    /// The plan for one zone, or nothing when a limit is used up.
    fn grant(&self, whole: &Plan, zone: std::ops::Range<u64>) -> Option<Plan> {
        let mut plan = whole.clone();
        plan.limits.bytes = Some(self.bytes.map_or(zone.end - zone.start, |left| {
            left.min(zone.end - zone.start)
        }));
        plan.limits.requests = self.requests;
        plan.limits.duration = self
            .deadline
            .map(|deadline| deadline.saturating_duration_since(Instant::now()));
        plan.window = zone;
        let spent = plan.limits.duration == Some(Duration::ZERO)
            || plan.limits.bytes == Some(0)
            || plan.limits.requests == Some(0);
        (!spent).then_some(plan)
    }

    fn take(&mut self, outcome: &Outcome) {
        let tally = &outcome.tally;
        self.bytes = self.bytes.map(|left| left.saturating_sub(tally.bytes()));
        self.requests = self
            .requests
            .map(|left| left.saturating_sub(tally.requests()));
    }
}

fn zone_of(offset: u64, outcome: &Outcome) -> Option<Zone> {
    let (bytes, seconds) = (outcome.tally.bytes(), outcome.elapsed.as_secs_f64());
    (bytes > 0 && seconds > 0.0).then(|| Zone {
        offset,
        bytes,
        rate: bytes as f64 / seconds,
    })
}

/// The figures of the zones measured so far.
fn report(bench: &mut Bench<'_>, zones: &[Zone], latency: &Latency) {
    let by_rate = |left: &&Zone, right: &&Zone| left.rate.total_cmp(&right.rate);
    let (Some(slowest), Some(fastest)) =
        (zones.iter().min_by(by_rate), zones.iter().max_by(by_rate))
    else {
        return;
    };
    let observations = zones.len() as u64;
    let rate = |name, value| {
        Figure::new(name, value, Unit::BytesPerSecond).from_observations(observations)
    };
    bench.figure(rate("throughput_mean", mean_rate(zones)));
    bench.figure(rate("throughput_min", slowest.rate));
    bench.figure(rate("throughput_max", fastest.rate));
    bench.figure(Figure::new(
        "throughput_min_offset",
        slowest.offset as f64,
        Unit::Bytes,
    ));
    bench.figure(Figure::new(
        "throughput_max_offset",
        fastest.offset as f64,
        Unit::Bytes,
    ));
    common::report_latency(&mut bench.findings, latency);
    bench.findings.latency.read = common::summary(latency);
    bench.series(Series {
        name: "throughput-over-address".to_owned(),
        x: Axis::new("address", Unit::Bytes),
        y: Axis::new("throughput", Unit::BytesPerSecond),
        points: zones
            .iter()
            .map(|zone| [zone.offset as f64, zone.rate])
            .collect(),
    });
}

/// Bytes over time of all zones together: what reading them one after the other gives.
fn mean_rate(zones: &[Zone]) -> f64 {
    let bytes: f64 = zones.iter().map(|zone| zone.bytes as f64).sum();
    let seconds: f64 = zones.iter().map(|zone| zone.bytes as f64 / zone.rate).sum();
    bytes / seconds
}
