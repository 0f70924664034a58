//! On simulated drives: everything that response times and the course of a run give away.

use crate::verdicts::sandbox::VerdictSandbox;

#[test]
fn clean_simulated_runs_have_no_checks() {
    let sandbox = VerdictSandbox::new();
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
        let run = sandbox.run_benchmark(&[&words[..], &["--duration", "3s"]].concat());
        run.assert_only_checks(&[]);
        assert!(run.value_at("/evidence/issued/reads").as_u64().is_some());
    }
    let disk =
        sandbox.run_benchmark(&["random-read", "sim:hdd,clock=virtual", "--duration", "30s"]);
    disk.assert_only_checks(&[]);
}

#[test]
fn filling_cache_is_flagged_as_throughput_drop() {
    let run = VerdictSandbox::new().run_benchmark(&[
        "random-write",
        "sim:given,latencies=100us*9766+1ms*1000000",
        "--depth",
        "1",
        "--duration",
        "10s",
    ]);
    // 4 KiB each 100 us, then each 1 ms.
    run.assert_check("throughput-cliff", &["4.10 MB/s"]);
}

#[test]
fn slowing_drive_is_flagged_as_drift() {
    let steps: Vec<String> = (0..25)
        .map(|step| format!("{}us*3200", 100 + step))
        .collect();
    let drive = format!("sim:given,latencies={}+125us*1000000", steps.join("+"));
    let run = VerdictSandbox::new().run_benchmark(&[
        "random-read",
        &drive,
        "--depth",
        "1",
        "--duration",
        "10s",
    ]);
    // From 100 us to 125 us each: to four fifths of the throughput, without a cliff.
    run.assert_check("throughput-drifted", &["fell"]);
    assert!(!run.check_codes().contains(&"throughput-cliff"));
}

#[test]
fn bimodal_latencies_are_flagged() {
    let drive = "sim:given,latencies=100us*7+8ms*3";
    let run = VerdictSandbox::new().run_benchmark(&[
        "random-read",
        drive,
        "--depth",
        "1",
        "--duration",
        "30s",
    ]);
    run.assert_check("bimodal-latency", &["70 %"]);
}

#[test]
fn disk_that_says_ssd_is_flagged() {
    // Half-normal latencies with a scale of 8 ms above 3 ms: p10 4 ms, p50 8.4 ms, p90 16 ms.
    let drive = "sim:ssd,clock=virtual,read=3ms,jitter=8ms";
    let run_at = |depth: &str| {
        let words = ["random-read", drive, "--depth", depth, "--duration", "30s"];
        VerdictSandbox::new().run_benchmark(&words)
    };
    run_at("1").assert_check("behaves-like-disk", &["rotational=0", "p10 to p90"]);
    assert!(!run_at("8").check_codes().contains(&"behaves-like-disk"));
}

#[test]
fn disk_that_answers_as_an_ssd_is_flagged() {
    let run_with = |hits: &str| {
        let drive = format!("sim:hdd,clock=virtual,cache-hits={hits}");
        let words = ["random-read", &drive, "--depth", "1", "--duration", "30s"];
        VerdictSandbox::new().run_benchmark(&words)
    };
    run_with("70%").assert_check("rotational-flag-doubtful", &["rotational=1"]);
    assert!(
        !run_with("0%")
            .check_codes()
            .contains(&"rotational-flag-doubtful")
    );
}

#[test]
fn small_window_of_a_disk_is_flagged() {
    let run_in = |end: &str| {
        let words = [
            "random-read",
            "sim:hdd,clock=virtual,size=1TB",
            "--window-end",
            end,
        ];
        VerdictSandbox::new().run_benchmark(&[&words[..], &["--duration", "30s"]].concat())
    };
    run_in("1GB").assert_check("narrow-window", &["1.00 GB of the disk's 1.00 TB"]);
    assert!(!run_in("200GB").check_codes().contains(&"narrow-window"));
}

#[test]
fn run_of_hundred_requests_is_flagged_as_too_short() {
    let run =
        VerdictSandbox::new().run_benchmark(&["random-read", "sim:constant", "--requests", "100"]);
    run.assert_check("too-few-samples", &["100 reads"]);
}

#[test]
fn wakeup_longer_than_half_of_the_drives_answer_is_flagged() {
    let run = |wakeup: &str| {
        let drive = format!("sim:constant,latency=40us,wakeup={wakeup}");
        let words = ["random-read", &drive, "--depth", "1", "--duration", "5s"];
        VerdictSandbox::new().run_benchmark(&words)
    };
    let slow = run("60us");
    slow.assert_check("wakeup-dominates", &["60", "the drive answers in 40"]);
    let metrics = slow.value_at("/figures").as_array().unwrap();
    let cost = metrics
        .iter()
        .find(|it| it["name"] == "wakeup_cost")
        .unwrap();
    let value = cost["value"].as_f64().unwrap();
    assert!((value - 60e3).abs() < 1e3, "{cost}");
    let quick = run("10us");
    assert!(!quick.check_codes().contains(&"wakeup-dominates"));
}

#[test]
fn durable_writes_faster_than_disk_rotation_are_flagged() {
    let words = ["--sync", "dsync", "--depth", "1", "--duration", "30s"];
    let honest = [&["random-write", "sim:hdd,clock=virtual"][..], &words].concat();
    let cached = [
        &["random-write", "sim:hdd,clock=virtual,write-cache=256MiB"][..],
        &words,
    ]
    .concat();
    let sandbox = VerdictSandbox::new();
    sandbox.run_benchmark(&honest).assert_only_checks(&[]);
    let run = sandbox.run_benchmark(&cached);
    run.assert_check("sync-too-fast", &["half a revolution"]);
}

#[test]
fn zero_data_is_flagged() {
    let words = [
        "random-write",
        "sim:constant",
        "--data",
        "zero",
        "--duration",
        "1s",
    ];
    VerdictSandbox::new()
        .run_benchmark(&words)
        .assert_check("compressible-data", &["--data zero"]);
}

#[test]
fn goal_between_decimal_and_binary_units_is_flagged() {
    // 4 KiB each 100 us: 40.96 MB/s; 40 MiB/s are 41.94.
    let run = VerdictSandbox::new().run_benchmark(&[
        "random-read",
        "sim:constant,latency=100us",
        "--depth",
        "1",
        "--duration",
        "5s",
        "--goal",
        "throughput>=40MB/s",
    ]);
    run.assert_check("units-confused", &["41.0 MB/s", "met"]);
}

#[test]
fn requests_below_physical_block_are_flagged() {
    let words = [
        "random-read",
        "sim:ssd,clock=virtual",
        "--block-size",
        "512",
        "--duration",
        "1s",
    ];
    VerdictSandbox::new()
        .run_benchmark(&words)
        .assert_check("below-physical-block", &["512", "4 KiB"]);
}
