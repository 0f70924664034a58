use crate::bench::find;
use crate::bench::tests::fake::{self, Fake, codes, simulate, value};

#[test]
fn a_constant_drive_is_steady_after_five_rounds() {
    let set = [("round-time", "1s"), ("precondition", "1"), ("depth", "1")];
    let finished = simulate(find("steady-state").unwrap(), "sim:constant,size=1GB", &set);
    assert_eq!(value(&finished, "steady_state_round"), 5.0);
    assert!((value(&finished, "steady_state_iops") / 10_000.0 - 1.0).abs() < 0.01);
    assert!(codes(&finished).is_empty());
}

#[test]
fn the_cliff_names_the_size_of_the_cache() {
    let name = "sim:cliff,size=4GB,cache=1GB,latency=100us,slow=1ms";
    let set = [("round-time", "2s"), ("precondition", "1")];
    let finished = simulate(find("steady-state").unwrap(), name, &set);
    // Buckets of 100 ms hold 131 MB of fast writes.
    assert!((value(&finished, "cache_bytes") / 1e9 - 1.0).abs() < 0.15);
    assert_eq!(codes(&finished), ["write-cliff"]);
    assert!((value(&finished, "steady_state_iops") / 1000.0 - 1.0).abs() < 0.02);
}

#[test]
fn a_drive_that_never_settles_is_not_said_to() {
    let fake = Fake::new(|asked| {
        // Each round has a seed of its own.
        Some(if asked.plan.seed.is_multiple_of(2) {
            100_000
        } else {
            200_000
        })
    });
    let set = [
        ("rounds", "8"),
        ("round-time", "1s"),
        ("precondition", "0"),
        ("depth", "1"),
    ];
    let finished = fake::run(
        find("steady-state").unwrap(),
        &fake::target(1 << 30),
        &set,
        &fake,
    );
    assert!(finished.findings.figure("steady_state_iops").is_none());
    assert!(codes(&finished).contains(&"not-steady"));
    assert_eq!(
        finished
            .findings
            .series("iops-by-round")
            .unwrap()
            .points
            .len(),
        8
    );
}

#[test]
fn the_forecast_says_bytes_and_share() {
    let target = fake::target(100 << 30);
    let test = find("steady-state").unwrap();
    let parameters = fake::parameters(test, &target, &[]);
    let forecast = test.forecast(&target, &parameters).unwrap();
    assert_eq!(forecast.writes, Some(400 << 30));
    assert!(
        forecast.sentence.contains("200 GiB (2.00 times over it)"),
        "{forecast:?}"
    );
    assert!(
        forecast.sentence.contains("4.00 times over it"),
        "{forecast:?}"
    );
}

#[test]
fn no_more_is_written_than_was_said() {
    let fake = Fake::new(|_| Some(10_000));
    let target = fake::target(1 << 30);
    let set = [("bytes", "1536MiB")];
    let finished = fake::run(find("steady-state").unwrap(), &target, &set, &fake);
    let written: f64 = finished
        .findings
        .series("throughput-against-written")
        .unwrap()
        .points
        .last()
        .unwrap()[0];
    assert!(written <= f64::from(1536 << 20), "{written}");
}
