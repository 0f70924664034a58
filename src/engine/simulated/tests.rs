//! The engine against drives whose truth is known, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::engine::plan::{BlockSize, Limits, Operation, Pattern};
use crate::engine::{End, Request};

fn drive(name: &str) -> Simulated {
    Simulated::new(Settings::parse(name).unwrap().build().unwrap())
}

fn random(requests: u64) -> Plan {
    let mut plan = Plan::reading(Pattern::Random, 4096, 0..10_000_000_000);
    plan.limits.requests = Some(requests);
    plan
}

fn execute(engine: &Simulated, plan: &Plan) -> Outcome {
    engine
        .execute(plan, &Control::default(), &mut |_| {})
        .unwrap()
}

#[test]
fn one_at_a_time_takes_exactly_the_latency() {
    let outcome = execute(&drive("sim:constant,latency=100us"), &random(1000));
    assert!(matches!(outcome.end, End::Done));
    assert_eq!(outcome.tally.requests(), 1000);
    assert_eq!(outcome.tally.bytes(), 4_096_000);
    assert_eq!(outcome.elapsed, Duration::from_millis(100));
    let latency = &outcome.tally.read.latency;
    assert_eq!(
        (latency.min(), latency.max()),
        (Some(100_000), Some(100_000))
    );
    assert_eq!(outcome.tally.write.latency.count(), 0);
}

#[test]
fn a_serial_drive_makes_the_queue_wait() {
    let mut plan = random(1000);
    plan.depth = 4;
    let outcome = execute(&drive("sim:constant,latency=100us"), &plan);
    assert_eq!(outcome.elapsed, Duration::from_millis(100));
    assert_eq!(outcome.tally.read.latency.percentile(50.0), Some(400_000));
}

#[test]
fn a_parallel_drive_serves_as_many_as_it_can() {
    let mut plan = random(1000);
    (plan.depth, plan.workers) = (4, 2);
    let outcome = execute(&drive("sim:constant,latency=100us,parallel=8"), &plan);
    assert_eq!(outcome.tally.requests(), 1000);
    assert_eq!(outcome.elapsed, Duration::from_micros(12_500));
}

#[test]
fn throughput_adds_to_the_latency() {
    let mut plan = Plan::reading(Pattern::Sequential, 1_000_000, 0..20_000_000);
    plan.log = 100;
    let engine = drive("sim:constant,latency=1ms,throughput=100MB,block=1,physical=1");
    let outcome = execute(&engine, &plan);
    assert_eq!(outcome.tally.requests(), 20, "one pass over the window");
    assert_eq!(outcome.elapsed, Duration::from_millis(220));
    let third = Request {
        address: 2_000_000,
        bytes: 1_000_000,
        wrote: false,
        start_ns: 22_000_000,
        end_ns: 33_000_000,
    };
    assert_eq!(outcome.log[2], third);
}

#[test]
fn bytes_are_shared_out_among_workers_and_exact() {
    let mut plan = random(1_000_000);
    plan.workers = 3;
    plan.limits.bytes = Some(4096 * 100);
    assert_eq!(execute(&drive("sim:constant"), &plan).tally.requests(), 100);
    plan.block_size = BlockSize::Range(4096, 16_384);
    plan.align = 4096;
    let bytes = execute(&drive("sim:constant"), &plan).tally.bytes();
    assert!((409_600..409_600 + 3 * 16_384).contains(&bytes), "{bytes}");
}

#[test]
fn a_duration_ends_it_and_a_ramp_does_not_count() {
    let mut plan = random(1);
    plan.limits = Limits {
        duration: Some(Duration::from_secs(1)),
        ..Limits::default()
    };
    plan.ramp = Duration::from_millis(500);
    let outcome = execute(&drive("sim:constant,latency=100us"), &plan);
    assert_eq!(outcome.tally.requests(), 10_000);
    assert_eq!(outcome.elapsed, Duration::from_secs(1));
    assert_eq!(outcome.tally.read.timeline.buckets()[0].requests, 999);
}

#[test]
fn an_open_loop_counts_from_the_intended_start() {
    let mut plan = random(100);
    plan.rate = Some(20_000.0);
    plan.log = 100;
    let outcome = execute(&drive("sim:constant,latency=100us"), &plan);
    // Due every 50 us, done every 100 us: the n-th is late by n times 50 us more.
    for (index, request) in (0_u64..).zip(&outcome.log) {
        assert_eq!(request.start_ns, index * 50_000);
        assert_eq!(request.end_ns, (index + 1) * 100_000);
    }
    assert_eq!(outcome.tally.read.latency.max(), Some(5_050_000));
}

