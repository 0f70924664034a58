//! Finds comparable runs: those of the same benchmark with the same parameters.

use std::collections::{BTreeMap, BTreeSet};

#[cfg(test)]
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::files::safe_text::SafeText;
use crate::session::document::{BenchmarkRun, MetricUnit};
use crate::units;

/// Parameters that select the requests but do not change what is measured.
const IGNORED_PARAMETERS: [&str; 1] = ["seed"];

/// A parameter in which two runs of one benchmark differ.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct ParameterDifference {
    /// Name, such as `depth`.
    pub parameter: SafeText,
    /// Value on the first side, as the user writes it; null if unset.
    pub first: Option<SafeText>,
    /// Value on the other side, as the user writes it; null if unset.
    pub other: Option<SafeText>,
}

/// Whether both runs are of the same benchmark with the same parameters, except the ignored ones.
#[must_use]
pub fn is_same_measurement(left: &BenchmarkRun, right: &BenchmarkRun, ignored: &[String]) -> bool {
    left.test == right.test && parameter_differences(left, right, ignored).is_empty()
}

/// Groups what is the same as the first of a group, in the order of these first ones.
pub fn group_by<T>(
    all: impl IntoIterator<Item = T>,
    is_same: impl Fn(&T, &T) -> bool,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    for one in all {
        match groups.iter_mut().find(|group| is_same(&group[0], &one)) {
            Some(group) => group.push(one),
            None => groups.push(vec![one]),
        }
    }
    groups
}

/// Groups the runs of one session by what they measured.
#[must_use]
pub fn group_repeated_runs<'a>(
    runs: &'a [BenchmarkRun],
    ignored: &[String],
) -> Vec<Vec<&'a BenchmarkRun>> {
    group_by(runs, |left, right| {
        is_same_measurement(left, right, ignored)
    })
}

/// The parameters in which two runs differ, except the ignored ones.
#[must_use]
pub fn parameter_differences(
    first: &BenchmarkRun,
    other: &BenchmarkRun,
    ignored: &[String],
) -> Vec<ParameterDifference> {
    let names: BTreeSet<&SafeText> = first
        .parameters
        .keys()
        .chain(other.parameters.keys())
        .collect();
    let matters = |name: &&SafeText| {
        !IGNORED_PARAMETERS.contains(&name.as_str())
            && !ignored.iter().any(|other| *name == other)
            && set_parameter(first, name) != set_parameter(other, name)
    };
    names
        .into_iter()
        .filter(matters)
        .map(|name| ParameterDifference {
            parameter: (*name).clone(),
            first: format_parameter(name, &first.parameters, &first.parameter_units)
                .map(Into::into),
            other: format_parameter(name, &other.parameters, &other.parameter_units)
                .map(Into::into),
        })
        .collect()
}

/// The value of a parameter. A parameter that an older program version lacks counts as unset.
fn set_parameter<'a>(run: &'a BenchmarkRun, name: &str) -> Option<&'a Value> {
    run.parameters.get(name).filter(|value| !value.is_null())
}

/// A parameter as the user writes it; `None` if unset.
#[must_use]
pub fn format_parameter(
    name: &str,
    parameters: &BTreeMap<SafeText, Value>,
    parameter_units: &BTreeMap<SafeText, MetricUnit>,
) -> Option<String> {
    let value = parameters.get(name)?;
    match (value, parameter_units.get(name), value.as_u64()) {
        (Value::Null, ..) => None,
        (Value::String(word), ..) => Some(word.clone()),
        (_, Some(MetricUnit::Bytes), Some(bytes)) => Some(units::format_exact_size(bytes)),
        (_, Some(MetricUnit::Nanoseconds), Some(time)) => {
            let duration = std::time::Duration::from_nanos(time);
            Some(units::format_exact_duration(duration))
        }
        (other, Some(MetricUnit::PerSecond), _) => Some(format!("{other}/s")),
        (other, ..) => Some(other.to_string()),
    }
}

