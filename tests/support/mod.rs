//! Tests of the program, run on simulated drives from begin to end.

use diskscope::bench::framework::context;
use diskscope::bench::{self, ParameterSet, RunObserver, RunProgress};
use diskscope::drive::Target;
use diskscope::engine::{CancellationToken, Engine};
use diskscope::session::document::Findings;

/// Nobody watches.
pub struct Silent;

impl RunObserver for Silent {
    fn progress(&mut self, _: &RunProgress) {}
    fn phase_finished(&mut self, _: &Findings) {}
}

/// Runs a test on a target through an engine.
pub fn run_on(
    test: &str,
    target: &Target,
    engine: &dyn Engine,
    set: &[(&'static str, &str)],
) -> Findings {
    let test = bench::find_benchmark(test).expect("a test and parameters that there are");
    let description = test.description();
    let mut parameters = ParameterSet::defaults(description.parameters, target);
    for (name, text) in set {
        let known = description
            .parameters
            .iter()
            .find(|known| known.name() == *name)
            .expect("a test and parameters that there are");
        parameters.set_value(
            known.name(),
            known
                .parse(text)
                .expect("a test and parameters that there are"),
        );
    }
    let finished = context::run_benchmark(
        test,
        target,
        &parameters,
        engine,
        &CancellationToken::default(),
        &mut Silent,
    );
    assert!(finished.error.is_none(), "{:?}", finished.error);
    finished.findings
}
