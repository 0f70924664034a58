//! Reads a run.
//!
//! In JSON what a test found stands beside the other fields of a run. serde's `flatten` would hold
//! all of it in a generic form first, which takes twenty times the bytes of a series: so the fields
//! are listed here once more, for reading only.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    Cpu, EngineRecord, Evidence, Figure, Findings, Goal, KernelCounts, LatencyByDirection,
    Reproduce, Run, RunError, RunState, Series, StageSplit, Table, TargetRecord, Unit, Verdict,
};
use crate::bounded;
use crate::safe_text::{self, Name, SafeText};

#[derive(Deserialize)]
struct RunFields {
    #[serde(deserialize_with = "safe_text::name")]
    test: SafeText,
    state: RunState,
    error: Option<RunError>,
    started: SafeText,
    elapsed_ns: u64,
    target: TargetRecord,
    #[serde(deserialize_with = "bounded::map::<_, _, _, 1_000>")]
    parameters: BTreeMap<Name, Scalar>,
    #[serde(default, deserialize_with = "bounded::map::<_, _, _, 1_000>")]
    parameter_units: BTreeMap<Name, Unit>,
    engine: EngineRecord,
    #[serde(deserialize_with = "bounded::list::<_, _, 100_000>")]
    figures: Vec<Figure>,
    latency: LatencyByDirection,
    #[serde(default, deserialize_with = "tables")]
    tables: Vec<Table>,
    #[serde(deserialize_with = "bounded::list::<_, _, 1_000>")]
    series: Vec<Series>,
    #[serde(deserialize_with = "bounded::list::<_, _, 1_000>")]
    verdicts: Vec<Verdict>,
    #[serde(default, deserialize_with = "bounded::list::<_, _, 1_000>")]
    goals: Vec<Goal>,
    kernel: Option<KernelCounts>,
    #[serde(default)]
    stages: Option<StageSplit>,
    cpu: Option<Cpu>,
    #[serde(default)]
    evidence: Evidence,
    reproduce: Reproduce,
}

impl<'de> Deserialize<'de> for Run {
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
                figures: fields.figures,
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

/// Cells of all tables of a run: each is padded to the width of its column when it is printed.
const MOST_CELLS: usize = 100_000;
/// Tables of a run.
const MOST_TABLES: usize = 1_000;

fn tables<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Table>, D::Error> {
    deserializer.deserialize_seq(ReadTables)
}

struct ReadTables;

impl<'de> Visitor<'de> for ReadTables {
    type Value = Vec<Table>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "at most {MOST_TABLES} tables")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<Table>, A::Error> {
        let (mut tables, mut cells): (Vec<Table>, usize) = (Vec::new(), 0);
        while let Some(table) = elements.next_element::<Table>()? {
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

/// The value of a parameter: null, a truth value, a number or text.
struct Scalar(Value);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ReadScalar)
    }
}

struct ReadScalar;

impl Visitor<'_> for ReadScalar {
    type Value = Scalar;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a number, a word or null")
    }

    fn visit_unit<E: Error>(self) -> Result<Scalar, E> {
        Ok(Scalar(Value::Null))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Scalar, E> {
        Ok(Scalar(value.into()))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Scalar, E> {
        Ok(Scalar(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Scalar, E> {
        Ok(Scalar(value.into()))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Scalar, E> {
        Ok(Scalar(String::from(SafeText::from(value)).into()))
    }
}
