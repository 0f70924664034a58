//! Runs a benchmark from its first phase to its result, and nested ones within it.

use std::time::Instant;

use crate::bench::framework::context::{FinishedRun, RunContext, RunEnvironment};
use crate::bench::framework::progress::ProgressSpan;
use crate::bench::framework::run_event::RunSink;
use crate::bench::{BenchError, Benchmark, ParameterSet};
use crate::session::document::RunState;

/// Runs a benchmark until it finishes, fails or is stopped. Its progress and its findings go to
/// `sink` as those of `span`.
pub fn run_benchmark(
    benchmark: &dyn Benchmark,
    environment: RunEnvironment<'_>,
    span: ProgressSpan,
    sink: &mut RunSink<'_>,
) -> FinishedRun {
    let started_at = Instant::now();
    let mut context = RunContext::new(environment, span, sink);
    let result = benchmark.run(&mut context);
    benchmark
        .description()
        .assert_checks_declared(&context.findings);
    let failure = context.totals.take_failure();
    let error = result.err().or(failure.map(BenchError::Engine));
    let state = match &error {
        Some(_) => RunState::Failed,
        None if environment.cancellation.is_cancelled() => RunState::Interrupted,
        None => RunState::Finished,
    };
    FinishedRun {
        state,
        error,
        elapsed: started_at.elapsed(),
        findings: context.findings,
        cpu_usage: context.totals.cpu_usage,
    }
}

impl RunContext<'_> {
    /// The context of a nested benchmark that represents `share` (0 to 1) of this one: its progress
    /// and its findings are reported as parts of this benchmark's.
    fn child<'c>(
        &'c mut self,
        name: &str,
        parameters: &'c ParameterSet,
        share: f64,
    ) -> RunContext<'c> {
        let environment = RunEnvironment {
            target: self.target,
            parameters,
            settings: self.settings,
            engine: self.engine,
            cancellation: self.cancellation,
        };
        let counts = self.totals.cpu_usage.counts;
        let progress = self.progress.nested(name, share, counts, &self.findings);
        RunContext::with_reporter(environment, progress)
    }

    /// Runs a nested benchmark. `share` is the fraction (0 to 1) of the outer benchmark that it
    /// represents. Its findings are always added, with the prefix `NAME/`, even after a failure.
    ///
    /// # Errors
    /// When the nested benchmark could not be measured at all; the outer one may continue.
    pub fn run_nested(
        &mut self,
        benchmark: &dyn Benchmark,
        parameters: &ParameterSet,
        share: f64,
    ) -> Result<(), BenchError> {
        let name = benchmark.description().name;
        let mut child = self.child(name, parameters, share);
        let result = benchmark.run(&mut child);
        benchmark
            .description()
            .assert_checks_declared(&child.findings);
        let (findings, totals) = (child.findings, child.totals);
        self.findings.merge_nested(name, &findings);
        self.totals.add_nested(totals);
        self.skip_fraction(share);
        self.phase_finished();
        result
    }
}
