//! Reports the progress of a benchmark as a part of the whole run.

use std::sync::Arc;
use std::time::Instant;

use super::run_event::{RunEvent, RunProgress, RunSink};
use crate::engine::{ExecutionSnapshot, IoCounts};
use crate::session::document::Findings;

/// The part of a run that one benchmark covers: the whole, one of several repeats, or a nested
/// benchmark.
#[derive(Debug, Clone)]
pub struct ProgressSpan {
    /// When the run started.
    started_at: Instant,
    /// Precedes the name of every phase, such as `run 1 of 3: `.
    phase_prefix: String,
    /// Fraction of the run that is complete before this part.
    start: f64,
    /// Fraction of the run that this part represents.
    share: f64,
    /// I/O of the outer benchmark before this part.
    counts_before: IoCounts,
    /// Findings of the outer benchmark before this part.
    outer: Option<OuterFindings>,
}

/// Findings of the outer benchmark, and the prefix that the nested ones get.
#[derive(Debug, Clone)]
struct OuterFindings {
    prefix: String,
    findings: Arc<Findings>,
}

impl ProgressSpan {
    /// A run of one benchmark that starts now.
    #[must_use]
    pub fn whole_run() -> Self {
        Self {
            started_at: Instant::now(),
            phase_prefix: String::new(),
            start: 0.0,
            share: 1.0,
            counts_before: IoCounts::default(),
            outer: None,
        }
    }

    /// The repeat with this index, from 0, of `count` repeats of equal length.
    #[must_use]
    pub fn repeat(&self, index: u32, count: u32) -> Self {
        if count < 2 {
            return self.clone();
        }
        let share = self.share / f64::from(count);
        Self {
            phase_prefix: format!("{}run {} of {count}: ", self.phase_prefix, index + 1),
            start: self.start + share * f64::from(index),
            share,
            ..self.clone()
        }
    }

    /// Findings of this part as findings of the whole run.
    fn merge_findings(&self, findings: &Findings) -> Findings {
        match &self.outer {
            None => findings.clone(),
            Some(outer) => {
                let mut merged = Findings::clone(&outer.findings);
                merged.merge_nested(&outer.prefix, findings);
                merged
            }
        }
    }

    /// Fraction of the run that is complete once this fraction of the part is. A part without an end
    /// of its own leaves the outer benchmark at its last known fraction.
    fn run_fraction(&self, completed: f64, phase: Option<f64>) -> Option<f64> {
        match phase {
            None if self.outer.is_none() => None,
            phase => Some(self.start + self.share * (completed + phase.unwrap_or(0.0))),
        }
    }
}

/// Sends the progress of one benchmark to the sink.
pub(super) struct ProgressReporter<'a> {
    span: ProgressSpan,
    /// Fraction of the benchmark that is complete, 0 to 1.
    completed_fraction: f64,
    sink: &'a mut RunSink<'a>,
}

impl<'a> ProgressReporter<'a> {
    pub(super) fn new(span: ProgressSpan, sink: &'a mut RunSink<'a>) -> Self {
        Self {
            span,
            completed_fraction: 0.0,
            sink,
        }
    }

    /// The reporter of a nested benchmark that represents `share` of this one, after `counts` of I/O
    /// and these findings.
    pub(super) fn nested(
        &mut self,
        name: &str,
        share: f64,
        counts: IoCounts,
        findings: &Findings,
    ) -> ProgressReporter<'_> {
        let span = &self.span;
        let mut counts_before = span.counts_before;
        counts_before += counts;
        let nested = ProgressSpan {
            started_at: span.started_at,
            phase_prefix: format!("{}{name}: ", span.phase_prefix),
            start: span.start + span.share * self.completed_fraction,
            share: span.share * share,
            counts_before,
            outer: Some(OuterFindings {
                prefix: match &span.outer {
                    Some(outer) => format!("{}/{name}", outer.prefix),
                    None => name.to_owned(),
                },
                findings: Arc::new(span.merge_findings(findings)),
            }),
        };
        ProgressReporter::new(nested, &mut *self.sink)
    }

    /// A phase that represents `share` of the benchmark, after `counts` of I/O and these findings.
    pub(super) fn phase<'p>(
        &self,
        name: &'p str,
        share: f64,
        counts: IoCounts,
        findings: &Findings,
    ) -> RunningPhase<'p> {
        let mut counts_before = self.span.counts_before;
        counts_before += counts;
        RunningPhase {
            name,
            share,
            counts_before,
            findings: Arc::new(self.span.merge_findings(findings)),
            has_new_findings: false,
        }
    }

    /// Updates the findings of the next report.
    pub(super) fn update(&self, phase: &mut RunningPhase<'_>, findings: &Findings) {
        phase.findings = Arc::new(self.span.merge_findings(findings));
        phase.has_new_findings = true;
    }

    /// Reports the state of a phase.
    pub(super) fn report(&mut self, phase: &mut RunningPhase<'_>, snapshot: &ExecutionSnapshot) {
        let phase_fraction = snapshot.completed_fraction.map(|done| done * phase.share);
        let mut counts = phase.counts_before;
        counts += snapshot.stats.all_counts();
        let progress = RunProgress {
            phase: format!("{}{}", self.span.phase_prefix, phase.name),
            fraction: self
                .span
                .run_fraction(self.completed_fraction, phase_fraction),
            elapsed: self.span.started_at.elapsed(),
            snapshot: snapshot.clone(),
            counts,
            findings: Arc::clone(&phase.findings),
            has_new_findings: std::mem::take(&mut phase.has_new_findings),
            kernel_counts: None,
            stages: None,
        };
        (self.sink)(RunEvent::Progress(Box::new(progress)));
    }

    /// Marks a further fraction of the benchmark as complete.
    pub(super) fn advance(&mut self, share: f64) {
        self.completed_fraction += share;
    }

    pub(super) fn phase_finished(&mut self, findings: &Findings) {
        let findings = self.span.merge_findings(findings);
        (self.sink)(RunEvent::PhaseFinished(Arc::new(findings)));
    }
}

