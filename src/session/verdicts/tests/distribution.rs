//! What response times give away.

use super::*;
use crate::session::document::Setup;

#[test]
fn a_thousand_requests_are_enough() {
    let mut run = run();
    run.findings.latency.read = times([100; 999]);
    assert_found("too-few-samples", &run, &["999 reads"]);
    run.findings.latency.read = times([100; 1000]);
    assert_eq!(found("too-few-samples", &run), None);
}

#[test]
fn two_speeds_are_named() {
    let mut run = run();
    let fast = (0..700).map(|index| 80 + index % 40);
    run.findings.latency.write = times(fast.chain((0..300).map(|index| 8000 + index)));
    assert_found(
        "two-speeds",
        &run,
        &["70 % of the writes", "others about 7.69 ms"],
    );
    run.findings.latency.write = times((0..1000).map(|index| 80 + index % 40));
    assert_eq!(found("two-speeds", &run), None);
}

/// Durable writes of this many microseconds on a disk.
fn durable(microseconds: u64, rpm: Option<u32>) -> Run {
    let mut run = counted(0, 1000);
    run.target.rotational = Some(true);
    run.parameters.insert("sync".into(), "dsync".into());
    run.findings.latency.write = times([microseconds; 1000]);
    run.evidence.setup = Some(Setup {
        rotation_rate: rpm,
        ..Setup::default()
    });
    run
}

#[test]
fn durable_writes_take_half_a_revolution() {
    assert_found(
        "sync-too-fast",
        &durable(1990, None),
        &["1.99 ms", "2.00 ms"],
    );
    assert_eq!(found("sync-too-fast", &durable(2010, None)), None);
    assert_found("sync-too-fast", &durable(4100, Some(7200)), &["4.17 ms"]);
    assert_eq!(found("sync-too-fast", &durable(4200, Some(7200))), None);
    let mut unsynced = durable(100, None);
    unsynced.parameters.insert("sync".into(), "none".into());
    assert_eq!(found("sync-too-fast", &unsynced), None);
    let mut flash = durable(100, None);
    flash.target.rotational = Some(false);
    assert_eq!(found("sync-too-fast", &flash), None);
    let mut known = durable(100, None);
    known.findings.put_verdict(Verdict::new(
        "rotation/does-not-rotate",
        Severity::Invalid,
        "",
        "",
    ));
    assert_eq!(found("sync-too-fast", &known), None, "it is no disk");
}

#[test]
fn no_disk_answers_at_once() {
    let with = |microseconds: u64, size: u64, virtual_disk: bool| {
        let mut run = counted(1000, 0);
        run.target.rotational = Some(true);
        run.target.size_bytes = size;
        run.findings.latency.read = times([microseconds; 1000]);
        run.evidence.setup = Some(Setup {
            virtual_disk: virtual_disk.then(|| "vda".to_owned()).map(Into::into),
            ..Setup::default()
        });
        run
    };
    let code = "rotational-flag-doubtful";
    assert_found(
        code,
        &with(150, 1 << 40, false),
        &["rotational=1", "150 us"],
    );
    assert_eq!(
        found(code, &with(2100, 1 << 40, false)),
        None,
        "a fast disk"
    );
    assert_eq!(
        found(code, &with(150, 1 << 30, false)),
        None,
        "its cache may hold that"
    );
    assert!(found(code, &with(150, 1 << 30, true)).is_some(), "virtual");
    let mut buffered = with(150, 1 << 40, true);
    buffered.parameters.insert("cache".into(), "keep".into());
    assert_eq!(found(code, &buffered), None);
    let mut cached = with(150, 1 << 40, true);
    cached.evidence.setup.as_mut().unwrap().direct_io = Some(false);
    assert_eq!(found(code, &cached), None, "memory answered");
    let mut sequential = with(150, 1 << 40, true);
    sequential.test = "sequential-read".into();
    assert_eq!(found(code, &sequential), None);
}