/// All parameters that are set, as `name value`.
#[must_use]
pub fn format_parameters(run: &BenchmarkRun) -> Vec<String> {
    let names = run.parameters.keys();
    names
        .filter_map(|name| {
            let value = format_parameter(name, &run.parameters, &run.parameter_units)?;
            Some(format!("{name} {value}"))
        })
        .collect()
}

/// An ignored parameter with different values, and the values of each side.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct DifferingParameter {
    /// Name, such as `depth`.
    pub parameter: SafeText,
    /// For each side, the distinct values of its runs as the user writes them, null for unset;
    /// empty if the side has no run of the benchmark.
    pub values: Vec<Vec<Option<SafeText>>>,
}

/// The parameters that are set and equal in all these runs, as `name value`, and the parameters
/// that differ. A differing seed is omitted: it does not change what is measured.
#[must_use]
pub fn split_parameters(
    groups: &[Option<Vec<&BenchmarkRun>>],
) -> (Vec<SafeText>, Vec<DifferingParameter>) {
    let runs = groups.iter().flatten().flatten();
    let names: BTreeSet<&SafeText> = runs.flat_map(|run| run.parameters.keys()).collect();
    let (mut equal, mut differing) = (Vec::new(), Vec::new());
    for name in names {
        let values: Vec<Vec<Option<SafeText>>> = groups
            .iter()
            .map(|group| distinct_values(name, group.iter().flatten()))
            .collect();
        let distinct: BTreeSet<&Option<SafeText>> = values.iter().flatten().collect();
        let distinct: Vec<_> = distinct.into_iter().collect();
        match distinct.as_slice() {
            [] | [None] => {}
            [Some(value)] => equal.push(format!("{name} {value}").into()),
            _ if IGNORED_PARAMETERS.contains(&name.as_str()) => {}
            _ => differing.push(DifferingParameter {
                parameter: name.clone(),
                values,
            }),
        }
    }
    (equal, differing)
}

/// The distinct values of a parameter in these runs.
fn distinct_values<'r>(
    name: &str,
    runs: impl Iterator<Item = &'r &'r BenchmarkRun>,
) -> Vec<Option<SafeText>> {
    let mut values = Vec::new();
    for run in runs {
        let value =
            format_parameter(name, &run.parameters, &run.parameter_units).map(SafeText::from);
        if !values.contains(&value) {
            values.push(value);
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample::sample_run;

    #[test]
    fn parameter_differences_use_command_line_notation() {
        let first = sample_run("iops", 1.0, 0.1);
        let mut other = first.clone();
        other.parameters.insert("block-size".into(), 8192.into());
        other.parameters.insert("seed".into(), 99.into());
        other.parameters.insert("rate".into(), Value::Null);
        other
            .parameters
            .insert("ramp".into(), 2_000_000_000_u64.into());
        other
            .parameter_units
            .insert("ramp".into(), MetricUnit::Nanoseconds);
        let difference = |parameter: &str, first: Option<&str>, other: &str| ParameterDifference {
            parameter: parameter.into(),
            first: first.map(Into::into),
            other: Some(other.into()),
        };
        assert_eq!(
            parameter_differences(&first, &other, &[]),
            [
                difference("block-size", Some("4KiB"), "8KiB"),
                difference("ramp", None, "2s")
            ]
        );
        assert_eq!(
            parameter_differences(&first, &other, &["ramp".to_owned()]).len(),
            1
        );
        assert!(!is_same_measurement(&first, &other, &[]));
    }

    #[test]
    fn repeated_runs_are_grouped() {
        let mut runs = vec![
            sample_run("iops", 1.0, 0.1),
            sample_run("iops", 2.0, 0.1),
            sample_run("iops", 3.0, 0.1),
        ];
        runs[1].parameters.insert("depth".into(), 1.into());
        let sizes =
            |groups: Vec<Vec<&BenchmarkRun>>| groups.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(sizes(group_repeated_runs(&runs, &[])), [2, 1]);
        assert_eq!(
            sizes(group_repeated_runs(&runs, &["depth".to_owned()])),
            [3]
        );
    }
}
