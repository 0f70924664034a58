//! Tests of the engines on a real scratch file, and of plan validation.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;
use crate::drive::{Consent, Target};
use crate::requirement::{Requirement, skip};
use crate::roots::SysPaths;

const SCRATCH_BYTES: u64 = 16 << 20;

/// A filled scratch file below the build directory, which is on a disk.
fn open_scratch_file(choice: EngineChoice) -> Option<OpenedTarget> {
    let directory = env!("CARGO_MANIFEST_DIR");
    let opened = match open_target(&SysPaths::default(), directory, choice, Some(SCRATCH_BYTES)) {
        Ok(opened) => opened,
        Err(error) => {
            skip(Requirement::Files, error);
            return None;
        }
    };
    opened
        .fill_scratch_file(&CancellationToken::default(), &mut |_, _| {})
        .unwrap();
    Some(opened)
}

fn with_both_engines(test: impl Fn(&OpenedTarget)) {
    for choice in [EngineChoice::Uring, EngineChoice::Pread] {
        if let Some(opened) = open_scratch_file(choice) {
            test(&opened);
        }
    }
}

/// Direct I/O where the file system supports it.
fn direct_read_plan(target: &Target, pattern: AccessPattern) -> Plan {
    let mut plan = Plan::single_depth_reads(pattern, 4096, 0..target.size_bytes);
    if !target.supports_direct_io {
        plan.cache_mode = CacheMode::Keep;
    }
    plan
}

fn execute_plan(opened: &OpenedTarget, plan: &Plan) -> ExecutionOutcome {
    let control = CancellationToken::default();
    opened
        .engine()
        .execute(plan, &control, &mut |_| {})
        .unwrap()
}

fn logged_addresses(outcome: &ExecutionOutcome) -> Vec<u64> {
    let mut all: Vec<u64> = outcome
        .request_log
        .iter()
        .map(|request| request.address)
        .collect();
    all.sort_unstable();
    all
}

#[test]
fn sequential_pass_reads_every_block_once_at_any_depth() {
    with_both_engines(|opened| {
        for (depth, workers) in [(1, 1), (32, 1), (4, 3)] {
            let mut plan = direct_read_plan(&opened.target, AccessPattern::Sequential);
            (plan.depth, plan.workers, plan.log_capacity) = (depth, workers, 10_000);
            let outcome = execute_plan(opened, &plan);
            assert!(
                matches!(outcome.end_reason, EndReason::Completed),
                "{:?}",
                outcome.end_reason
            );
            assert_eq!(outcome.stats.bytes(), SCRATCH_BYTES);
            assert_eq!(outcome.stats.short_transfers, 0);
            let expected: Vec<u64> = (0..SCRATCH_BYTES / 4096)
                .map(|block| block * 4096)
                .collect();
            assert_eq!(logged_addresses(&outcome), expected);
            assert!(
                outcome
                    .request_log
                    .iter()
                    .all(|one| one.end_ns > one.start_ns)
            );
            assert!(outcome.elapsed > Duration::ZERO);
        }
    });
}

#[test]
fn zoned_plan_is_read_in_one_execution_at_any_depth() {
    with_both_engines(|opened| {
        for (depth, workers, every) in [(1, 1, 1), (32, 1, 1), (4, 3, 1), (4, 1, 8)] {
            let pattern = AccessPattern::Zones {
                zones: 7,
                requests: 7 * 16,
            };
            let mut plan = direct_read_plan(&opened.target, pattern);
            (plan.depth, plan.workers, plan.log_capacity) = (depth, workers, 10_000);
            plan.log_interval = every;
            let outcome = execute_plan(opened, &plan);
            assert!(
                matches!(outcome.end_reason, EndReason::Completed),
                "{:?}",
                outcome.end_reason
            );
            assert_eq!(outcome.stats.requests(), 7 * 16);
            let map = ZoneMap::new(&plan, 7, 7 * 16);
            let expected: Vec<u64> = (0..7 * 16)
                .filter_map(|number| map.request_address(number))
                .collect();
            let logged = logged_addresses(&outcome);
            match every {
                1 => assert_eq!(logged, expected),
                _ => assert!((8..=14).contains(&logged.len()), "{logged:?}"),
            }
        }
    });
}

/// Mean number of requests in flight, from the log: the sum of all latencies over the elapsed time
/// (Little).
fn mean_in_flight(outcome: &ExecutionOutcome) -> f64 {
    let times = outcome
        .request_log
        .iter()
        .map(|one| one.end_ns - one.start_ns);
    times.sum::<u64>() as f64 / outcome.elapsed.as_nanos() as f64
}

