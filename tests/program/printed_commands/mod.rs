//! Commands that the program prints are pasted into a shell and do what it says they do.

mod medium;
mod names;
mod others;

use crate::fio::has_fio;
use medium::{DEVICE_BYTES, Effect, Medium};

/// What both have to have done alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AddressMatch {
    /// The very same blocks.
    SameBlocks,
    /// About as many blocks of that size, all of them at multiples of it.
    RandomBlocks(usize),
    /// Some of these, at any multiple of a sector.
    AnySector,
}

struct Case {
    benchmark: &'static str,
    options: &'static [&'static str],
    /// The window, in bytes.
    window: (usize, usize),
    expected_blocks: AddressMatch,
}

const fn case(
    test: &'static str,
    options: &'static [&'static str],
    window: (usize, usize),
    addresses: AddressMatch,
) -> Case {
    Case {
        benchmark: test,
        options,
        window,
        expected_blocks: addresses,
    }
}

const WHOLE_DEVICE: (usize, usize) = (0, DEVICE_BYTES);
const WINDOW: (usize, usize) = (1 << 20, 9 << 20);

const CASES: &[Case] = &[
    case(
        "sequential-write",
        &["--block-size", "64KiB", "--bytes", "16MiB"],
        WHOLE_DEVICE,
        AddressMatch::SameBlocks,
    ),
    case(
        "sequential-write",
        &[
            "--block-size",
            "4KiB",
            "--zone-bytes",
            "8KiB",
            "--bytes",
            "800KiB",
            "--depth",
            "8",
        ],
        WHOLE_DEVICE,
        AddressMatch::SameBlocks,
    ),
    case(
        "sequential-write",
        &[
            "--block-size",
            "4KiB",
            "--zone-bytes",
            "16KiB",
            "--bytes",
            "1600KiB",
            "--window-begin",
            "1MiB",
            "--window-end",
            "9MiB",
        ],
        WINDOW,
        AddressMatch::SameBlocks,
    ),
    case(
        "sequential-write",
        &[
            "--block-size",
            "4KiB",
            "--bytes",
            "1600KiB",
            "--data",
            "zero",
            "--sync",
            "dsync",
        ],
        WHOLE_DEVICE,
        AddressMatch::SameBlocks,
    ),
    case(
        "sequential-write",
        &[
            "--block-size",
            "4KiB",
            "--requests",
            "300",
            "--data",
            "repeat",
        ],
        WHOLE_DEVICE,
        AddressMatch::SameBlocks,
    ),
    case(
        "sequential-write",
        &[
            "--block-size",
            "64KiB",
            "--cache",
            "keep",
            "--window-begin",
            "1MiB",
            "--window-end",
            "9MiB",
        ],
        WINDOW,
        AddressMatch::SameBlocks,
    ),
    case(
        "sequential-read",
        &["--block-size", "64KiB", "--depth", "1", "--bytes", "16MiB"],
        WHOLE_DEVICE,
        AddressMatch::SameBlocks,
    ),
    case(
        "sequential-read",
        &[
            "--block-size",
            "4KiB",
            "--zone-bytes",
            "8KiB",
            "--bytes",
            "800KiB",
            "--window-begin",
            "1MiB",
            "--window-end",
            "9MiB",
        ],
        WINDOW,
        AddressMatch::SameBlocks,
    ),
    case(
        "random-write",
        &[
            "--requests",
            "1024",
            "--window-begin",
            "1MiB",
            "--window-end",
            "9MiB",
        ],
        WINDOW,
        AddressMatch::RandomBlocks(4096),
    ),
    case(
        "random-write",
        &["--bytes", "6MiB", "--depth", "4"],
        WHOLE_DEVICE,
        AddressMatch::RandomBlocks(4096),
    ),
    case(
        "random-write",
        &["--bytes", "40MiB", "--seed", "7"],
        WHOLE_DEVICE,
        AddressMatch::RandomBlocks(4096),
    ),
    case(
        "random-write",
        &[
            "--bytes",
            "4MiB",
            "--workers",
            "4",
            "--depth",
            "2",
            "--sync",
            "sync",
        ],
        WHOLE_DEVICE,
        AddressMatch::RandomBlocks(4096),
    ),
    case(
        "random-write",
        &[
            "--bytes", "2MiB", "--data", "50", "--cache", "drop", "--depth", "1",
        ],
        WHOLE_DEVICE,
        AddressMatch::RandomBlocks(4096),
    ),
    case(
        "random-write",
        &[
            "--requests",
            "500",
            "--align",
            "64KiB",
            "--window-begin",
            "1MiB",
            "--window-end",
            "9MiB",
        ],
        WINDOW,
        AddressMatch::RandomBlocks(65536),
    ),
    case(
        "random-write",
        &[
            "--requests",
            "300",
            "--block-size",
            "16KiB",
            "--align",
            "512",
            "--window-begin",
            "1MiB",
            "--window-end",
            "9MiB",
        ],
        WINDOW,
        AddressMatch::AnySector,
    ),
    case(
        "random-write",
        &[
            "--requests",
            "300",
            "--block-size",
            "16KiB",
            "--align",
            "4KiB",
            "--window-begin",
            "1000000B",
            "--window-end",
            "9000000B",
        ],
        (1_000_000, 9_000_000),
        AddressMatch::AnySector,
    ),
    case(
        "random-write",
        &["--requests", "1000", "--pattern", "zipf", "--zipf", "0.5"],
        WHOLE_DEVICE,
        AddressMatch::RandomBlocks(4096),
    ),
    // The ramp time uses up every limit except the duration.
    case(
        "random-write",
        &[
            "--duration",
            "300ms",
            "--ramp",
            "200ms",
            "--bytes",
            "400GiB",
            "--window-begin",
            "1MiB",
            "--window-end",
            "9MiB",
        ],
        WINDOW,
        AddressMatch::AnySector,
    ),
    case(
        "random-read",
        &["--requests", "3000", "--workers", "2"],
        WHOLE_DEVICE,
        AddressMatch::AnySector,
    ),
    case(
        "random-read",
        &[
            "--bytes",
            "3MiB",
            "--block-size",
            "8KiB",
            "--window-begin",
            "1MiB",
            "--window-end",
            "9MiB",
        ],
        WINDOW,
        AddressMatch::AnySector,
    ),
    case(
        "mixed",
        &["--bytes", "8MiB", "--reads", "50%"],
        WHOLE_DEVICE,
        AddressMatch::RandomBlocks(4096),
    ),
    case(
        "mixed",
        &["--requests", "100", "--reads", "0%"],
        WHOLE_DEVICE,
        AddressMatch::RandomBlocks(4096),
    ),
];

