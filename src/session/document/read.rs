//! Reads a run.
//!
//! In JSON what a test found stands beside the other fields of a run. serde's `flatten` would hold
//! all of it in a generic form first, which takes twenty times the bytes of a series: so the fields
//! are listed here once more, for reading only.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::{
    Cpu, EngineRecord, Evidence, Figure, Findings, Goal, KernelCounts, LatencyByDirection,
    Reproduce, Run, RunError, RunState, Series, StageSplit, Table, TargetRecord, Unit, Verdict,
};
use crate::bounded;
use crate::safe_text::SafeText;

#[derive(Deserialize)]
struct RunFields {
    test: SafeText,
    state: RunState,
    error: Option<RunError>,
    started: SafeText,
    elapsed_ns: u64,
    target: TargetRecord,
    #[serde(deserialize_with = "bounded::map::<_, _, _, 1_000>")]
    parameters: BTreeMap<SafeText, Scalar>,
    #[serde(default, deserialize_with = "bounded::map::<_, _, _, 1_000>")]
    parameter_units: BTreeMap<SafeText, Unit>,
    engine: EngineRecord,
    #[serde(deserialize_with = "bounded::list::<_, _, 100_000>")]
    figures: Vec<Figure>,
    latency: LatencyByDirection,
    #[serde(default, deserialize_with = "bounded::list::<_, _, 1_000>")]
    tables: Vec<Table>,
    #[serde(deserialize_with = "bounded::list::<_, _, 10_000>")]
    series: Vec<Series>,
    #[serde(deserialize_with = "bounded::list::<_, _, 10_000>")]
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
                .map(|(name, value)| (name, value.0))
                .collect(),
            parameter_units: fields.parameter_units,
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
