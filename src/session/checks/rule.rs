//! A check that applies to every benchmark, and what rules have in common.

use crate::session::document::BenchmarkRun;
use crate::session::document::check::{CheckEvidence, CheckId};

/// Subject of a group of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckSubject {
    /// The kernel's counters, compared with the issued requests.
    KernelCounters,
    /// The data that is read and written.
    Data,
    /// How the drive is attached and configured.
    Setup,
    /// CPU utilization.
    Cpus,
    /// Stability over the time of the run.
    Stability,
    /// The latency distribution.
    Latency,
    /// Service level goals.
    Goals,
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

/// Workloads that a rule applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    AnyWorkload,
    ConstantLoad,
    RandomReads,
}

/// A check that applies to every benchmark.
#[derive(Debug, Clone, Copy)]
pub struct CheckRule {
    /// The check.
    pub id: CheckId,
    /// The check that, if it triggers too, already covers this one.
    pub(super) superseded_by: Option<CheckId>,
    scope: Scope,
    find_evidence: fn(&BenchmarkRun) -> Option<CheckEvidence>,
}

impl CheckRule {
    /// A rule for any workload. The function returns the values that trigger the check, `None` if
    /// the check passes or too little is known.
    pub(super) const fn new(
        id: CheckId,
        find_evidence: fn(&BenchmarkRun) -> Option<CheckEvidence>,
    ) -> Self {
        Self {
            id,
            superseded_by: None,
            scope: Scope::AnyWorkload,
            find_evidence,
        }
    }

    /// The same rule for constant loads only.
    pub(super) const fn for_constant_load(self) -> Self {
        Self {
            scope: Scope::ConstantLoad,
            ..self
        }
    }

    /// The same rule for random reads only.
    pub(super) const fn for_random_reads(self) -> Self {
        Self {
            scope: Scope::RandomReads,
            ..self
        }
    }

    /// The same rule, unless an earlier check triggered.
    pub(super) const fn unless(self, earlier: CheckId) -> Self {
        Self {
            superseded_by: Some(earlier),
            ..self
        }
    }

    /// Whether the rule applies to benchmarks with this workload.
    #[must_use]
    pub fn applies_to(&self, workload: Workload) -> bool {
        match self.scope {
            Scope::AnyWorkload => true,
            Scope::ConstantLoad => workload.is_constant,
            Scope::RandomReads => workload.has_random_reads,
        }
    }

    /// Applies the check to a run; `None` if it passes.
    #[must_use]
    pub fn evaluate(&self, run: &BenchmarkRun) -> Option<CheckEvidence> {
        let evidence = (self.find_evidence)(run)?;
        debug_assert_eq!(evidence.id(), self.id, "the rule returned another check");
        Some(evidence)
    }
}

/// Whether the benchmark bypasses the page cache, according to its parameters.
pub(super) fn is_direct(run: &BenchmarkRun) -> bool {
    run.typed_parameters().page_cache_mode().is_none()
}

/// `part` as a fraction of `whole`, 0 to 1; `None` if `whole` is 0.
pub(super) fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
