//! The engine on drives with known properties, in virtual time.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::engine::plan::{AccessPattern, BlockSize, IoOperation, PlanLimits};
use crate::engine::{EndReason, LoggedRequest};

fn simulated_engine(name: &str) -> SimulatedEngine {
    SimulatedEngine::new(SimParameters::parse(name).unwrap().build().unwrap())
}

fn random_read_plan(requests: u64) -> Plan {
    let mut plan = Plan::single_depth_reads(AccessPattern::Random, 4096, 0..10_000_000_000);
    plan.limits.requests = Some(requests);
    plan
}

fn execute(engine: &SimulatedEngine, plan: &Plan) -> ExecutionOutcome {
    engine
        .execute(plan, &CancellationToken::default(), &mut |_| {})
        .unwrap()
}

#[test]
fn simulated_constant_drive_at_depth_1_takes_exact_latency() {
    let outcome = execute(
        &simulated_engine("sim:constant,latency=100us"),
        &random_read_plan(1000),
    );
    assert!(matches!(outcome.end_reason, EndReason::Completed));
    assert_eq!(outcome.stats.requests(), 1000);
    assert_eq!(outcome.stats.bytes(), 4_096_000);
    assert_eq!(outcome.elapsed, Duration::from_millis(100));
    let latency = &outcome.stats.read.latency;
    assert_eq!(
        (latency.min(), latency.max()),
        (Some(100_000), Some(100_000))
    );
    assert_eq!(outcome.stats.write.latency.count(), 0);
}

#[test]
fn simulated_serial_drive_queues_requests() {
    let mut plan = random_read_plan(1000);
    plan.depth = 4;
    let outcome = execute(&simulated_engine("sim:constant,latency=100us"), &plan);
    assert_eq!(outcome.elapsed, Duration::from_millis(100));
    assert_eq!(outcome.stats.read.latency.percentile(50.0), Some(400_000));
}

#[test]
fn simulated_parallel_drive_serves_up_to_its_parallelism() {
    let mut plan = random_read_plan(1000);
    (plan.depth, plan.workers) = (4, 2);
    let outcome = execute(
        &simulated_engine("sim:constant,latency=100us,parallel=8"),
        &plan,
    );
    assert_eq!(outcome.stats.requests(), 1000);
    assert_eq!(outcome.elapsed, Duration::from_micros(12_500));
}

#[test]
fn simulated_drive_throughput_adds_transfer_time_to_latency() {
    let mut plan = Plan::single_depth_reads(AccessPattern::Sequential, 1_000_000, 0..20_000_000);
    plan.log_capacity = 100;
    let engine = simulated_engine("sim:constant,latency=1ms,throughput=100MB,block=1,physical=1");
    let outcome = execute(&engine, &plan);
    assert_eq!(outcome.stats.requests(), 20, "one pass over the window");
    assert_eq!(outcome.elapsed, Duration::from_millis(220));
    let third = LoggedRequest {
        address: 2_000_000,
        bytes: 1_000_000,
        is_write: false,
        start_ns: 22_000_000,
        end_ns: 33_000_000,
    };
    assert_eq!(outcome.request_log[2], third);
}

#[test]
fn simulated_engine_byte_limit_is_divided_exactly_among_workers() {
    let mut plan = random_read_plan(1_000_000);
    plan.workers = 3;
    plan.limits.bytes = Some(4096 * 100);
    assert_eq!(
        execute(&simulated_engine("sim:constant"), &plan)
            .stats
            .requests(),
        100
    );
    plan.block_size = BlockSize::Range(4096, 16_384);
    plan.alignment = 4096;
    let bytes = execute(&simulated_engine("sim:constant"), &plan)
        .stats
        .bytes();
    assert!((409_600..409_600 + 3 * 16_384).contains(&bytes), "{bytes}");
}

#[test]
fn simulated_engine_duration_ends_run_and_excludes_ramp_time() {
    let mut plan = random_read_plan(1);
    plan.limits = PlanLimits {
        duration: Some(Duration::from_secs(1)),
        ..PlanLimits::default()
    };
    plan.ramp_time = Duration::from_millis(500);
    let outcome = execute(&simulated_engine("sim:constant,latency=100us"), &plan);
    assert_eq!(outcome.stats.requests(), 10_000);
    assert_eq!(outcome.elapsed, Duration::from_secs(1));
    assert_eq!(
        outcome.stats.read.counts_over_time.buckets()[0].requests,
        999
    );
}

#[test]
fn open_loop_latency_counts_from_scheduled_start() {
    let mut plan = random_read_plan(100);
    plan.arrival_rate = Some(20_000.0);
    plan.log_capacity = 100;
    let outcome = execute(&simulated_engine("sim:constant,latency=100us"), &plan);
    // Due every 50 us, completed every 100 us: each request is 50 us later than the one before it.
    for (index, request) in (0_u64..).zip(&outcome.request_log) {
        assert_eq!(request.start_ns, index * 50_000);
        assert_eq!(request.end_ns, (index + 1) * 100_000);
    }
    assert_eq!(outcome.stats.read.latency.max(), Some(5_050_000));
}

