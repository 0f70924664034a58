//! Random reads: how many requests per second a drive serves, and how long each takes.

use super::common::{self, place, reading_plan, report_throughput};
use super::{Bench, BenchError, Chart, Description, Forecast, Parameters, Shape, Test};
use crate::drive::Target;
use crate::engine::Pattern;
use crate::units;

/// Reads of one size at uniformly random places.
pub struct RandomRead;

static DESCRIPTION: Description = Description {
    name: "random-read",
    aliases: &["rndread"],
    summary: "reads at random places: IOPS and response times",
    explanation: "\
Reads blocks of one size at random, aligned places all over the window and keeps a fixed number of \
them in flight. This is what databases, mail servers and virtual machines do to a drive.

The chart shows the requests completed per second over the run: a level line is a drive that keeps \
its promise, a falling one gets tired or hot. The histogram shows response times on a logarithmic \
axis: one narrow hill is good; two hills mean that some requests were answered by a cache, or had \
to wait for something else. p99 is the time that 99 of 100 requests beat: the slow rest is what \
people complain about.

It only reads. A hard disk does 70 to 200 of these per second, a SATA SSD up to 90,000, an NVMe SSD \
several 100,000 with enough requests in flight.",
    writes: false,
    parameters: &[
        common::BLOCK_SIZE,
        common::DEPTH,
        common::WORKERS,
        common::DURATION,
        common::BYTES,
        common::REQUESTS,
        common::RAMP,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::ALIGN,
        common::SEED,
        common::CACHE,
    ],
    charts: &[Chart::new("IOPS over the run", Shape::Line, &["iops-over-time"])],
    headline: &["iops", "throughput", "latency_mean", "latency_p50", "latency_p99"],
};

impl Test for RandomRead {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let plan = reading_plan(target, parameters, Pattern::Random)?;
        let in_flight = u64::from(plan.depth) * u64::from(plan.workers);
        let block = units::block_size(f64::from(plan.block_size.largest()));
        Ok(Forecast {
            sentence: format!(
                "reads {block} at random places of {}, {in_flight} in flight",
                place(target)
            ),
            duration: plan.limits.duration.map(|duration| duration + plan.ramp),
            reads: plan.limits.bytes,
            writes: None,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let plan = reading_plan(bench.target, bench.parameters, Pattern::Random)?;
        bench.measure("random reads", 1.0, &plan, &mut report_throughput)?;
        Ok(())
    }

    fn fio(&self, target: &Target, parameters: &Parameters) -> Option<String> {
        let plan = reading_plan(target, parameters, Pattern::Random).ok()?;
        Some(common::fio_command("randread", &plan))
    }
}
