//! A test within a larger test.

use std::sync::Arc;

use super::effort::Effort;
use super::runner::{Bench, Observer, Progress};
use super::{BenchError, Parameters, Test};
use crate::engine::Moved;
use crate::session::document::Findings;

/// Passes on what a part says, in the words of the whole.
struct PartObserver<'a> {
    whole: &'a mut dyn Observer,
    findings: &'a Findings,
    name: &'static str,
    began: std::time::Instant,
    done: f64,
    share: f64,
    moved: Moved,
}

impl PartObserver<'_> {
    fn merged(&self, part: &Findings) -> Findings {
        let mut findings = self.findings.clone();
        findings.absorb(self.name, part);
        findings
    }
}

impl Observer for PartObserver<'_> {
    fn progress(&mut self, progress: &Progress) {
        let mut moved = self.moved;
        moved += progress.moved;
        self.whole.progress(&Progress {
            phase: format!("{}: {}", self.name, progress.phase),
            fraction: Some(self.done + self.share * progress.fraction.unwrap_or(0.0)),
            elapsed: self.began.elapsed(),
            snapshot: progress.snapshot.clone(),
            moved,
            findings: Arc::new(self.merged(&progress.findings)),
            is_news: progress.is_news,
        });
    }

    fn phase_finished(&mut self, part: &Findings) {
        let findings = self.merged(part);
        self.whole.phase_finished(&findings);
    }
}

impl Bench<'_> {
    /// Runs another test as a part of this one. `share` is how much of the whole (0 to 1) it stands
    /// for. What it finds is added with `NAME/` in front of every name, however it ends.
    ///
    /// # Errors
    /// When the part could not be measured at all; the whole may go on with the next.
    pub fn part(
        &mut self,
        test: &dyn Test,
        parameters: &Parameters,
        share: f64,
    ) -> Result<(), BenchError> {
        let name = test.description().name;
        let before = self.findings.clone();
        let mut observer = PartObserver {
            whole: &mut *self.observer,
            findings: &before,
            name,
            began: self.began,
            done: self.done,
            share,
            moved: self.effort.moved,
        };
        let mut part = Bench {
            target: self.target,
            parameters,
            settings: self.settings,
            engine: self.engine,
            control: self.control,
            observer: &mut observer,
            began: std::time::Instant::now(),
            done: 0.0,
            effort: Effort::default(),
            failure: None,
            only_ramp: false,
            findings: Findings::default(),
        };
        let result = test.run(&mut part);
        self.only_ramp |= part.only_ramp;
        let (findings, effort, failure) = (part.findings, part.effort, part.failure);
        self.findings.absorb(name, &findings);
        self.effort += effort;
        self.failure = failure;
        self.done += share;
        self.phase_finished();
        result
    }
}