#[test]
fn zoned_plan_with_time_limit_keeps_queue_as_full_as_without_zones() {
    with_both_engines(|opened| {
        let sequential = direct_read_plan(&opened.target, AccessPattern::Sequential);
        let zones = AccessPattern::Zones {
            zones: 100,
            requests: 4000,
        };
        let full = |pattern: &AccessPattern| {
            let mut plan = Plan {
                pattern: pattern.clone(),
                depth: 8,
                log_capacity: 10_000,
                ..sequential.clone()
            };
            plan.limits.duration = Some(Duration::from_secs(20));
            if *pattern == AccessPattern::Sequential {
                plan.limits.requests = Some(4000);
            }
            let outcome = execute_plan(opened, &plan);
            assert_eq!(outcome.stats.requests(), 4000);
            mean_in_flight(&outcome)
        };
        let [without, with] = [&AccessPattern::Sequential, &zones].map(full);
        assert!(with > 0.8 * without, "{with} {without}");
    });
}

#[test]
fn zoned_plan_with_time_limit_keeps_queue_full_at_zone_boundaries() {
    let name = "sim:constant,size=64MiB,parallel=64,latency=1ms,clock=virtual";
    let opened = open_target(&SysPaths::default(), name, EngineChoice::Auto, None).unwrap();
    for (depth, milliseconds) in [(1, 4000), (4, 1000), (32, 60), (32, 120)] {
        let pattern = AccessPattern::Zones {
            zones: 100,
            requests: 16_384,
        };
        let mut plan = direct_read_plan(&opened.target, pattern);
        (plan.depth, plan.log_capacity) = (depth, 20_000);
        plan.limits.duration = Some(Duration::from_millis(milliseconds));
        let outcome = execute_plan(&opened, &plan);
        let map = ZoneMap::new(&plan, 100, 16_384);
        let begins: Vec<u64> = outcome.request_log.iter().map(|one| one.start_ns).collect();
        let last = begins.iter().copied().max().unwrap();
        let mut seen = [false; 100];
        for request in &outcome.request_log {
            seen[map.zone_of_address(request.address) as usize] = true;
            let at = request.start_ns;
            let in_flight = |one: &&LoggedRequest| one.start_ns <= at && at < one.end_ns;
            let count = outcome.request_log.iter().filter(in_flight).count();
            assert!(
                at == last || count == depth as usize,
                "{at}: {count} of {depth}"
            );
        }
        assert!(
            seen.iter().filter(|seen| **seen).count() >= 60,
            "depth {depth}"
        );
        assert!(outcome.elapsed <= Duration::from_millis(milliseconds + 2));
    }
}

#[test]
fn both_engines_issue_same_addresses() {
    let [uring, pread] = [EngineChoice::Uring, EngineChoice::Pread].map(|choice| {
        open_scratch_file(choice).map(|opened| {
            let mut plan = direct_read_plan(&opened.target, AccessPattern::Random);
            (plan.depth, plan.log_capacity, plan.limits.requests) = (8, 1000, Some(500));
            logged_addresses(&execute_plan(&opened, &plan))
        })
    });
    if uring.is_some() && pread.is_some() {
        assert_eq!(uring, pread);
    }
}

#[test]
fn mixed_plan_keeps_read_and_write_fractions() {
    with_both_engines(|opened| {
        let mut plan = direct_read_plan(&opened.target, AccessPattern::Random);
        plan.operation = IoOperation::Mixed { reads: 0.5 };
        plan.block_size = BlockSize::Range(4096, 16_384);
        (plan.depth, plan.limits.requests) = (16, Some(2000));
        let outcome = execute_plan(opened, &plan);
        assert_eq!(outcome.stats.requests(), 2000);
        let writes = outcome.stats.write.latency.count();
        assert!((900..1100).contains(&writes), "{writes}");
    });
}

#[test]
fn plan_with_ramp_time_and_duration_bounds_run_time() {
    with_both_engines(|opened| {
        let mut plan = direct_read_plan(&opened.target, AccessPattern::Random);
        plan.limits.duration = Some(Duration::from_millis(300));
        plan.ramp_time = Duration::from_millis(100);
        plan.depth = 4;
        let (mut ramping, mut last) = (false, None);
        let start = Instant::now();
        let outcome = opened
            .engine()
            .execute(&plan, &CancellationToken::default(), &mut |snapshot| {
                ramping |= snapshot.in_ramp_time;
                last = snapshot.completed_fraction;
            })
            .unwrap();
        assert!(start.elapsed() >= Duration::from_millis(395));
        assert!(outcome.elapsed >= Duration::from_millis(250));
        assert!(outcome.stats.requests() > 0);
        assert_eq!(last, Some(1.0));
    });
}

