//! Tests of the program, run on simulated drives from begin to end.

use diskscope::bench::framework::context::RunEnvironment;
use diskscope::bench::framework::progress::ProgressSpan;
use diskscope::bench::framework::run;
use diskscope::bench::{self, ParameterSet};
use diskscope::drive::{SettingsManager, Target};
use diskscope::engine::{CancellationToken, Engine};
use diskscope::session::document::Findings;

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
    let environment = RunEnvironment {
        target,
        parameters: &parameters,
        settings: &SettingsManager::default(),
        engine,
        cancellation: &CancellationToken::default(),
    };
    let finished = run::run_benchmark(test, environment, ProgressSpan::whole_run(), &mut |_| {});
    assert!(finished.error.is_none(), "{:?}", finished.error);
    finished.findings
}
