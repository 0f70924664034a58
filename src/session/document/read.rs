//! Deserialization of a run.
//!
//! In JSON, the findings of a benchmark are at the same level as the other fields of a run. serde's
//! `flatten` would first hold all of it in a generic form, which takes twenty times the bytes of a
//! series. Therefore this file lists the fields again, for reading only.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::check::Verdict;
use super::evidence::RunEvidence;
use super::findings::Findings;
use super::invocation::Invocation;
use super::latency::LatencyByDirection;
use super::metric::Metric;
use super::metric_unit::MetricUnit;
use super::record::{
    EngineRecord, KernelCounts, RunCpuTime, RunError, StageBreakdown, TargetRecord,
};
use super::run::{BenchmarkRun, RunState};
use super::series::Series;
use super::slo_result::SloResult;
use super::table::MetricTable;
use crate::files::bounded;
use crate::files::safe_text;
use crate::files::safe_text::{Name, SafeText};

#[derive(Deserialize)]
struct RunFields {
    #[serde(deserialize_with = "safe_text::name")]
    test: SafeText,
    state: RunState,
    error: Option<RunError>,
    started: SafeText,
    elapsed_ns: u64,
    target: TargetRecord,
    parameters: BTreeMap<Name, ParameterScalar>,
    #[serde(default)]
    parameter_units: BTreeMap<Name, MetricUnit>,
    engine: EngineRecord,
    #[serde(
        rename = "figures",
        deserialize_with = "bounded::bounded_list::<_, _, 100_000>"
    )]
    metrics: Vec<Metric>,
    latency: LatencyByDirection,
    #[serde(default, deserialize_with = "tables")]
    tables: Vec<MetricTable>,
    #[serde(deserialize_with = "bounded::bounded_list::<_, _, 1_000>")]
    series: Vec<Series>,
    #[serde(deserialize_with = "bounded::bounded_list::<_, _, 1_000>")]
    verdicts: Vec<Verdict>,
    #[serde(default, deserialize_with = "bounded::bounded_list::<_, _, 1_000>")]
    goals: Vec<SloResult>,
    kernel: Option<KernelCounts>,
    #[serde(default)]
    stages: Option<StageBreakdown>,
    cpu: Option<RunCpuTime>,
    #[serde(default)]
    evidence: RunEvidence,
    reproduce: Invocation,
}

impl<'de> Deserialize<'de> for BenchmarkRun {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = RunFields::deserialize(deserializer)?;
        Ok(Self {
            test: fields.test,
            state: fields.state,
            error: fields.error,
            started: fields.started,
            elapsed_ns: fields.elapsed_ns,
            target: fields.target,
            parameters: fields
                .parameters
                .into_iter()
                .map(|(name, value)| (name.0, value.0))
                .collect(),
            parameter_units: fields
                .parameter_units
                .into_iter()
                .map(|(name, unit)| (name.0, unit))
                .collect(),
            engine: fields.engine,
            findings: Findings {
                metrics: fields.metrics,
                latency: fields.latency,
                tables: fields.tables,
                series: fields.series,
                verdicts: fields.verdicts,
                goals: fields.goals,
            },
            kernel: fields.kernel,
            stages: fields.stages,
            cpu: fields.cpu,
            evidence: fields.evidence,
            reproduce: fields.reproduce,
        })
    }
}

/// Maximum number of cells in all tables of a run: printing pads each cell to its column's width.
const MOST_CELLS: usize = 100_000;
/// Maximum number of tables of a run.
const MOST_TABLES: usize = 1_000;

fn tables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<MetricTable>, D::Error> {
    deserializer.deserialize_seq(ReadTables)
}

struct ReadTables;

impl<'de> Visitor<'de> for ReadTables {
    type Value = Vec<MetricTable>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at most {MOST_TABLES} tables")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<MetricTable>, A::Error> {
        let (mut tables, mut cells): (Vec<MetricTable>, usize) = (Vec::new(), 0);
        while let Some(table) = elements.next_element::<MetricTable>()? {
            cells += table.cells();
            if tables.len() == MOST_TABLES || cells > MOST_CELLS {
                return Err(Error::custom(format_args!(
                    "a run has more than {MOST_TABLES} tables or {MOST_CELLS} cells"
                )));
            }
            tables.push(table);
        }
        Ok(tables)
    }
}

/// The value of a parameter: null, a boolean, a number or a string.
struct ParameterScalar(Value);

impl<'de> Deserialize<'de> for ParameterScalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadScalar)
    }
}

struct ReadScalar;

impl Visitor<'_> for ReadScalar {
    type Value = ParameterScalar;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, a word or null")
    }

    fn visit_unit<E: Error>(self) -> Result<ParameterScalar, E> {
        Ok(ParameterScalar(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<ParameterScalar, E> {
        Ok(ParameterScalar(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<ParameterScalar, E> {
        Ok(ParameterScalar(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<ParameterScalar, E> {
        Ok(ParameterScalar(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<ParameterScalar, E> {
        Ok(ParameterScalar(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<ParameterScalar, E> {
        Ok(ParameterScalar(String::from(SafeText::from(value)).into()))
    }
}
