//! Nested benchmarks.

use std::sync::Arc;

use super::context::{RunContext, RunObserver, RunProgress};
use crate::bench::{BenchError, Benchmark, ParameterSet};
use crate::engine::IoCounts;
use crate::session::document::Findings;

/// Forwards the progress of a nested benchmark as progress of the outer one.
struct NestedObserver<'a> {
    parent: &'a mut dyn RunObserver,
    findings: &'a Findings,
    name: &'static str,
    started_at: std::time::Instant,
    parent_progress: f64,
    parent_fraction: f64,
    parent_counts: IoCounts,
}

impl NestedObserver<'_> {
    fn merge_findings(&self, part: &Findings) -> Findings {
        let mut findings = self.findings.clone();
        findings.merge_nested(self.name, part);
        findings
    }
}

impl RunObserver for NestedObserver<'_> {
    fn progress(&mut self, progress: &RunProgress) {
        let mut moved = self.parent_counts;
        moved += progress.counts;
        self.parent.progress(&RunProgress {
            phase: format!("{}: {}", self.name, progress.phase),
            fraction: Some(
                self.parent_progress + self.parent_fraction * progress.fraction.unwrap_or(0.0),
            ),
            elapsed: self.started_at.elapsed(),
            snapshot: progress.snapshot.clone(),
            counts: moved,
            findings: Arc::new(self.merge_findings(&progress.findings)),
            has_new_findings: progress.has_new_findings,
        });
    }

    fn phase_finished(&mut self, part: &Findings) {
        let findings = self.merge_findings(part);
        self.parent.phase_finished(&findings);
    }
}

impl RunContext<'_> {
    /// Runs a nested benchmark. `share` is the fraction (0 to 1) of the outer benchmark that it
    /// represents. Its findings are always added, with the prefix `NAME/`, even after a failure.
    ///
    /// # Errors
    /// When the nested benchmark could not be measured at all; the outer one may continue.
    pub fn run_nested(
        &mut self,
        test: &dyn Benchmark,
        parameters: &ParameterSet,
        share: f64,
    ) -> Result<(), BenchError> {
        let name = test.description().name;
        let before = self.findings.clone();
        let mut observer = NestedObserver {
            parent: &mut *self.observer,
            findings: &before,
            name,
            started_at: self.started_at,
            parent_progress: self.completed_fraction,
            parent_fraction: share,
            parent_counts: self.cpu_usage.counts,
        };
        let mut part = RunContext::new(
            self.target,
            parameters,
            self.settings,
            self.engine,
            self.control,
            &mut observer,
        );
        let result = test.run(&mut part);
        test.description().assert_checks_declared(&part.findings);
        self.only_ramp |= part.only_ramp;
        self.has_counted |= part.has_counted;
        let (findings, effort, failure) = (part.findings, part.cpu_usage, part.failure);
        self.findings.merge_nested(name, &findings);
        self.cpu_usage += effort;
        self.failure = failure;
        self.completed_fraction += share;
        self.phase_finished();
        result
    }
}
