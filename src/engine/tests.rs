//! The engines on a real scratch file, and the checks of plans.

use crate::requirement::{Requirement, skip};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::*;
use crate::drive::{Consent, Target};
use crate::roots::Roots;

const SIZE: u64 = 16 << 20;

/// A filled scratch file below the build directory, which is on a disk.
fn scratch(choice: Choice) -> Option<Opened> {
    let directory = env!("CARGO_MANIFEST_DIR");
    let opened = match open(&Roots::default(), directory, choice, Some(SIZE)) {
        Ok(opened) => opened,
        Err(error) => {
            skip(Requirement::Files, error);
            return None;
        }
    };
    opened.prepare(&Control::default(), &mut |_, _| {}).unwrap();
    Some(opened)
}

fn both(test: impl Fn(&Opened)) {
    for choice in [Choice::Uring, Choice::Pread] {
        if let Some(opened) = scratch(choice) {
            test(&opened);
        }
    }
}

/// Bypassing the cache where the file system lets us.
fn plan(target: &Target, pattern: Pattern) -> Plan {
    let mut plan = Plan::reading(pattern, 4096, 0..target.size);
    if !target.direct {
        plan.cache = CacheMode::Keep;
    }
    plan
}

fn execute(opened: &Opened, plan: &Plan) -> Outcome {
    let control = Control::default();
    opened
        .engine()
        .execute(plan, &control, &mut |_| {})
        .unwrap()
}

fn addresses(outcome: &Outcome) -> Vec<u64> {
    let mut all: Vec<u64> = outcome.log.iter().map(|request| request.address).collect();
    all.sort_unstable();
    all
}

#[test]
fn a_pass_reads_every_block_once_at_any_depth() {
    both(|opened| {
        for (depth, workers) in [(1, 1), (32, 1), (4, 3)] {
            let mut plan = plan(&opened.target, Pattern::Sequential);
            (plan.depth, plan.workers, plan.log) = (depth, workers, 10_000);
            let outcome = execute(opened, &plan);
            assert!(matches!(outcome.end, End::Done), "{:?}", outcome.end);
            assert_eq!(outcome.tally.bytes(), SIZE);
            assert_eq!(outcome.tally.short, 0);
            let expected: Vec<u64> = (0..SIZE / 4096).map(|block| block * 4096).collect();
            assert_eq!(addresses(&outcome), expected);
            assert!(outcome.log.iter().all(|one| one.end_ns > one.start_ns));
            assert!(outcome.elapsed > Duration::ZERO);
        }
    });
}

#[test]
fn zones_are_read_in_one_execution_at_any_depth() {
    both(|opened| {
        for (depth, workers, every) in [(1, 1, 1), (32, 1, 1), (4, 3, 1), (4, 1, 8)] {
            let pattern = Pattern::Zones {
                zones: 7,
                requests: 7 * 16,
            };
            let mut plan = plan(&opened.target, pattern);
            (plan.depth, plan.workers, plan.log) = (depth, workers, 10_000);
            plan.log_every = every;
            let outcome = execute(opened, &plan);
            assert!(matches!(outcome.end, End::Done), "{:?}", outcome.end);
            assert_eq!(outcome.tally.requests(), 7 * 16);
            let map = ZoneMap::new(&plan, 7, 7 * 16);
            let expected: Vec<u64> = (0..7 * 16)
                .filter_map(|number| map.address(number))
                .collect();
            let logged = addresses(&outcome);
            match every {
                1 => assert_eq!(logged, expected),
                _ => assert!((8..=14).contains(&logged.len()), "{logged:?}"),
            }
        }
    });
}

/// Requests in flight on the average, from the log: the sum of all times over the whole time (Little).
fn mean_in_flight(outcome: &Outcome) -> f64 {
    let times = outcome.log.iter().map(|one| one.end_ns - one.start_ns);
    times.sum::<u64>() as f64 / outcome.elapsed.as_nanos() as f64
}

