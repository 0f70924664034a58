//! What every benchmark has: a description, a forecast, a run.

use super::context::RunContext;
use super::error::BenchError;
use super::fio::FioJob;
use super::forecast::Forecast;
use super::parameter::{AnyParameter, ParameterSet};
use super::phases::Phases;
use crate::bench::framework::metric_families::MetricFamily;
use crate::drive::Target;
use crate::session::chart::{ChartSpec, ResultPresentation};
use crate::session::checks::{Workload, named_options};
use crate::session::document::check::Check;
use crate::session::document::{Findings, FioGap, MetricId};

/// A benchmark: its plans and their analysis.
pub trait Benchmark: Sync + Send {
    /// Static description.
    fn description(&self) -> &'static Description;

    /// Whether the benchmark writes to the target with these parameters, and so needs consent.
    fn writes(&self, parameters: &ParameterSet) -> bool {
        let _ = parameters;
        self.description().may_write
    }

    /// What the benchmark executes with these parameters: the only source of its run, its forecast
    /// and its fio line.
    ///
    /// # Errors
    /// When the parameters do not fit the target or each other.
    fn phases(&self, target: &Target, parameters: &ParameterSet) -> Result<Phases, BenchError>;

    /// Predicts run time, bytes read and bytes written with these parameters.
    ///
    /// # Errors
    /// When the parameters do not fit the target or each other.
    fn forecast(&self, target: &Target, parameters: &ParameterSet) -> Result<Forecast, BenchError> {
        Ok(self.phases(target, parameters)?.forecast(target))
    }

    /// Executes the plans and analyses their outcomes. After a stop or a failure (see
    /// [`RunContext::is_stopped`]) it analyses the data measured so far and returns.
    ///
    /// # Errors
    /// When nothing could be measured.
    fn run(&self, bench: &mut RunContext<'_>) -> Result<(), BenchError>;

    /// The equivalent fio job with these parameters.
    ///
    /// # Errors
    /// Why fio cannot run an equivalent job.
    fn fio(&self, target: &Target, parameters: &ParameterSet) -> Result<FioJob, FioGap> {
        let phases = self.phases(target, parameters);
        phases.map_err(|_| FioGap::Parameters)?.fio(target)
    }
}

/// The groups in which lists show the benchmarks, in listing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BenchmarkGroup {
    /// Several benchmarks in one run: a first look at a drive.
    Quick,
    /// One workload: its throughput, IOPS and latency.
    Throughput,
    /// One parameter over its range.
    Sweeps,
    /// What a power failure would leave on the medium, and its price.
    Durability,
    /// Mechanics of rotational disks.
    HardDisks,
    /// Whether the data that is read is the data that was written.
    Integrity,
}

impl BenchmarkGroup {
    /// All groups, in listing order.
    pub const ALL: [Self; 6] = [
        Self::Quick,
        Self::Throughput,
        Self::Sweeps,
        Self::Durability,
        Self::HardDisks,
        Self::Integrity,
    ];

    /// Heading of the group in lists.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Quick => "quick",
            Self::Throughput => "throughput and latency",
            Self::Sweeps => "sweeps",
            Self::Durability => "durability",
            Self::HardDisks => "hard disks",
            Self::Integrity => "integrity",
        }
    }
}

/// Static description of a benchmark.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Name, as in `diskscope run NAME`.
    pub name: &'static str,
    /// Alternative names.
    pub aliases: &'static [&'static str],
    /// The group in which lists show it.
    pub group: BenchmarkGroup,
    /// Target and options of an example, as they follow `diskscope run NAME`.
    pub example: &'static str,
    /// One-line summary of what it measures.
    pub summary: &'static str,
    /// Paragraphs for the info pane and `docs/tests.md`: method, how to read the chart, cost.
    pub explanation: &'static str,
    /// Whether it can write to the target at all; [`Benchmark::writes`] answers for given
    /// parameters.
    pub may_write: bool,
    /// Accepted parameters.
    pub parameters: &'static [&'static dyn AnyParameter],
    /// The metrics that it can yield.
    pub metrics: &'static [MetricFamily],
    /// Checks that the benchmark itself makes, beside those that apply to every run.
    pub checks: &'static [Check],
    /// What the checks of every run need to know about its load.
    pub workload: Workload,
    /// Charts of the result, most important first.
    pub charts: &'static [ChartSpec],
    /// The metrics to show first, in this order.
    pub headline_metrics: &'static [MetricId],
}

impl Description {
    /// Nothing yet: what the descriptions of a family have in common is added to it.
    pub const BLANK: Self = Self {
        name: "",
        aliases: &[],
        group: BenchmarkGroup::Quick,
        example: "",
        summary: "",
        explanation: "",
        may_write: false,
        parameters: &[],
        metrics: &[],
        checks: &[],
        workload: Workload::CONSTANT,
        charts: &[],
        headline_metrics: &[],
    };

    /// In a debug build, panics on findings with a check that the benchmark does not declare, or
    /// with advice that names an option that it does not have.
    pub(crate) fn assert_checks_declared(&self, findings: &Findings) {
        // Those of nested benchmarks are checked with their own description.
        let own = findings.verdicts.iter();
        for verdict in own.filter(|verdict| !verdict.is_nested()) {
            let is_declared = self.checks.iter().any(|check| verdict.is_of(*check));
            debug_assert!(
                is_declared,
                "{} does not declare {}",
                self.name, verdict.code
            );
            for option in named_options(&verdict.advice) {
                let mut parameters = self.parameters.iter();
                debug_assert!(
                    parameters.any(|parameter| parameter.name() == option),
                    "{} has no --{option}, which {} advises",
                    self.name,
                    verdict.code
                );
            }
        }
    }

    /// How to present the result.
    #[must_use]
    pub fn presentation(&self) -> ResultPresentation {
        ResultPresentation {
            summary: self.summary,
            headline: self.headline_metrics,
            charts: self.charts,
        }
    }
}
