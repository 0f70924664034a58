//! Tests of the program, run on simulated drives from begin to end.

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
    let test = bench::find(test).expect("a test and parameters that there are");
    let description = test.description();
    let mut parameters = Parameters::defaults(description.parameters, target);
    for (name, text) in set {
        let known = description
            .parameters
            .iter()
            .find(|known| known.name == *name)
            .expect("a test and parameters that there are");
        parameters.set(
            known.name,
            known
                .parse(text)
                .expect("a test and parameters that there are"),
        );
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
