//! Synthetic runs for the tests of comparison.

use std::collections::BTreeMap;

use crate::session::document::{
    BenchmarkRun, EngineRecord, Findings, HostRecord, Invocation, Metric, MetricId, MetricUnit,
    RunEvidence, RunState, SCHEMA, Session, TargetRecord, VERSION,
};

/// A run of random-read with one metric, whose confidence interval is `value` +- `margin`.
pub(crate) fn sample_run(name: &str, value: f64, margin: f64) -> BenchmarkRun {
    BenchmarkRun {
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
        parameter_units: BTreeMap::from([("block-size".into(), MetricUnit::Bytes)]),
        engine: EngineRecord {
            name: "uring".into(),
            ..EngineRecord::default()
        },
        findings: Findings {
            metrics: vec![
                Metric::new(MetricId::parse(name), value)
                    .with_interval(value - margin, value + margin),
            ],
            ..Findings::default()
        },
        kernel: None,
        stages: None,
        cpu: None,
        evidence: RunEvidence::default(),
        reproduce: Invocation::default(),
    }
}

/// A session with these runs on this host.
pub(crate) fn sample_session(host: &str, runs: Vec<BenchmarkRun>) -> Session {
    Session {
        schema: SCHEMA.into(),
        version: VERSION,
        program: "diskscope 0.1.0".into(),
        started: "2026-01-02T03:04:05+00:00".into(),
        host: HostRecord {
            name: Some(host.into()),
            ..HostRecord::default()
        },
        note: None,
        runs,
    }
}
