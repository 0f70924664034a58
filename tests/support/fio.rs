//! What fio says of its run.

#![allow(dead_code, reason = "not every program needs all of it")]

use std::process::Command;

use serde_json::Value;

use crate::requirement::{Requirement, skip};

/// The reads of the first job of a run with `--output-format=json --lat_percentiles=1`.
#[derive(Debug, Clone, Copy)]
pub struct FioReads {
    pub iops: f64,
    pub requests: f64,
    /// Percentiles of the latency, in nanoseconds.
    pub p50_ns: f64,
    pub p99_ns: f64,
}

impl FioReads {
    /// From fio's output; panics where it is not the document of such a run.
    pub fn from_json(output: &[u8]) -> Self {
        let document: Value = serde_json::from_slice(output).unwrap();
        let read = &document["jobs"][0]["read"];
        let percentile = |name: &str| read["lat_ns"]["percentile"][name].as_f64().unwrap();
        Self {
            iops: read["iops"].as_f64().unwrap(),
            requests: read["total_ios"].as_f64().unwrap(),
            p50_ns: percentile("50.000000"),
            p99_ns: percentile("99.000000"),
        }
    }
}

/// Whether fio is there; where it is not, says that the calling test is skipped.
pub fn has_fio() -> bool {
    let found = Command::new("fio").arg("--version").output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        skip(Requirement::Fio, "fio is not installed");
    }
    found
}