/// A phase in progress.
pub(super) struct RunningPhase<'p> {
    name: &'p str,
    share: f64,
    counts_before: IoCounts,
    /// Findings of the run.
    findings: Arc<Findings>,
    has_new_findings: bool,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::session::document::{Metric, MetricId};

    fn findings(name: &str) -> Findings {
        let mut findings = Findings::default();
        findings.set_metric(Metric::new(MetricId::parse(name), 1.0));
        findings
    }

    fn snapshot(completed_fraction: Option<f64>, reads: u64) -> ExecutionSnapshot {
        let mut snapshot = ExecutionSnapshot {
            completed_fraction,
            elapsed: Duration::from_secs(1),
            ..ExecutionSnapshot::default()
        };
        for _ in 0..reads {
            snapshot.stats.ramp_counts.add_request(false, 4096);
        }
        snapshot
    }

    fn reads(count: u64) -> IoCounts {
        snapshot(None, count).stats.ramp_counts
    }

    /// The progress that these reports lead to.
    fn progress_of(use_it: impl FnOnce(ProgressReporter<'_>), span: ProgressSpan) -> RunProgress {
        let mut last = None;
        let mut sink = |event| {
            if let RunEvent::Progress(progress) = event {
                last = Some(*progress);
            }
        };
        use_it(ProgressReporter::new(span, &mut sink));
        last.unwrap()
    }

    #[test]
    fn progress_of_nested_benchmark_is_part_of_the_run() {
        let report = |mut outer: ProgressReporter<'_>| {
            outer.advance(0.5);
            let mut middle = outer.nested("survey", 0.5, reads(10), &findings("own"));
            middle.advance(0.2);
            let before = findings("middle");
            let mut inner = middle.nested("random-read", 0.4, reads(20), &before);
            let own = findings("iops");
            let mut phase = inner.phase("reads", 1.0, reads(30), &own);
            inner.report(&mut phase, &snapshot(Some(0.5), 40));
        };
        let progress = progress_of(report, ProgressSpan::whole_run().repeat(1, 2));
        assert_eq!(progress.phase, "run 2 of 2: survey: random-read: reads");
        // Half of the run, then half of the second repeat, then 0.2 and half of 0.4 of its part.
        let expected = 0.5 + 0.5 * (0.5 + 0.5 * (0.2 + 0.4 * 0.5));
        assert!((progress.fraction.unwrap() - expected).abs() < 1e-9);
        assert_eq!(progress.counts.read_ios, 100);
        let names = progress.findings.metrics.iter().map(|it| it.id.to_string());
        let expected = ["own", "survey/middle", "survey/random-read/iops"];
        assert_eq!(names.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn phase_without_end_has_no_fraction_except_when_nested() {
        let own = Findings::default();
        let alone = progress_of(
            |mut reporter| {
                let mut phase = reporter.phase("reads", 1.0, IoCounts::default(), &own);
                reporter.report(&mut phase, &snapshot(None, 1));
            },
            ProgressSpan::whole_run(),
        );
        assert_eq!(alone.fraction, None);
        let nested = progress_of(
            |mut reporter| {
                reporter.advance(0.5);
                let mut nested = reporter.nested("reads", 0.5, IoCounts::default(), &own);
                nested.advance(0.5);
                let mut phase = nested.phase("reads", 0.5, IoCounts::default(), &own);
                nested.report(&mut phase, &snapshot(None, 1));
            },
            ProgressSpan::whole_run(),
        );
        assert_eq!(nested.fraction, Some(0.75));
    }

    #[test]
    fn updated_findings_are_marked_once() {
        let mut marks = Vec::new();
        let mut sink = |event| {
            if let RunEvent::Progress(progress) = event {
                marks.push((progress.has_new_findings, progress.findings.metrics.len()));
            }
        };
        let mut reporter = ProgressReporter::new(ProgressSpan::whole_run(), &mut sink);
        let mut own = Findings::default();
        let mut phase = reporter.phase("reads", 1.0, IoCounts::default(), &own);
        reporter.report(&mut phase, &snapshot(None, 1));
        own.set_metric(Metric::new(MetricId::IOPS, 1.0));
        reporter.update(&mut phase, &own);
        reporter.report(&mut phase, &snapshot(None, 2));
        reporter.report(&mut phase, &snapshot(None, 3));
        assert_eq!(marks, [(false, 0), (true, 1), (false, 1)]);
    }
}
