//! Compares sessions.

use std::collections::HashSet;

use super::caution::collect_cautions;
use super::comparison::{
    COMPARISON_SCHEMA, COMPARISON_VERSION, ComparedBenchmark, ComparedMetric, ComparedSession,
    Comparison, MeasuredTarget,
};
use super::input::{ComparisonInput, RepeatedRuns};
use super::measurement::MatchedMeasurement;
use super::ratio::MetricSample;
use super::{align, measurement, overlay, ratio};
use crate::session::document::{BenchmarkRun, MetricId, MetricIndex, MetricUnit};

/// Compares all sessions by benchmark. Runs of one benchmark with the same parameters are compared
/// whichever files they are in, each with the first file that has them. Parameters whose names are
/// in `ignored` may differ.
#[must_use]
pub fn compare_sessions(inputs: &[ComparisonInput<'_>], ignored: &[String]) -> Comparison {
    let measurements = measurement::collect_measurements(inputs, ignored);
    let together = measurements
        .iter()
        .filter(|measurement| measurement.sides().count() > 1);
    Comparison {
        schema: COMPARISON_SCHEMA.into(),
        version: COMPARISON_VERSION,
        sessions: inputs.iter().map(compared_session).collect(),
        benchmarks: together.map(compare_measurement).collect(),
        mismatches: measurement::find_mismatches(&measurements, ignored),
    }
}

fn compared_session(input: &ComparisonInput<'_>) -> ComparedSession {
    ComparedSession {
        name: input.name.into(),
        host: input.session.host.name.clone(),
        started: input.session.started.clone(),
        program: input.session.program.clone(),
    }
}

/// Repeated runs, each with an index of its metrics.
type Indexed<'a> = Vec<(&'a BenchmarkRun, MetricIndex<'a>)>;

fn compare_measurement(measurement: &MatchedMeasurement<'_>) -> ComparedBenchmark {
    let groups = &measurement.groups;
    let runs = || groups.iter().flatten().flatten();
    let indexed: Vec<Option<Indexed<'_>>> = groups
        .iter()
        .map(|group| {
            let group = group.as_ref()?;
            Some(
                group
                    .iter()
                    .map(|run| (*run, run.findings.index()))
                    .collect(),
            )
        })
        .collect();
    let mut known: HashSet<&MetricId> = HashSet::new();
    let mut run_metrics = Vec::new();
    for metric in runs().flat_map(|run| &run.findings.metrics) {
        if known.insert(&metric.id) {
            run_metrics.extend(compare_metric(&metric.id, metric.unit, &indexed));
        }
    }
    let (parameters, differing) = align::split_parameters(groups);
    ComparedBenchmark {
        benchmark: measurement.test(),
        baseline: measurement.sides().next().unwrap_or(0),
        parameters,
        differing,
        targets: groups
            .iter()
            .map(|group| group.as_ref().map(measured_target))
            .collect(),
        metrics: run_metrics,
        charts: overlay::chart_overlays(groups),
    }
}

/// Compares one metric on all sides; `None` if fewer than two have it.
fn compare_metric(
    id: &MetricId,
    unit: MetricUnit,
    groups: &[Option<Indexed<'_>>],
) -> Option<ComparedMetric> {
    let of_group = |group: &Indexed<'_>| {
        let found = group.iter().filter_map(|(run, run_metrics)| {
            let metric = run_metrics.get(id)?;
            (metric.unit == unit).then_some((*run, metric))
        });
        ratio::pool_metrics_of_runs(&found.collect::<Vec<_>>())
    };
    let better = ratio::better_direction(id, unit);
    let mut sides: Vec<Option<MetricSample>> = groups
        .iter()
        .map(|group| group.as_ref().and_then(of_group))
        .collect();
    if sides.iter().flatten().count() < 2 {
        return None;
    }
    let baseline = sides.iter().position(Option::is_some)?;
    let first = sides[baseline].clone()?;
    for (index, sample) in sides.iter_mut().enumerate().skip(baseline + 1) {
        if let Some(sample) = sample {
            let against = ratio::ratio_to_baseline(&first, sample, better);
            sample.against_baseline = against.map(|against| {
                against.with_missing_intervals([(baseline, &first), (index, sample)])
            });
        }
    }
    Some(ComparedMetric {
        id: id.clone(),
        unit,
        better,
        baseline,
        samples: sides,
    })
}

fn measured_target(group: &RepeatedRuns<'_>) -> MeasuredTarget {
    let target = &group[0].target;
    MeasuredTarget {
        target: target.path.clone(),
        model: target.model.clone(),
        serial: target.serial.clone(),
        runs: group.len(),
        cautions: collect_cautions(group),
    }
}
