//! Tests of the program, run on simulated drives from begin to end.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use diskscope::bench::{self, Observer, Parameters, Progress, runner};
use diskscope::drive::Target;
use diskscope::engine::{Control, Engine};
use diskscope::session::document::Findings;

/// Nobody watches.
pub struct Silent;

impl Observer for Silent {
    fn progress(&mut self, _: &Progress) {}
    fn phase_finished(&mut self, _: &Findings) {}
}

/// Runs a test on a target through an engine.
pub fn run_on(
    test: &str,
    target: &Target,
    engine: &dyn Engine,
    set: &[(&'static str, &str)],
) -> Findings {
    let test = bench::find(test).unwrap();
    let description = test.description();
    let mut parameters = Parameters::defaults(description.parameters, target);
    for (name, text) in set {
        let known = description
            .parameters
            .iter()
            .find(|known| known.name == *name)
            .unwrap();
        parameters.set(known.name, known.parse(text).unwrap());
    }
    let finished = runner::run(
        test,
        target,
        &parameters,
        engine,
        &Control::default(),
        &mut Silent,
    );
    assert!(finished.error.is_none(), "{:?}", finished.error);
    finished.findings
}
