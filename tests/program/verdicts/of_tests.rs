//! Verdicts that the tests give themselves, each provoked on a simulated drive.

use crate::verdicts::sandbox::VerdictSandbox;

/// Runs `words` and expects the verdict.
fn assert_run_yields_check(words: &str, code: &str, evidence: &str) {
    let words: Vec<&str> = words.split(' ').collect();
    VerdictSandbox::new()
        .run_benchmark(&words)
        .assert_check(code, &[evidence]);
}

#[test]
fn mechanics_checks_report_undetermined_metrics() {
    for (words, code, evidence) in [
        (
            "track-to-track sim:hdd,clock=virtual,heads=1",
            "cylinder-undetermined",
            "same skew",
        ),
        (
            "track-to-track sim:hdd,clock=virtual,jitter=1ms",
            "seek-uncertain",
            "the margin of the seek time",
        ),
        (
            "full-stroke sim:hdd,clock=virtual,jitter=8ms",
            "seek-doubtful",
            "Anderson-Darling",
        ),
        (
            "full-stroke sim:hdd,clock=virtual,overhead=9ms",
            "command-overhead-unknown",
            "",
        ),
        (
            "geometry sim:hdd,clock=virtual,heads=1",
            "surfaces-undetermined",
            "all equal",
        ),
        (
            "geometry sim:hdd,clock=virtual --duration 12s",
            "zones-undetermined",
            "at least",
        ),
    ] {
        assert_run_yields_check(words, code, evidence);
    }
}

#[test]
fn rotation_checks_report_certainty_and_speed_class() {
    for (words, code, evidence) in [
        (
            "rotation sim:hdd,clock=virtual,outliers=25%",
            "rotation-doubtful",
            "coherence",
        ),
        (
            "rotation sim:hdd,clock=virtual,rpm=6300",
            "rotation-class",
            "none of the usual",
        ),
        ("rotation sim:hdd,clock=virtual", "rotation-class", "7200"),
        (
            "rotation sim:hdd,clock=virtual",
            "rotation-as-reported",
            "+0.000 %",
        ),
        (
            "rotation sim:ssd,clock=virtual",
            "does-not-rotate",
            "half a revolution",
        ),
    ] {
        assert_run_yields_check(words, code, evidence);
    }
}

#[test]
fn skipped_or_unreached_phases_are_reported() {
    for (words, code, evidence) in [
        (
            "sequential-read sim:hdd,clock=virtual,zones=1",
            "no-zones",
            "",
        ),
        (
            "read-modify-write sim:hdd,clock=virtual",
            "no-page-cache",
            "",
        ),
        (
            "quartet sim:hdd,clock=virtual --writes no",
            "nothing-written",
            "",
        ),
        (
            "survey sim:constant,size=256KiB",
            "sequential-read/skipped",
            "could not be run",
        ),
        (
            "concurrency-read sim:hdd,clock=virtual --requests 2000",
            "no-optimal-depth",
            "no significant difference",
        ),
        (
            "survey sim:ssd,clock=virtual",
            "advice-queue-depth",
            "IOPS at depth",
        ),
        (
            "random-read sim:constant,latency=1ms --rate 5000 --duration 3s",
            "rate-not-reached",
            "5.00k",
        ),
        (
            "interference sim:constant --duration 5s",
            "background-load-not-started",
            "",
        ),
    ] {
        assert_run_yields_check(words, code, evidence);
    }
}

#[test]
fn interference_reports_scheduler_without_io_class_support() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = sandbox.attach_loop_device() else {
        return;
    };
    if disk.set("scheduler", "none") {
        let run = sandbox.run_benchmark(&["interference", disk.path(), "--duration", "6s"]);
        run.assert_check("scheduler-ignores-classes", &["none"]);
    }
}
