//! Parameters of steady-state.

use std::time::Duration;

use crate::bench::framework;
use crate::bench::{Parameter, ParameterKind};
use crate::drive::TargetKind;

pub(crate) const READ_FRACTION: Parameter<f64> = Parameter {
    help: "percentage of reads in a round (fio rwmixread)",
    ..framework::READ_FRACTION.with_default(|_| 0.0)
};
pub(crate) const PRECONDITION_PASSES: Parameter<f64> = Parameter {
    name: "precondition",
    kind: ParameterKind::Number {
        min: 0.0,
        max: 10.0,
    },
    help: "sequential writes of the whole window before the rounds, 0 to 10 times",
    default: |_| 2.0,
};
pub(crate) const MAX_ROUNDS: Parameter<u64> = Parameter {
    name: "rounds",
    kind: ParameterKind::Count { min: 1, max: 1000 },
    help: "maximum number of rounds",
    default: |_| 25,
};
pub(crate) const ROUND_DURATION: Parameter<Duration> = Parameter {
    name: "round-time",
    kind: ParameterKind::Duration,
    help: "duration of a round",
    default: |target| {
        let small = matches!(target.kind, TargetKind::ScratchFile | TargetKind::Simulated);
        Duration::from_secs(if small { 5 } else { 60 })
    },
};
