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
    pub find: Find,
}

/// What a rule finds.
type Find = fn(&Run<'_>) -> Option<Found>;
type Text = &'static str;

impl Rule {
    pub(super) const fn of(check: Check, condition: Text, find: Find) -> Self {
        Self {
            check,
            condition,
            find,
        }
    }

    pub(super) const fn note(code: Text, meaning: Text, condition: Text, find: Find) -> Self {
        Self::of(Check::note(code, meaning), condition, find)
    }

    pub(super) const fn warning(code: Text, meaning: Text, condition: Text, find: Find) -> Self {
        Self::of(Check::warning(code, meaning), condition, find)
    }

    pub(super) const fn invalid(code: Text, meaning: Text, condition: Text, find: Find) -> Self {
        Self::of(Check::invalid(code, meaning), condition, find)
    }
}

/// A run as a rule sees it.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// State of the run.
    pub state: RunState,
    /// Duration in nanoseconds, ramp time and preparation included.
    pub elapsed_ns: u64,
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
            elapsed_ns: run.elapsed_ns,
            target: &run.target,
            parameters: run.typed_parameters(),
            workload,
            findings: &run.findings,
            kernel: run.kernel.as_ref(),
            evidence: &run.evidence,
        }
    }

    /// Those of these alternatives that name only options of the benchmark; `otherwise` where none is
    /// left.
    pub(super) fn advice(&self, alternatives: &[&str], otherwise: &str) -> String {
        let applies = |text: &&&str| named_options(text).all(|it| self.parameters.contains(it));
        let kept: Vec<&str> = alternatives.iter().filter(applies).copied().collect();
        if kept.is_empty() {
            otherwise.to_owned()
        } else {
            kept.join(", or ")
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
    /// Whether its results are those of random requests all over the window.
    pub is_random: bool,
    /// Whether it makes all of its writes durable, whatever its parameters are.
    pub syncs_writes: bool,
}

impl Workload {
    /// A constant load.
    pub const CONSTANT: Self = Self {
        is_constant: true,
        has_random_reads: false,
        is_random: false,
        syncs_writes: false,
    };
    /// A constant load of random requests, without a single latency of its reads.
    pub const RANDOM: Self = Self {
        is_random: true,
        ..Self::CONSTANT
    };
    /// A constant load of random reads, alone or among writes.
    pub const RANDOM_READS: Self = Self {
        has_random_reads: true,
        ..Self::RANDOM
    };
    /// A constant load of writes that are made durable.
    pub const DURABLE_WRITES: Self = Self {
        syncs_writes: true,
        ..Self::CONSTANT
    };
    /// A load that changes during the run.
    pub const VARYING: Self = Self {
        is_constant: false,
        ..Self::CONSTANT
    };
}

/// `part` as a fraction of `whole`, 0 to 1; `None` if `whole` is 0.
pub(super) fn fraction(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

/// Options of other commands that advice names: losetup, rsync, and the consent to writing.
const OTHER_OPTIONS: [&str; 3] = ["direct-io=on", "bwlimit", "overwrite"];

/// Names of the options of a benchmark in a text, without the dashes.
pub fn named_options(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split([' ', ',', ';', ':', '(', ')']);
    let options = words.filter_map(|word| word.strip_prefix("--"));
    options.filter(|name| !OTHER_OPTIONS.contains(name))
}
