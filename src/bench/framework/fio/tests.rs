//! fio command lines of plans, and plans without one. `tests/program/printed_commands` verifies that fio
//! behaves accordingly.

use std::path::Path;

use super::*;
use crate::bench::tests::fake;
use crate::bench::{BENCHMARKS, find_benchmark};
use crate::drive::TargetKind;
use crate::engine::{AccessPattern, Plan};
use crate::session::document::FioGap;

fn fio_job(name: &str, set: &[(&str, &str)]) -> Result<FioJob, FioGap> {
    let target = fake::simulated_target(64 << 20);
    let test = find_benchmark(name).unwrap();
    test.fio(&target, &fake::parameters(test, &target, set))
}

fn fio_command_line(name: &str, set: &[(&str, &str)]) -> String {
    let file = FioFile::Device("/dev/sdx".into());
    fio_job(name, set).unwrap().command_lines(&file).unwrap()
}

#[test]
fn fio_line_that_writes_begins_with_overwrite_comment() {
    for (set, bytes) in [
        (&[("bytes", "5000")][..], 8192),
        (&[("bytes", "8GiB")], 64 << 20),
        (&[("bytes", "8GiB"), ("window-end", "1MiB")], 1 << 20),
        (&[("requests", "10")], 40960),
    ] {
        let line = fio_command_line("random-write", set);
        let (comment, command) = line.split_once('\n').unwrap();
        let wanted = format!("# overwrites {bytes} bytes of /dev/sdx at most, ");
        assert!(comment.starts_with(&wanted), "{comment}");
        assert!(
            command.starts_with("[ -b /dev/sdx ] && python3 "),
            "{command}"
        );
        assert!(
            command.contains("os.O_EXCL)' /dev/sdx && fio "),
            "{command}"
        );
    }
    assert!(fio_command_line("random-read", &[]).starts_with("fio "));
    assert!(fio_command_line("random-read", &[]).contains(" --readonly "));
}

#[test]
fn beginning_of_a_fio_line_that_was_cut_creates_no_file() {
    for name in ["random-read", "random-write"] {
        let line = fio_command_line(name, &[]);
        let (_, options) = line.rsplit_once("fio --name=diskscope ").unwrap();
        assert!(options.starts_with("--allow_file_create=0 "), "{line}");
        assert!(options.ends_with(" --filename=/dev/sdx"), "{line}");
    }
}

#[test]
fn fio_line_with_time_limit_has_no_other_limit() {
    for (set, timed) in [
        (&[("bytes", "1MiB"), ("duration", "2s")][..], false),
        (&[("requests", "5"), ("duration", "2s")], false),
        (&[("duration", "2500ms")], true),
    ] {
        let line = fio_command_line("random-read", set);
        assert_eq!(line.contains("--time_based"), timed, "{line}");
        assert_eq!(line.contains("--io_size"), !timed, "{line}");
    }
    assert!(
        fio_command_line("random-read", &[("duration", "2500ms")]).contains("--runtime=2500ms")
    );
}

#[test]
fn fio_gap_names_unsupported_feature() {
    for (name, set, gap) in [
        (
            "random-read",
            &[("rate", "100/s")][..],
            FioGap::OpenLoopLatency,
        ),
        (
            "random-write",
            &[("workers", "3"), ("requests", "4")],
            FioGap::SharedLimit,
        ),
        (
            "random-read",
            &[("pattern", "zipf"), ("zipf", "1")],
            FioGap::ZipfExponent,
        ),
        (
            "mixed",
            &[("reads", "33.3%")],
            FioGap::FractionalReadPercentage,
        ),
        (
            "random-read",
            &[("block-size", "4KiB-16KiB")],
            FioGap::BlockSizes,
        ),
        (
            "sequential-write",
            &[("duration", "2s")],
            FioGap::TimeLimitedZones,
        ),
        ("quartet", &[], FioGap::SeveralPoints),
    ] {
        assert_eq!(fio_job(name, set), Err(gap), "{name} {set:?}");
    }
}

#[test]
fn fio_conversion_of_every_default_benchmark_yields_job_or_gap() {
    let target = fake::simulated_target(64 << 20);
    let mut with_job = Vec::new();
    for test in BENCHMARKS {
        let parameters = fake::parameters(*test, &target, &[]);
        if let Ok(job) = test.fio(&target, &parameters) {
            with_job.push(test.description().name);
            assert_eq!(
                job.is_write,
                test.writes(&parameters),
                "{}",
                test.description().name
            );
        }
    }
    for name in [
        "sequential-read",
        "sequential-write",
        "random-read",
        "random-write",
        "mixed",
    ] {
        assert!(with_job.contains(&name), "{name} has no job: {with_job:?}");
    }
}

#[test]
fn name_that_fio_would_cut_has_no_line() {
    let simulated = fake::simulated_target(1 << 20);
    let mut target = simulated.clone();
    target.kind = TargetKind::BlockDevice;
    for name in ["/srv/a#b", "/srv/a;b", "/srv/a ", "/srv/a\n"] {
        assert_eq!(
            FioFile::from_target(&target, Path::new(name)),
            Err(FioGap::TargetName),
            "{name:?}"
        );
    }
    assert!(FioFile::from_target(&target, Path::new("/srv/a b:c")).is_ok());
    assert_eq!(
        FioFile::from_target(&simulated, Path::new("sim:hdd")),
        Err(FioGap::SimulatedDrive)
    );
}

#[test]
fn fio_comment_escapes_line_break_in_path() {
    let file = FioFile::File(Path::new("/srv/a\nreboot\n#b").to_owned());
    let lines = fio_job("random-write", &[])
        .unwrap()
        .command_lines(&file)
        .unwrap();
    assert_eq!(lines.lines().count(), 2, "{lines}");
    assert!(
        lines
            .lines()
            .all(|line| line.starts_with("# ") || line.starts_with("[ -f "))
    );
}

#[test]
fn fio_conversion_of_unevenly_spaced_ranges_yields_gap() {
    let plan = Plan::single_depth_reads(AccessPattern::Sequential, 4096, 0..1 << 20);
    let job = |ranges: &[std::ops::Range<u64>]| FioJob::sequential_job(&plan, ranges);
    assert!(job(&[0..4096, 8192..12_288, 16_384..20_480]).is_ok());
    let uneven = job(&[0..4096, 8192..12_288, 20_480..24_576]);
    assert_eq!(uneven, Err(FioGap::UnevenZones));
}
