//! Runs made by hand for the tests of comparison.

use std::collections::BTreeMap;

use crate::session::document::{
    EngineRecord, Evidence, Figure, Findings, Host, Reproduce, Run, RunState, SCHEMA, Session,
    TargetRecord, Unit, VERSION,
};

/// A run of random-read that found one figure, give or take `margin`.
pub(crate) fn run(name: &str, value: f64, margin: f64) -> Run {
    let unit = if name.starts_with("latency") {
        Unit::Nanoseconds
    } else {
        Unit::PerSecond
    };
    Run {
        test: "random-read".into(),
        state: RunState::Finished,
        error: None,
        started: "2026-01-02T03:04:06+00:00".into(),
        elapsed_ns: 10_000_000_000,
        target: TargetRecord {
            path: "/dev/nvme0n1".into(),
            kind: "block-device".into(),
            size_bytes: 1_000_204_886_016,
            logical_block_bytes: 512,
            physical_block_bytes: 4096,
            device: Some("nvme0n1".into()),
            model: Some("Samsung PM9A3".into()),
            serial: Some("S1".into()),
            firmware: None,
            transport: Some("nvme".into()),
            rotational: Some(false),
            file_system: None,
        },
        parameters: BTreeMap::from([
            ("block-size".into(), 4096.into()),
            ("depth".into(), 32.into()),
            ("seed".into(), 1.into()),
        ]),
        parameter_units: BTreeMap::from([("block-size".into(), Unit::Bytes)]),
        engine: EngineRecord {
            name: "uring".into(),
            ..EngineRecord::default()
        },
        findings: Findings {
            figures: vec![Figure::new(name, value, unit).within(value - margin, value + margin)],
            ..Findings::default()
        },
        kernel: None,
        stages: None,
        cpu: None,
        evidence: Evidence::default(),
        reproduce: Reproduce::default(),
    }
}

/// A session of those runs on that host.
pub(crate) fn session(host: &str, runs: Vec<Run>) -> Session {
    Session {
        schema: SCHEMA.into(),
        version: VERSION,
        program: "diskscope 0.1.0".into(),
        started: "2026-01-02T03:04:05+00:00".into(),
        host: Host {
            name: Some(host.into()),
            ..Host::default()
        },
        runs,
    }
}