#[test]
fn zones_under_a_time_limit_keep_the_queue_as_full_as_no_zones() {
    both(|opened| {
        let sequential = plan(&opened.target, Pattern::Sequential);
        let zones = Pattern::Zones {
            zones: 100,
            requests: 4000,
        };
        let full = |pattern: &Pattern| {
            let mut plan = Plan {
                pattern: pattern.clone(),
                depth: 8,
                log: 10_000,
                ..sequential.clone()
            };
            plan.limits.duration = Some(Duration::from_secs(20));
            if *pattern == Pattern::Sequential {
                plan.limits.requests = Some(4000);
            }
            let outcome = execute(opened, &plan);
            assert_eq!(outcome.tally.requests(), 4000);
            mean_in_flight(&outcome)
        };
        let [without, with] = [&Pattern::Sequential, &zones].map(full);
        assert!(with > 0.8 * without, "{with} {without}");
    });
}

#[test]
fn simulated_drive_with_zones_and_a_time_limit_has_a_full_queue_at_every_border() {
    let name = "sim:constant,size=64MiB,parallel=64,latency=1ms,clock=virtual";
    let opened = open(&Roots::default(), name, Choice::Auto, None).unwrap();
    for (depth, milliseconds) in [(1, 4000), (4, 1000), (32, 60), (32, 120)] {
        let pattern = Pattern::Zones {
            zones: 100,
            requests: 16_384,
        };
        let mut plan = plan(&opened.target, pattern);
        (plan.depth, plan.log) = (depth, 20_000);
        plan.limits.duration = Some(Duration::from_millis(milliseconds));
        let outcome = execute(&opened, &plan);
        let map = ZoneMap::new(&plan, 100, 16_384);
        let begins: Vec<u64> = outcome.log.iter().map(|one| one.start_ns).collect();
        let last = begins.iter().copied().max().unwrap();
        let mut seen = [false; 100];
        for request in &outcome.log {
            seen[map.zone_at(request.address) as usize] = true;
            let at = request.start_ns;
            let in_flight = |one: &&Request| one.start_ns <= at && at < one.end_ns;
            let count = outcome.log.iter().filter(in_flight).count();
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
fn both_engines_ask_for_the_same_addresses() {
    let [uring, pread] = [Choice::Uring, Choice::Pread].map(|choice| {
        scratch(choice).map(|opened| {
            let mut plan = plan(&opened.target, Pattern::Random);
            (plan.depth, plan.log, plan.limits.requests) = (8, 1000, Some(500));
            addresses(&execute(&opened, &plan))
        })
    });
    if uring.is_some() && pread.is_some() {
        assert_eq!(uring, pread);
    }
}

#[test]
fn a_mixed_plan_reads_and_writes_its_share() {
    both(|opened| {
        let mut plan = plan(&opened.target, Pattern::Random);
        plan.operation = Operation::Mixed { reads: 0.5 };
        plan.block_size = BlockSize::Range(4096, 16_384);
        (plan.depth, plan.limits.requests) = (16, Some(2000));
        let outcome = execute(opened, &plan);
        assert_eq!(outcome.tally.requests(), 2000);
        let writes = outcome.tally.write.latency.count();
        assert!((900..1100).contains(&writes), "{writes}");
    });
}

#[test]
fn a_ramp_and_a_duration_bound_the_time() {
    both(|opened| {
        let mut plan = plan(&opened.target, Pattern::Random);
        plan.limits.duration = Some(Duration::from_millis(300));
        plan.ramp = Duration::from_millis(100);
        plan.depth = 4;
        let (mut ramping, mut last) = (false, None);
        let start = Instant::now();
        let outcome = opened
            .engine()
            .execute(&plan, &Control::default(), &mut |snapshot| {
                ramping |= snapshot.ramping;
                last = snapshot.fraction;
            })
            .unwrap();
        assert!(start.elapsed() >= Duration::from_millis(395));
        assert!(outcome.elapsed >= Duration::from_millis(250));
        assert!(outcome.tally.requests() > 0);
        assert_eq!(last, Some(1.0));
    });
}

#[test]
fn an_open_loop_keeps_its_rate() {
    both(|opened| {
        let mut plan = plan(&opened.target, Pattern::Random);
        (plan.rate, plan.depth, plan.log) = (Some(1000.0), 4, 200);
        plan.limits.requests = Some(200);
        let outcome = execute(opened, &plan);
        let mut starts: Vec<u64> = outcome.log.iter().map(|one| one.start_ns).collect();
        starts.sort_unstable();
        let intended: Vec<u64> = (0..200).map(|index| index * 1_000_000).collect();
        assert_eq!(starts, intended);
        assert!(outcome.elapsed >= Duration::from_millis(199));
    });
}

#[test]
fn cancelling_ends_it_soon_and_keeps_what_was_counted() {
    both(|opened| {
        let mut plan = plan(&opened.target, Pattern::Random);
        plan.depth = 8;
        let control = Arc::new(Control::default());
        let mut asked = None;
        let outcome = opened
            .engine()
            .execute(&plan, &control, &mut |_| {
                control.cancel();
                asked.get_or_insert_with(Instant::now);
            })
            .unwrap();
        assert!(matches!(outcome.end, End::Cancelled));
        assert!(outcome.tally.requests() > 0);
        assert!(asked.unwrap().elapsed() < Duration::from_millis(500));
    });
}

#[test]
fn a_file_that_becomes_shorter_is_a_failure_that_says_so() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    for choice in [Choice::Uring, Choice::Pread] {
        std::fs::write(&path, vec![7; 1 << 20]).unwrap();
        let name = path.to_str().unwrap();
        let opened = match open(&Roots::default(), name, choice, None) {
            Ok(opened) => opened,
            Err(error) => return skip(Requirement::Files, error),
        };
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(512 << 10)
            .unwrap();
        let mut plan = plan(&opened.target, Pattern::Sequential);
        plan.cache = CacheMode::Keep;
        let outcome = execute(&opened, &plan);
        let End::Failed(error) = outcome.end else {
            panic!("{:?}", outcome.end);
        };
        assert!(error.to_string().contains("has become shorter"), "{error}");
        assert!(error.advice().contains("cut off"), "{}", error.advice());
        assert_eq!(outcome.tally.bytes(), 512 << 10);
    }
}

#[test]
fn nobody_writes_a_file_without_consent() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let name = path.to_str().unwrap();
    let mut opened = open(&Roots::default(), name, Choice::Pread, None).unwrap();
    let mut plan = plan(&opened.target, Pattern::Sequential);
    (plan.operation, plan.cache) = (Operation::Write, CacheMode::Keep);
    let attempt = |opened: &Opened| {
        opened
            .engine()
            .execute(&plan, &Control::default(), &mut |_| {})
    };
    assert!(matches!(attempt(&opened), Err(EngineError::Plan(_))));
    assert!(opened.permit_writing(None).is_err());
    assert!(
        opened
            .permit_writing(Some(&Consent::to_path(directory.path())))
            .is_err()
    );
    assert_eq!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
    opened
        .permit_writing(Some(&Consent::to_path(&path)))
        .unwrap();
    assert_eq!(attempt(&opened).unwrap().tally.bytes(), 1 << 20);
    assert_ne!(std::fs::read(&path).unwrap(), vec![7; 1 << 20]);
}

/// What makes a good plan a bad one.
type Change<'a> = &'a dyn Fn(&mut Plan);

#[test]
fn plans_that_do_not_fit_name_the_option() {
    let opened = open(
        &Roots::default(),
        "sim:constant,size=1MiB",
        Choice::Auto,
        None,
    )
    .unwrap();
    let good = Plan::reading(Pattern::Random, 4096, 0..1 << 20);
    assert!(good.validate(&opened.target).is_ok());
    let complaint = |change: &dyn Fn(&mut Plan)| {
        let mut plan = good.clone();
        change(&mut plan);
        plan.validate(&opened.target).unwrap_err().to_string()
    };
    let cases: [(&str, Change<'_>); 14] = [
        ("--depth 0", &|plan| plan.depth = 0),
        ("--depth 5000", &|plan| plan.depth = 5000),
        ("--workers 0", &|plan| plan.workers = 0),
        ("--workers 300", &|plan| plan.workers = 300),
        ("need 2 GiB of memory", &|plan| {
            plan.block_size = BlockSize::Fixed(1 << 20);
            plan.depth = 2048;
        }),
        ("--block-size 0", &|plan| {
            plan.block_size = BlockSize::Fixed(0)
        }),
        ("use 1KiB or --cache keep", &|plan| {
            plan.block_size = BlockSize::Fixed(1000)
        }),
        ("--align 0", &|plan| plan.align = 0),
        ("--align 100", &|plan| plan.align = 100),
        ("--window-end 2097152", &|plan| plan.window = 0..2 << 20),
        ("--window-begin 5", &|plan| plan.window = 5..5),
        ("holds no block", &|plan| plan.window = 1..4097),
        ("--rate 0", &|plan| plan.rate = Some(0.0)),
        ("--reads 1.5", &|plan| {
            plan.operation = Operation::Mixed { reads: 1.5 }
        }),
    ];
    for (expected, change) in cases {
        let text = complaint(change);
        assert!(text.contains(expected), "{expected}: {text}");
    }
}

#[test]
fn written_data_is_flushed_and_the_file_closed() {
    both(|opened| {
        for flush in [
            Flush::Nothing,
            Flush::Fsync,
            Flush::Fdatasync,
            Flush::SyncFileRange,
        ] {
            let mut plan = plan(&opened.target, Pattern::Sequential);
            plan.operation = Operation::Write;
            plan.cache = CacheMode::Keep;
            plan.block_size = BlockSize::Fixed(4000);
            plan.align = 4000;
            plan.limits.requests = Some(100);
            plan.finish = Some(flush);
            let outcome = execute(opened, &plan);
            assert!(matches!(outcome.end, End::Done), "{:?}", outcome.end);
            let finish = outcome.finish.unwrap();
            assert!(finish.sync + finish.close > Duration::ZERO);
        }
    });
}

#[test]
fn workers_take_the_class_that_is_asked_for() {
    both(|opened| {
        for priority in [Priority::Idle, Priority::BestEffort(7)] {
            let mut plan = plan(&opened.target, Pattern::Random);
            plan.limits.requests = Some(10);
            plan.priority = Some(priority);
            assert_eq!(execute(opened, &plan).tally.requests(), 10);
        }
    });
}

#[test]
fn auto_engine_buffered_plan_uses_system_calls_and_direct_plan_uring() {
    let Some(opened) = scratch(Choice::Auto) else {
        return;
    };
    if opened.engine().name() == "pread" {
        return skip(Requirement::Kernel, "io_uring cannot be set up");
    }
    let mut buffered = Plan::reading(Pattern::Random, 4096, 0..opened.target.size);
    buffered.cache = CacheMode::Keep;
    buffered.limits.requests = Some(20);
    assert_eq!(execute(&opened, &buffered).tally.requests(), 20);
    assert_eq!(opened.engine().name(), "pread");
    assert_eq!(opened.engine().features(), ["threads"]);
    assert!(opened.engine().reason().unwrap().contains("kernel threads"));
    if !opened.target.direct {
        return skip(Requirement::Files, "the file system has no direct I/O");
    }
    let mut direct = buffered;
    direct.cache = CacheMode::Bypass;
    assert_eq!(execute(&opened, &direct).tally.requests(), 20);
    assert_eq!(opened.engine().name(), "uring");
    let features = opened.engine().features();
    assert!(
        features.contains(&auto::BUFFERED_BY_SYSTEM_CALLS.to_owned()),
        "{features:?}"
    );
}

#[test]
fn uring_engine_buffered_writes_are_reported() {
    let Some(mut opened) = scratch(Choice::Uring) else {
        return;
    };
    opened.permit_writing(None).unwrap();
    let mut plan = Plan::reading(Pattern::Random, 4096, 0..opened.target.size);
    plan.limits.requests = Some(20);
    plan.cache = CacheMode::Keep;
    execute(&opened, &plan);
    assert_eq!(opened.engine().reason(), None);
    plan.operation = Operation::Write;
    execute(&opened, &plan);
    assert!(opened.engine().reason().unwrap().contains("io-wq"));
}
