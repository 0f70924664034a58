//! Runs a benchmark from its first phase to its result.

use std::time::Instant;

use crate::bench::framework::context::{FinishedRun, RunContext, RunEnvironment};
use crate::bench::framework::progress::ProgressSpan;
use crate::bench::framework::run_event::RunSink;
use crate::bench::{BenchError, Benchmark};
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
