//! What the benchmarks of the mechanics have in common: they read single blocks, one at a time, at
//! addresses that depend on what was read before.

use std::time::Duration;

use super::analysis::rotation_estimate::READS_PER_ROUND;
use crate::bench::framework::metric_families::MetricFamily;
use crate::bench::{
    AnyParameter, BenchError, Benchmark, Description, FioGap, Parameter, ParameterSet, Phases,
    RunContext, framework,
};
use crate::drive::Target;
use crate::engine::{AccessPattern, Plan};
use crate::session::document::MetricKind;

/// A benchmark of the mechanics of hard disks.
pub struct MechanicsBenchmark {
    pub(super) description: &'static Description,
    /// What it reads, for the forecast.
    pub(super) reads: &'static str,
    /// Whether it ends early on a drive that does not rotate.
    pub(super) needs_rotation: bool,
    /// Adds the expected phases, made from a plan of single reads without limits.
    pub(super) phases: fn(Phases, Plan) -> Phases,
    pub(super) measure: fn(&mut RunContext<'_>) -> Result<(), BenchError>,
}

/// The metrics of the rotation, which every benchmark measures first.
pub(super) const ROTATION_METRICS: MetricFamily = MetricFamily::Own(&[
    MetricKind::RotationSpeed,
    MetricKind::RevolutionTime,
    MetricKind::RotationCoherence,
]);

/// Parameters of a benchmark that reads single blocks, with its own default duration.
pub(super) const fn probing_parameters(
    duration: &'static Parameter<Option<Duration>>,
) -> [&'static dyn AnyParameter; 7] {
    [
        duration,
        &framework::BYTES,
        &framework::REQUESTS,
        &framework::WINDOW_BEGIN,
        &framework::WINDOW_END,
        &framework::SEED,
        &framework::CACHE,
    ]
}

impl Benchmark for MechanicsBenchmark {
    fn description(&self) -> &'static Description {
        self.description
    }

    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError> {
        let window = framework::plan_window(target, parameters);
        let block = target.logical_block_bytes.max(512);
        let mut plan = Plan::single_depth_reads(AccessPattern::Random, block, window);
        let sentence = format!(
            "reads single blocks of {}, one at a time, {}",
            framework::describe_target(target),
            self.reads
        );
        let phases = Phases::first_come(sentence, framework::plan_limits(parameters))
            .without_fio(FioGap::AdaptiveRequests);
        if self.needs_rotation && target.is_rotational() == Some(false) {
            plan.limits.requests = Some(READS_PER_ROUND);
            return Ok(phases.add_phase(plan));
        }
        Ok((self.phases)(phases, plan))
    }

    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError> {
        (self.measure)(bench)
    }
}