#[test]
fn open_loop_keeps_arrival_rate() {
    with_both_engines(|opened| {
        let mut plan = direct_read_plan(&opened.target, AccessPattern::Random);
        (plan.arrival_rate, plan.depth, plan.log_capacity) = (Some(1000.0), 4, 200);
        plan.limits.requests = Some(200);
        let outcome = execute_plan(opened, &plan);
        let mut starts: Vec<u64> = outcome.request_log.iter().map(|one| one.start_ns).collect();
        starts.sort_unstable();
        let intended: Vec<u64> = (0..200).map(|index| index * 1_000_000).collect();
        assert_eq!(starts, intended);
        assert!(outcome.elapsed >= Duration::from_millis(199));
    });
}

#[test]
fn cancelled_execution_ends_soon_and_keeps_counts() {
    with_both_engines(|opened| {
        let mut plan = direct_read_plan(&opened.target, AccessPattern::Random);
        plan.depth = 8;
        let control = Arc::new(CancellationToken::default());
        let mut issued = None;
        let outcome = opened
            .engine()
            .execute(&plan, &control, &mut |_| {
                control.cancel();
                issued.get_or_insert_with(Instant::now);
            })
            .unwrap();
        assert!(matches!(outcome.end_reason, EndReason::Cancelled));
        assert!(outcome.stats.requests() > 0);
        assert!(issued.unwrap().elapsed() < Duration::from_millis(500));
    });
}

#[test]
fn file_truncated_during_run_fails_with_explanation() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    for choice in [EngineChoice::Uring, EngineChoice::Pread] {
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        let name = path.to_str().unwrap();
        let opened = match open_target(&SysPaths::default(), name, choice, None) {
            Ok(opened) => opened,
            Err(error) => return skip(Requirement::Files, error),
        };
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(512 << 10)
            .unwrap();
        let mut plan = direct_read_plan(&opened.target, AccessPattern::Sequential);
        plan.cache_mode = CacheMode::Keep;
        let outcome = execute_plan(&opened, &plan);
        let EndReason::Failed(error) = outcome.end_reason else {
            panic!("{:?}", outcome.end_reason);
        };
        assert!(error.to_string().contains("has become shorter"), "{error}");
        let EngineError::RequestFailed { source, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(source.kind(), std::io::ErrorKind::UnexpectedEof);
        assert_eq!(outcome.stats.bytes(), 512 << 10);
    }
}

#[test]
fn write_plan_without_consent_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let name = path.to_str().unwrap();
    let mut opened = open_target(&SysPaths::default(), name, EngineChoice::Pread, None).unwrap();
    let mut plan = direct_read_plan(&opened.target, AccessPattern::Sequential);
    (plan.operation, plan.cache_mode) = (IoOperation::Write, CacheMode::Keep);
    let attempt = |opened: &OpenedTarget| {
        opened
            .engine()
            .execute(&plan, &CancellationToken::default(), &mut |_| {})
    };
    assert!(matches!(attempt(&opened), Err(EngineError::InvalidPlan(_))));
    assert!(opened.permit_writing(None).is_err());
    assert!(
        opened
            .permit_writing(Some(&Consent::for_path(directory.path())))
            .is_err()
    );
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
    opened
        .permit_writing(Some(&Consent::for_path(&path)))
        .unwrap();
    assert_eq!(attempt(&opened).unwrap().stats.bytes(), 1 << 20);
    assert_ne!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
}

/// The change that makes a valid plan invalid.
type PlanChange<'a> = &'a dyn Fn(&mut Plan);

