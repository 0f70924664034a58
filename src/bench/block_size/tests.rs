use super::sizes;
use crate::bench::find;
use crate::bench::tests::fake::{self, Fake, codes, simulate, value};
use crate::drive::random::{scatter, unit};
use crate::drive::{Drive, Target};

#[test]
fn access_time_and_media_speed_are_found_again() {
    let test = find("block-size-read").unwrap();
    let name = "sim:constant,latency=5ms,throughput=150MB,size=100GB";
    let finished = simulate(test, name, &[("duration", "60s"), ("key-size", "12B")]);
    assert!((value(&finished, "access_time") / 5e6 - 1.0).abs() < 0.01);
    assert!((value(&finished, "media_throughput") / 150e6 - 1.0).abs() < 0.01);
    assert!((value(&finished, "balanced_block_size") / 750e3 - 1.0).abs() < 0.02);
    assert!((value(&finished, "crossing_block_size") / 750e3 - 1.0).abs() < 0.15);
    assert!((value(&finished, "full_copy_time") / 666.7e9 - 1.0).abs() < 0.01);
    let points = &finished
        .findings
        .series("response-against-block-size")
        .unwrap()
        .points;
    assert_eq!(points.len(), 16);
    assert!(codes(&finished).is_empty());
}

#[test]
fn a_drive_that_does_not_fit_the_model_says_so() {
    let finished = simulate(
        find("block-size-read").unwrap(),
        "sim:constant",
        &[("duration", "1s")],
    );
    assert!(finished.findings.figure("access_time").is_none());
    assert_eq!(codes(&finished), ["no-response-model"]);
}

#[test]
fn sizes_that_the_kernel_splits_are_named_and_not_fitted() {
    let opened = crate::engine::open(
        &crate::roots::Roots::default(),
        "sim:constant",
        crate::engine::Choice::Auto,
        None,
    )
    .unwrap();
    let drive = opened.target.drive.clone().map(|drive| Drive {
        max_request_kib: Some(128),
        ..drive
    });
    let target = Target {
        drive,
        ..opened.target.clone()
    };
    // Pieces of a split request go side by side, four at a time.
    let fake = Fake::new(|asked| {
        let pieces = u64::from(asked.bytes).div_ceil(131_072);
        let piece = 100_000 + u64::from(asked.bytes).min(131_072) * 10;
        Some(piece * pieces.div_ceil(4))
    });
    let finished = fake::run(
        find("block-size-write").unwrap(),
        &target,
        &[("duration", "3s")],
        &fake,
    );
    assert_eq!(codes(&finished), ["kernel-splits"]);
    assert!((value(&finished, "access_time") / 1e5 - 1.0).abs() < 0.01);
    assert!((value(&finished, "media_throughput") / 1e8 - 1.0).abs() < 0.01);
}

#[test]
fn sizes_stay_within_the_window() {
    let target = fake::target(1 << 20);
    let test = find("block-size-read").unwrap();
    let parameters = fake::parameters(test, &target, &[("window-end", "100KiB")]);
    assert_eq!(sizes(&target, &parameters).unwrap().last(), Some(&65_536));
    let parameters = fake::parameters(test, &target, &[("min-block", "2MiB")]);
    assert!(sizes(&target, &parameters).is_err());
}

#[test]
fn intervals_of_a_noisy_drive_cover_the_truth() {
    let mut covered = [0; 3];
    for seed in 0..40_u64 {
        // 100 us and 10 ns a byte, up to 6 % more or less from phase to phase.
        let fake = Fake::new(move |asked: &fake::Asked<'_>| {
            let noise = 0.94 + 0.12 * unit(scatter(asked.plan.seed));
            Some(((100_000.0 + 10.0 * f64::from(asked.bytes)) * noise) as u64)
        });
        let set = [
            ("duration", "4s"),
            ("max-block", "1MiB"),
            ("seed", &*seed.to_string()),
        ];
        let test = find("block-size-read").unwrap();
        let finished = fake::run(test, &fake::target(1 << 30), &set, &fake);
        for ((name, truth), covered) in [
            ("access_time", 1e5),
            ("media_throughput", 1e8),
            ("balanced_block_size", 1e4),
        ]
        .into_iter()
        .zip(&mut covered)
        {
            let figure = finished.findings.figure(name).unwrap();
            let (low, high) = (figure.low.unwrap(), figure.high.unwrap());
            assert!(high - low < 0.5 * truth, "{figure:?}");
            *covered += u32::from((low..=high).contains(&truth));
        }
        let curve = finished
            .findings
            .series("response-against-block-size")
            .unwrap();
        assert_eq!(curve.intervals.len(), curve.points.len());
    }
    assert!(
        covered.iter().all(|count| *count >= 35),
        "{covered:?} of 40"
    );
}