#[test]
fn fio_line_transfers_same_ranges_and_amounts() {
    if !has_fio() {
        return;
    }
    let Some(medium) = Medium::new() else { return };
    for case in CASES {
        compare_with_fio(&medium, case);
    }
}

fn compare_with_fio(medium: &Medium, case: &Case) {
    let name = format!("{} {:?}", case.benchmark, case.options);
    let ((run, status), ours) =
        medium.measure_effect(|| medium.run_diskscope(case.benchmark, case.options));
    assert_eq!(status, Some(0), "{name}: {run}");
    let reproduce = &run["reproduce"];
    let line = reproduce["fio"].as_str();
    let line = line.unwrap_or_else(|| panic!("{name}: {reproduce}"));
    let (output, fios) = medium.measure_effect(|| medium.run_in_shell(line));
    assert!(output.status.success(), "{name}: {line}: {output:?}");
    check_overwrite_comment(line, &fios, &name);
    for effect in [&ours, &fios] {
        if let Some((first, end)) = effect.written_range() {
            assert!(
                case.window.0 <= first && end <= case.window.1,
                "{name}: {first} to {end}"
            );
        }
    }
    let timed = line.contains("--time_based") || case.options.contains(&"400GiB");
    if !timed {
        check_amounts(case, line, &ours, &fios, &name);
    }
    match case.expected_blocks {
        AddressMatch::SameBlocks => assert!(
            ours.changed_sectors == fios.changed_sectors,
            "{name}: other blocks: {line}"
        ),
        AddressMatch::RandomBlocks(size) => {
            let (ours, fios) = (
                ours.written_blocks(size).len(),
                fios.written_blocks(size).len(),
            );
            let ratio = fios as f64 / ours as f64;
            assert!(
                (0.8..1.25).contains(&ratio),
                "{name}: {fios} blocks, not {ours}: {line}"
            );
        }
        AddressMatch::AnySector => {}
    }
}

fn check_amounts(case: &Case, line: &str, ours: &Effect, fios: &Effect, name: &str) {
    // Which of the requests read, and how long each is, is drawn.
    let drawn = case.benchmark == "mixed" || line.contains("--bsrange");
    // Before anything is overwritten diskscope reads what is there: only fio's reads are all the
    // benchmark's.
    let only_writes = fios.read_ios == 0;
    let amounts = |effect: &Effect| match only_writes {
        true => (effect.written_bytes, effect.write_ios),
        false => (
            effect.read_bytes + effect.written_bytes,
            effect.read_ios + effect.write_ios,
        ),
    };
    if line.contains("--bsrange") {
        let ratio = amounts(fios).0 as f64 / amounts(ours).0 as f64;
        assert!(
            (0.9..1.1).contains(&ratio),
            "{name}: {ratio} of the bytes: {line}"
        );
        let inspection = amounts(ours).1.checked_sub(amounts(fios).1);
        assert!(inspection.is_some_and(|reads| reads < 64), "{name}: {line}");
        return;
    }
    // Through the page cache the kernel decides how bytes become requests.
    if line.contains("--direct=1") && case.benchmark == "mixed" {
        let inspection = amounts(ours).1.checked_sub(amounts(fios).1);
        assert!(inspection.is_some_and(|reads| reads < 64), "{name}: {line}");
    } else if line.contains("--direct=1") {
        assert_eq!(amounts(fios), amounts(ours), "{name}: {line}");
    }
    if drawn {
        let ratio = (fios.write_ios + 1) as f64 / (ours.write_ios + 1) as f64;
        assert!(
            (0.8..1.25).contains(&ratio),
            "{name}: {ratio} of the writes: {line}"
        );
    } else if line.contains("--direct=1") {
        assert_eq!(fios.written_bytes, ours.written_bytes, "{name}: {line}");
    }
}