#[test]
fn invalid_plan_error_names_field() {
    let opened = open_target(
        &SysPaths::default(),
        "sim:constant,size=1MiB",
        EngineChoice::Auto,
        None,
    )
    .unwrap();
    let good = Plan::single_depth_reads(AccessPattern::Random, 4096, 0..1 << 20);
    assert!(good.validate(&opened.target).is_ok());
    let complaint = |change: &dyn Fn(&mut Plan)| {
        let mut plan = good.clone();
        change(&mut plan);
        plan.validate(&opened.target).unwrap_err().to_string()
    };
    let cases: [(&str, PlanChange<'_>); 14] = [
        ("--depth 0", &|plan| plan.depth = 0),
        ("--depth 5000", &|plan| plan.depth = 5000),
        ("--workers 0", &|plan| plan.workers = 0),
        ("--workers 1025", &|plan| plan.workers = 1025),
        ("need 2 GiB of memory", &|plan| {
            plan.block_size = BlockSize::Fixed(1 << 20);
            plan.depth = 2048;
        }),
        ("--block-size 0", &|plan| {
            plan.block_size = BlockSize::Fixed(0)
        }),
        ("use 1KiB", &|plan| plan.block_size = BlockSize::Fixed(1000)),
        ("--align 0", &|plan| plan.alignment = 0),
        ("--align 100", &|plan| plan.alignment = 100),
        ("--window-end 2097152", &|plan| plan.window = 0..2 << 20),
        ("--window-begin 5", &|plan| plan.window = 5..5),
        ("contains no block", &|plan| plan.window = 1..4097),
        ("--rate 0", &|plan| plan.arrival_rate = Some(0.0)),
        ("--reads 1.5", &|plan| {
            plan.operation = IoOperation::Mixed { reads: 1.5 }
        }),
    ];
    for (expected, change) in cases {
        let text = complaint(change);
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn write_plan_flushes_and_closes_file() {
    with_both_engines(|opened| {
        for flush in [
            FlushMethod::CloseOnly,
            FlushMethod::Fsync,
            FlushMethod::Fdatasync,
            FlushMethod::SyncFileRange,
        ] {
            let mut plan = direct_read_plan(&opened.target, AccessPattern::Sequential);
            plan.operation = IoOperation::Write;
            plan.cache_mode = CacheMode::Keep;
            plan.block_size = BlockSize::Fixed(4000);
            plan.alignment = 4000;
            plan.limits.requests = Some(100);
            plan.end_fsync = Some(flush);
            let outcome = execute_plan(opened, &plan);
            assert!(
                matches!(outcome.end_reason, EndReason::Completed),
                "{:?}",
                outcome.end_reason
            );
            let finish = outcome.finish_times.unwrap();
            assert!(finish.sync_time + finish.close_time > Duration::ZERO);
        }
    });
}

#[test]
fn workers_run_in_requested_io_class() {
    with_both_engines(|opened| {
        for priority in [IoSchedulingClass::Idle, IoSchedulingClass::BestEffort(7)] {
            let mut plan = direct_read_plan(&opened.target, AccessPattern::Random);
            plan.limits.requests = Some(10);
            plan.io_class = Some(priority);
            assert_eq!(execute_plan(opened, &plan).stats.requests(), 10);
        }
    });
}

#[test]
fn auto_engine_uses_system_calls_for_buffered_and_uring_for_direct_plan() {
    let Some(opened) = open_scratch_file(EngineChoice::Auto) else {
        return;
    };
    if opened.engine().name() == "pread" {
        return skip(Requirement::Kernel, "io_uring cannot be set up");
    }
    let mut buffered =
        Plan::single_depth_reads(AccessPattern::Random, 4096, 0..opened.target.size_bytes);
    buffered.cache_mode = CacheMode::Keep;
    buffered.limits.requests = Some(20);
    assert_eq!(execute_plan(&opened, &buffered).stats.requests(), 20);
    assert_eq!(opened.engine().name(), "pread");
    assert_eq!(opened.engine().features(), ["threads"]);
    assert!(
        opened
            .engine()
            .selection_reason()
            .unwrap()
            .contains("kernel threads")
    );
    if !opened.target.supports_direct_io {
        return skip(Requirement::Files, "the file system has no direct I/O");
    }
    let mut direct = buffered;
    direct.cache_mode = CacheMode::Bypass;
    assert_eq!(execute_plan(&opened, &direct).stats.requests(), 20);
    assert_eq!(opened.engine().name(), "uring");
    let features = opened.engine().features();
    assert!(
        features.contains(&auto::BUFFERED_SYSCALLS_FEATURE.to_owned()),
        "{features:?}"
    );
}

#[test]
fn uring_engine_buffered_writes_are_reported() {
    let Some(mut opened) = open_scratch_file(EngineChoice::Uring) else {
        return;
    };
    opened.permit_writing(None).unwrap();
    let mut plan =
        Plan::single_depth_reads(AccessPattern::Random, 4096, 0..opened.target.size_bytes);
    plan.limits.requests = Some(20);
    plan.cache_mode = CacheMode::Keep;
    execute_plan(&opened, &plan);
    assert_eq!(opened.engine().selection_reason(), None);
    plan.operation = IoOperation::Write;
    execute_plan(&opened, &plan);
    assert!(
        opened
            .engine()
            .selection_reason()
            .unwrap()
            .contains("io-wq")
    );
}
