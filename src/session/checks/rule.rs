//! A check of every run, and what its rule may read.

use crate::session::document::check::{Check, Found};
use crate::session::document::{
    BenchmarkRun, Findings, KernelCounts, RunEvidence, RunParameters, RunState, TargetRecord,
};

/// A check that applies to every benchmark. A file of this folder lists those of one subject.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The check.
    pub check: Check,
    /// When it triggers, thresholds included, for the documentation.
    pub condition: &'static str,
    /// What was found; `None` if the run passes or too little is known.
    pub find: fn(&Run<'_>) -> Option<Found>,
}

/// A run as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// State of the run.
    pub state: RunState,
    /// The target.
    pub target: &'a TargetRecord,
    /// The parameters of the benchmark.
    pub parameters: RunParameters<'a>,
    /// The load that the benchmark generates.
    pub workload: Workload,
    /// The results so far, with the checks that the benchmark itself made.
    pub findings: &'a Findings,
    /// The target's counters, if the kernel keeps any.
    pub kernel: Option<&'a KernelCounts>,
    /// What was collected beside the results.
    pub evidence: &'a RunEvidence,
}

impl<'a> Run<'a> {
    /// A run of a benchmark with this workload.
    #[must_use]
    pub fn new(run: &'a BenchmarkRun, workload: Workload) -> Self {
        Self {
            state: run.state,
            target: &run.target,
            parameters: run.typed_parameters(),
            workload,
            findings: &run.findings,
            kernel: run.kernel.as_ref(),
            evidence: &run.evidence,
        }
    }

    /// Whether the benchmark bypasses the page cache, according to its parameters.
    pub(super) fn is_direct(&self) -> bool {
        self.parameters.page_cache_mode().is_none()
    }
}

/// What some rules need to know about a benchmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Workload {
    /// Whether the offered load is constant over the run: only then a falling rate is a finding.
    pub is_constant: bool,
    /// Whether its read latency is that of random reads all over the window.
    pub has_random_reads: bool,
}

impl Workload {
    /// A constant load without random reads.
    pub const CONSTANT: Self = Self {
        is_constant: true,
        has_random_reads: false,
    };
    /// A constant load of random reads, alone or among writes.
    pub const RANDOM_READS: Self = Self {
        is_constant: true,
        has_random_reads: true,
    };
    /// A load that changes during the run.
    pub const VARYING: Self = Self {
        is_constant: false,
        has_random_reads: false,
    };
}

/// `part` as a fraction of `whole`, 0 to 1; `None` if `whole` is 0.
pub(super) fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
