use serde_json::json;

use super::sweep;
use crate::bench::find_benchmark;
use crate::bench::framework::operation::Operation;
use crate::bench::tests::fake;
use crate::bench::tests::fake::{FakeDrive, check_codes, metric_value, run_on_simulated};
use crate::drive::{BlockDevice, Target};
use crate::session::document::{MetricId, SeriesId};
use crate::stats::random::{splitmix64, unit_interval};

#[test]
fn block_size_sweep_fit_recovers_access_time_and_media_throughput() {
    let test = find_benchmark("block-size-read").unwrap();
    let name = "sim:constant,latency=5ms,throughput=150MB,size=100GB";
    let finished = run_on_simulated(test, name, &[("duration", "60s"), ("key-size", "12B")]);
    assert!((metric_value(&finished, &MetricId::ACCESS_TIME) / 5e6 - 1.0).abs() < 0.01);
    assert!((metric_value(&finished, &MetricId::MEDIA_THROUGHPUT) / 150e6 - 1.0).abs() < 0.01);
    assert!((metric_value(&finished, &MetricId::BALANCED_BLOCK_SIZE) / 750e3 - 1.0).abs() < 0.02);
    assert!((metric_value(&finished, &MetricId::CROSSING_BLOCK_SIZE) / 750e3 - 1.0).abs() < 0.15);
    assert!((metric_value(&finished, &MetricId::FULL_COPY_TIME) / 666.7e9 - 1.0).abs() < 0.01);
    let points = &finished
        .findings
        .series(&SeriesId::RESPONSE_AGAINST_BLOCK_SIZE)
        .unwrap()
        .points;
    assert_eq!(points.len(), 16);
    assert!(check_codes(&finished).is_empty());
}

#[test]
fn block_size_sweep_of_nonlinear_drive_reports_model_mismatch() {
    let finished = run_on_simulated(
        find_benchmark("block-size-read").unwrap(),
        "sim:constant",
        &[("duration", "1s")],
    );
    assert!(finished.findings.metric(&MetricId::ACCESS_TIME).is_none());
    assert_eq!(check_codes(&finished), ["no-response-model"]);
}

#[test]
fn block_size_sweep_names_and_excludes_sizes_split_by_kernel() {
    let opened = crate::engine::open_target(
        &crate::roots::SysPaths::default(),
        "sim:constant",
        crate::engine::EngineChoice::Auto,
        None,
    )
    .unwrap();
    // Pieces of a split request run in parallel, four at a time.
    let fake = FakeDrive::new(|request| {
        let pieces = u64::from(request.bytes).div_ceil(131_072);
        let piece = 100_000 + u64::from(request.bytes).min(131_072) * 10;
        Some(piece * pieces.div_ceil(4))
    });
    // Either attribute of the queue may be the narrower one.
    for (kib, segments, attribute) in [
        (128, None, "max_sectors_kb"),
        (128, Some(254), "max_sectors_kb"),
        (1280, Some(32), "max_segments"),
    ] {
        let drive = opened.target.drive.clone().map(|drive| BlockDevice {
            max_request_kib: Some(kib),
            max_segments: segments,
            ..drive
        });
        let target = Target {
            drive,
            ..opened.target.clone()
        };
        let test = find_benchmark("block-size-write").unwrap();
        let finished = fake::run_on_fake(test, &target, &[("duration", "3s")], &fake);
        assert_eq!(check_codes(&finished), ["kernel-splits"]);
        let facts = &finished.findings.verdicts[0].facts;
        assert_eq!(
            (&facts["attribute"], &facts["limit_bytes"]),
            (&json!(attribute), &json!(131_072.0))
        );
        assert!((metric_value(&finished, &MetricId::ACCESS_TIME) / 1e5 - 1.0).abs() < 0.01);
        assert!((metric_value(&finished, &MetricId::MEDIA_THROUGHPUT) / 1e8 - 1.0).abs() < 0.01);
    }
}

#[test]
fn block_size_sweep_sizes_fit_in_window() {
    let target = fake::simulated_target(1 << 20);
    let test = find_benchmark("block-size-read").unwrap();
    let parameters = fake::parameters(test, &target, &[("window-end", "100KiB")]);
    let sizes = sweep(Operation::Read, &target, &parameters)
        .unwrap()
        .positions();
    assert_eq!(sizes.last(), Some(&65_536.0));
    let parameters = fake::parameters(test, &target, &[("min-block", "2MiB")]);
    assert!(sweep(Operation::Read, &target, &parameters).is_err());
}

#[test]
fn block_size_sweep_intervals_of_noisy_drive_cover_truth() {
    let mut covered = [0; 3];
    for seed in 0..40_u64 {
        // 100 us plus 10 ns per byte, up to 6 % variation between phases.
        let fake = FakeDrive::new(move |request: &fake::FakeRequest<'_>| {
            let noise = 0.94 + 0.12 * unit_interval(splitmix64(request.plan.seed));
            Some(((100_000.0 + 10.0 * f64::from(request.bytes)) * noise) as u64)
        });
        let set = [
            ("duration", "4s"),
            ("max-block", "1MiB"),
            ("seed", &*seed.to_string()),
        ];
        let test = find_benchmark("block-size-read").unwrap();
        let finished = fake::run_on_fake(test, &fake::simulated_target(1 << 30), &set, &fake);
        for ((name, truth), covered) in [
            ("access_time", 1e5),
            ("media_throughput", 1e8),
            ("balanced_block_size", 1e4),
        ]
        .into_iter()
        .zip(&mut covered)
        {
            let metric = finished.findings.metric(&MetricId::parse(name)).unwrap();
            let (low, high) = (metric.low.unwrap(), metric.high.unwrap());
            assert!(high - low < 0.5 * truth, "{metric:?}");
            *covered += u32::from((low..=high).contains(&truth));
        }
        let curve = finished
            .findings
            .series(&SeriesId::RESPONSE_AGAINST_BLOCK_SIZE)
            .unwrap();
        assert_eq!(curve.intervals.len(), curve.points.len());
    }
    assert!(
        covered.iter().all(|count| *count >= 35),
        "{covered:?} of 40"
    );
}
