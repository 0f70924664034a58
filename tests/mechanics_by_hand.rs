//! The tests of mechanics on a drive named in the environment, for trials by hand:
//! `DISKSCOPE_TARGET=/dev/loop0 DISKSCOPE_TESTS=rotation,geometry cargo test --test
//! mechanics_by_hand -- --ignored --nocapture`

mod support;

use support::run_on;

use std::time::Instant;

use diskscope::engine::{self, Choice};
use diskscope::roots::Roots;

#[test]
#[ignore = "needs a drive named in DISKSCOPE_TARGET"]
fn measure() {
    let (Ok(name), Ok(tests)) = (
        std::env::var("DISKSCOPE_TARGET"),
        std::env::var("DISKSCOPE_TESTS"),
    ) else {
        println!("not tried: DISKSCOPE_TARGET and DISKSCOPE_TESTS name no drive and no tests");
        return;
    };
    for test in tests.split(',') {
        let opened = engine::open(&Roots::default(), &name, Choice::Auto, None).unwrap();
        let began = Instant::now();
        let findings = run_on(test, &opened.target, opened.engine(), &[]);
        println!("{test}: {:.1} s", began.elapsed().as_secs_f64());
        for figure in &findings.figures {
            println!(
                "   {} {:.3} [{:?} {:?}] of {:?}",
                figure.name, figure.value, figure.low, figure.high, figure.observations
            );
        }
        for verdict in &findings.verdicts {
            println!("   {}: {}", verdict.code, verdict.evidence);
        }
    }
}