#[test]
fn open_loop_waits_for_requests_not_yet_due() {
    let mut plan = random_read_plan(11);
    plan.arrival_rate = Some(100.0);
    let outcome = execute(&simulated_engine("sim:constant,latency=100us"), &plan);
    assert_eq!(outcome.elapsed, Duration::from_micros(100_100));
    assert_eq!(outcome.stats.read.latency.max(), Some(100_000));
}

#[test]
fn simulated_engine_failing_range_ends_run_and_keeps_counts() {
    let list: Arc<[u64]> = [0, 4096, 8192, 12_288].into();
    let mut plan = Plan::single_depth_reads(AccessPattern::AddressList(list), 4096, 0..1 << 20);
    plan.log_capacity = 10;
    let outcome = execute(
        &simulated_engine("sim:failing,begin=8192,length=512"),
        &plan,
    );
    let EndReason::Failed(error) = &outcome.end_reason else {
        panic!("{:?}", outcome.end_reason);
    };
    let text = error.to_string();
    assert!(
        text.starts_with("read of 4096 bytes at byte 8192 of sim:failing"),
        "{text}"
    );
    assert_eq!(outcome.stats.requests(), 2);
    assert_eq!(outcome.request_log.len(), 2);
}

#[test]
fn simulated_given_latencies_follow_each_other_and_begin_again() {
    let engine = simulated_engine("sim:given,latencies=10us*10+1ms*2");
    let mut plan = random_read_plan(24);
    plan.log_capacity = 24;
    let log = execute(&engine, &plan).request_log;
    let times: Vec<u64> = log.iter().map(|one| one.end_ns - one.start_ns).collect();
    let once = [vec![10_000; 10], vec![1_000_000; 2]].concat();
    assert_eq!(times, once.repeat(2));
}

#[test]
fn simulated_ssd_reads_in_parallel_and_stalls_when_its_buffer_is_full() {
    let engine = simulated_engine("sim:ssd,jitter=0us");
    let one = execute(&engine, &random_read_plan(64)).elapsed;
    assert!(
        one.abs_diff(Duration::from_nanos(64 * 76_171)) < Duration::from_micros(1),
        "{one:?}"
    );
    let mut plan = random_read_plan(64);
    plan.depth = 64;
    assert!(execute(&engine, &plan).elapsed < one / 3);
    let mut plan = Plan::single_depth_reads(AccessPattern::Sequential, 128 << 10, 0..1 << 30);
    plan.operation = IoOperation::Write;
    let latency = execute(&engine, &plan).stats.write.latency;
    assert!(
        latency.min() < Some(100_000) && latency.max() > Some(3_000_000),
        "{latency:?}"
    );
}

#[test]
fn simulated_drive_state_persists_between_executions() {
    let engine = simulated_engine("sim:constant,latency=100us");
    assert_eq!(
        execute(&engine, &random_read_plan(10)).elapsed,
        Duration::from_millis(1)
    );
    assert_eq!(engine.powered_drive.lock().unwrap().power_on_ns, 1_000_000);
    assert_eq!(
        execute(&engine, &random_read_plan(10)).elapsed,
        Duration::from_millis(1)
    );
    assert_eq!(engine.powered_drive.lock().unwrap().power_on_ns, 2_000_000);
}

#[test]
fn simulated_engine_cancelled_keeps_counts() {
    let control = CancellationToken::default();
    let mut plan = random_read_plan(1);
    plan.limits = PlanLimits::default();
    let mut seen = 0;
    let outcome = simulated_engine("sim:constant")
        .execute(&plan, &control, &mut |snapshot| {
            seen = snapshot.stats.requests();
            control.cancel();
        })
        .unwrap();
    assert!(matches!(outcome.end_reason, EndReason::Cancelled));
    assert!(seen > 0 && outcome.stats.requests() >= seen);
}

#[test]
fn simulated_drive_with_invalid_name_explains_error() {
    let error = |name: &str| match SimParameters::parse(name).map(SimParameters::build) {
        Err(error) | Ok(Err(error)) => error.to_string(),
        Ok(Ok(_)) => panic!("{name} was built"),
    };
    assert!(error("sim:floppy").contains("there are hdd, "));
    assert!(error("sim:constant,latensy=1ms").contains("no parameter \"latensy\""));
    assert!(error("sim:constant,latency=5").contains("latency=5 of sim:constant"));
    assert!(error("sim:given,latencies=1ms*x").contains("write a count"));
    assert!(error("sim:constant,block=1000").contains("power of two"));
    assert!(error("sim:constant,clock=slow").contains("clock=virtual"));
}