/// The comment is there where the line writes, and nothing beyond what it says was overwritten.
fn check_overwrite_comment(line: &str, fios: &Effect, name: &str) {
    let overwritten = fios
        .changed_sectors
        .iter()
        .filter(|changed| **changed)
        .count()
        * 512;
    let comment = line.split_once('\n').map_or("", |(comment, _)| comment);
    if comment.is_empty() {
        assert_eq!(fios.written_bytes, 0, "{name}: {line}");
        return;
    }
    let bytes = comment.strip_prefix("# overwrites ").unwrap();
    let bytes: usize = bytes.split(' ').next().unwrap().parse().unwrap();
    assert!(
        overwritten <= bytes,
        "{name}: {overwritten} overwritten, {comment}"
    );
}

#[test]
fn fio_read_line_stays_in_window_and_reads_zones() {
    if !has_fio() {
        return;
    }
    let Some(medium) = Medium::new() else { return };
    let log = tempfile::NamedTempFile::new().unwrap();
    // Several jobs write over one another's lines of the log.
    let single = |case: &&Case| !case.options.contains(&"--workers");
    let reads = CASES
        .iter()
        .filter(|case| case.benchmark.ends_with("-read"));
    let reads = reads.filter(single);
    for case in reads {
        let (run, _) = medium.run_diskscope(case.benchmark, case.options);
        let line = run["reproduce"]["fio"].as_str().unwrap();
        // fio appends.
        std::fs::write(log.path(), "").unwrap();
        let logged = format!("fio --write_iolog={} ", log.path().display());
        let output = medium.run_in_shell(&line.replacen("fio ", &logged, 1));
        assert!(output.status.success(), "{line}: {output:?}");
        let mut read = logged_requests(&std::fs::read_to_string(log.path()).unwrap());
        assert!(!read.is_empty());
        let (first, end) = case.window;
        assert!(
            read.iter()
                .all(|(at, bytes)| first <= *at && at + bytes <= end),
            "{line}"
        );
        if case.expected_blocks == AddressMatch::SameBlocks {
            read.sort_unstable();
            let block = read[0].1;
            let read: Vec<usize> = read.iter().map(|(at, _)| at / block).collect();
            let (_, writes) =
                medium.measure_effect(|| medium.run_diskscope("sequential-write", case.options));
            assert_eq!(read, writes.written_blocks(block), "{line}");
        }
    }
}

/// Address and length of the requests of fio's log.
fn logged_requests(log: &str) -> Vec<(usize, usize)> {
    let request = |line: &str| {
        let (_, request) = line.split_once(" read ")?;
        let (at, bytes) = request.split_once(' ')?;
        Some((at.parse().ok()?, bytes.parse().ok()?))
    };
    log.lines().filter_map(request).collect()
}

#[test]
fn benchmark_without_fio_equivalent_has_check_and_no_fio_line() {
    let Some(medium) = Medium::new() else { return };
    for (test, options, gap) in [
        (
            "random-read",
            &["--rate", "500/s", "--requests", "20"][..],
            "open-loop-latency",
        ),
        (
            "random-write",
            &["--workers", "3", "--requests", "20"],
            "shared-limit",
        ),
        (
            "sequential-write",
            &["--duration", "1s"],
            "time-limited-zones",
        ),
        ("concurrency-read", &["--requests", "50"], "several-points"),
        ("block-size-write", &["--requests", "50"], "several-points"),
    ] {
        let (run, _) = medium.run_diskscope(test, options);
        let reproduce = &run["reproduce"];
        assert_eq!(reproduce["fio_gap"], gap, "{test}: {reproduce}");
        assert!(reproduce["fio"].is_null(), "{test}: {reproduce}");
    }
}

#[test]
fn written_byte_limit_includes_ramp_time() {
    let Some(medium) = Medium::new() else { return };
    let options = ["--rate", "1000/s", "--ramp", "300ms", "--bytes", "2MiB"];
    let ((run, status), effect) =
        medium.measure_effect(|| medium.run_diskscope("random-write", &options));
    assert_eq!(status, Some(0), "{run}");
    assert_eq!(effect.written_bytes, 2 << 20);
    let counted = run["latency"]["write"]["count"].as_u64().unwrap();
    assert!(
        (150..=250).contains(&counted),
        "{counted} of 512, 300 in the ramp time"
    );
    let options = ["--ramp", "30s", "--bytes", "2MiB"];
    let ((run, status), effect) =
        medium.measure_effect(|| medium.run_diskscope("random-write", &options));
    assert_eq!((status, effect.written_bytes), (Some(1), 2 << 20), "{run}");
    let message = run["error"]["message"].as_str().unwrap();
    assert!(message.contains("the ramp time used up"), "{message}");
}