#[test]
fn an_open_loop_waits_for_what_is_not_due() {
    let mut plan = random(11);
    plan.rate = Some(100.0);
    let outcome = execute(&drive("sim:constant,latency=100us"), &plan);
    assert_eq!(outcome.elapsed, Duration::from_micros(100_100));
    assert_eq!(outcome.tally.read.latency.max(), Some(100_000));
}

#[test]
fn a_failing_range_ends_it_and_what_was_counted_stands() {
    let list: Arc<[u64]> = [0, 4096, 8192, 12_288].into();
    let mut plan = Plan::reading(Pattern::Addresses(list), 4096, 0..1 << 20);
    plan.log = 10;
    let outcome = execute(&drive("sim:failing,begin=8192,length=512"), &plan);
    let End::Failed(error) = &outcome.end else {
        panic!("{:?}", outcome.end);
    };
    let text = error.to_string();
    assert!(
        text.starts_with("read of 4096 bytes at byte 8192 of sim:failing"),
        "{text}"
    );
    assert_eq!(outcome.tally.requests(), 2);
    assert_eq!(outcome.log.len(), 2);
}

#[test]
fn writes_fall_off_a_cliff() {
    let mut plan = random(20);
    plan.operation = Operation::Write;
    plan.log = 20;
    let outcome = execute(&drive("sim:cliff,cache=40960,latency=10us,slow=1ms"), &plan);
    let times: Vec<u64> = outcome
        .log
        .iter()
        .map(|one| one.end_ns - one.start_ns)
        .collect();
    assert_eq!(times[..10], [10_000; 10]);
    assert_eq!(times[10..], [1_000_000; 10]);
    assert_eq!(outcome.tally.write.latency.count(), 20);
}

#[test]
fn zones_slow_down_towards_the_end() {
    let engine =
        drive("sim:zones,size=10GB,outer=200MB/s,inner=100MB/s,zones=2,latency=0ms,block=1");
    let at = |address: u64| {
        let list: Arc<[u64]> = [address].into();
        let plan = Plan::reading(Pattern::Addresses(list), 1_000_000, 0..10_000_000_000);
        execute(&engine, &plan).elapsed
    };
    assert_eq!(at(0), Duration::from_millis(5));
    assert_eq!(at(9_000_000_000), Duration::from_millis(10));
}

#[test]
fn a_share_of_requests_is_slow() {
    let outcome = execute(&drive("sim:bimodal,percent=20,slow=10ms"), &random(10_000));
    let slow = outcome.tally.read.latency.share_slower_than(1_000_000);
    assert!((0.18..0.22).contains(&slow.unwrap()), "{slow:?}");
}

#[test]
fn the_drive_lives_on_from_one_execution_to_the_next() {
    let engine = drive("sim:constant,latency=100us");
    assert_eq!(
        execute(&engine, &random(10)).elapsed,
        Duration::from_millis(1)
    );
    assert_eq!(engine.powered.lock().unwrap().now_ns, 1_000_000);
    assert_eq!(
        execute(&engine, &random(10)).elapsed,
        Duration::from_millis(1)
    );
    assert_eq!(engine.powered.lock().unwrap().now_ns, 2_000_000);
}

#[test]
fn cancelling_keeps_what_was_counted() {
    let control = Control::default();
    let mut plan = random(1);
    plan.limits = Limits::default();
    let mut seen = 0;
    let outcome = drive("sim:constant")
        .execute(&plan, &control, &mut |snapshot| {
            seen = snapshot.tally.requests();
            control.cancel();
        })
        .unwrap();
    assert!(matches!(outcome.end, End::Cancelled));
    assert!(seen > 0 && outcome.tally.requests() >= seen);
}

#[test]
fn names_that_cannot_be_read_say_why() {
    let error = |name: &str| match Settings::parse(name).map(Settings::build) {
        Err(error) | Ok(Err(error)) => error.to_string(),
        Ok(Ok(_)) => panic!("{name} was built"),
    };
    assert!(error("sim:floppy").contains("there are constant, "));
    assert!(error("sim:constant,latensy=1ms").contains("no parameter \"latensy\""));
    assert!(error("sim:constant,latency=5").contains("latency=5 of sim:constant"));
    assert!(error("sim:constant,block=1000").contains("power of two"));
    assert!(error("sim:constant,clock=slow").contains("clock=virtual"));
}
