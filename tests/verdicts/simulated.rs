//! On simulated drives: everything that response times and the course of a run give away.

use crate::place::Place;

#[test]
fn clean_runs_deserve_no_verdict_at_all() {
    let place = Place::new();
    for words in [
        ["random-read", "sim:constant,latency=100us", "--depth", "1"],
        ["random-read", "sim:ssd,clock=virtual", "--depth", "8"],
        [
            "random-write",
            "sim:constant,latency=200us,parallel=4",
            "--depth",
            "4",
        ],
    ] {
        let run = place.run(&[&words[..], &["--duration", "3s"]].concat());
        run.assert_only(&[]);
        assert!(run.at("/evidence/asked/reads").as_u64().is_some());
    }
    let disk = place.run(&["random-read", "sim:hdd,clock=virtual", "--duration", "30s"]);
    disk.assert_only(&[]);
}

#[test]
fn a_cache_that_fills_up_is_a_cliff() {
    let run = Place::new().run(&[
        "random-write",
        "sim:cliff,latency=100us,slow=1ms,cache=40MB",
        "--depth",
        "1",
        "--duration",
        "10s",
    ]);
    // 4 KiB each 100 us, then each 1 ms.
    run.assert_found("throughput-cliff", &["4.10 MB/s"]);
}

#[test]
fn a_drive_that_gets_slower_and_slower_drifts() {
    let run = Place::new().run(&[
        "random-read",
        "sim:fading,latency=100us,slow=125us,requests=80000",
        "--depth",
        "1",
        "--duration",
        "10s",
    ]);
    // From 100 us to 125 us each: to four fifths of the throughput, without a cliff.
    run.assert_found("throughput-drifted", &["fell"]);
    assert!(!run.codes().contains(&"throughput-cliff"));
}

#[test]
fn two_kinds_of_requests_are_two_speeds() {
    let drive = "sim:bimodal,latency=100us,slow=8ms,percent=30";
    let run = Place::new().run(&["random-read", drive, "--depth", "1", "--duration", "30s"]);
    run.assert_found("two-speeds", &["70 %"]);
}

#[test]
fn a_hundred_requests_are_too_few() {
    let run = Place::new().run(&["random-read", "sim:constant", "--requests", "100"]);
    run.assert_found("too-few-samples", &["100 reads"]);
}

#[test]
fn durable_writes_into_a_volatile_cache_are_too_fast_for_a_disk() {
    let words = ["--sync", "dsync", "--depth", "1", "--duration", "30s"];
    let honest = [&["random-write", "sim:hdd,clock=virtual"][..], &words].concat();
    let cached = [
        &["random-write", "sim:hdd,clock=virtual,write-cache=256MiB"][..],
        &words,
    ]
    .concat();
    let place = Place::new();
    place.run(&honest).assert_only(&[]);
    let run = place.run(&cached);
    run.assert_found("sync-too-fast", &["half a revolution"]);
}

#[test]
fn zeros_are_no_data() {
    let words = [
        "random-write",
        "sim:constant",
        "--data",
        "zero",
        "--duration",
        "1s",
    ];
    Place::new()
        .run(&words)
        .assert_found("compressible-data", &["--data zero"]);
}

#[test]
fn a_goal_between_megabytes_and_mebibytes_is_told() {
    // 4 KiB each 100 us: 40.96 MB/s; 40 MiB/s are 41.94.
    let run = Place::new().run(&[
        "random-read",
        "sim:constant,latency=100us",
        "--depth",
        "1",
        "--duration",
        "5s",
        "--goal",
        "throughput>=40MB/s",
    ]);
    run.assert_found("units-confused", &["41.0 MB/s", "met"]);
}

#[test]
fn requests_below_the_physical_block_are_told() {
    let words = [
        "random-read",
        "sim:ssd,clock=virtual",
        "--block-size",
        "512",
        "--duration",
        "1s",
    ];
    Place::new()
        .run(&words)
        .assert_found("below-physical-block", &["512", "4 KiB"]);
}
