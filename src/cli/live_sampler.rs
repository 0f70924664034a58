//! The samples of this machine and what the Live screen makes of them.

use std::sync::Arc;

use super::failure::CommandFailure;
use crate::probe::{SampleCollector, SystemSample, Wanted};
use crate::roots::SysPaths;
use crate::snapshot::{Snapshot, ViewBuilder};
use crate::trace::by_process::ProcessIoTrace;
use crate::transfers::counting::JobCounter;

/// Takes samples of this machine.
pub(super) struct LiveSampler {
    collector: SampleCollector,
    views: ViewBuilder,
    jobs: JobCounter,
}

impl LiveSampler {
    pub(super) fn new(wanted: Wanted) -> Self {
        let mut collector = SampleCollector::new(SysPaths::default());
        collector.set_wanted(wanted);
        Self {
            collector,
            views: ViewBuilder::default(),
            jobs: JobCounter::new(SysPaths::default()),
        }
    }

    /// A sample, and its snapshot with the requests that `trace` has seen since the previous one. The first
    /// has no rates.
    pub(super) fn sample(
        &mut self,
        trace: Option<&ProcessIoTrace>,
    ) -> Result<(Arc<SystemSample>, Snapshot), CommandFailure> {
        self.collector.follow_files(self.views.followed_files());
        let sample = Arc::new(self.collector.collect());
        let traced = trace.map(ProcessIoTrace::take);
        if let Some(reason) = traced.as_ref().and_then(|it| it.end_reason.as_ref()) {
            return Err(CommandFailure::failed(reason));
        }
        self.views
            .set_job_counts(self.jobs.update(&sample.processes));
        let live = self
            .views
            .update_traced(Arc::clone(&sample), traced.as_ref());
        Ok((sample, live))
    }
}
