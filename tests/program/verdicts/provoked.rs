//! Which test provokes which check of every run.
//!
//! `docs/developers/checks.md` holds the table; run with DISKSCOPE_BLESS=1 to update it.

use std::fmt::Write as _;
use std::path::Path;

use diskscope::session::checks::all_rules;

/// How a check is provoked on a real system.
#[derive(Clone, Copy)]
enum Provocation {
    /// By the test of this name in `tests/program/verdicts`.
    Test(&'static str),
    /// By `tests/guest/verdicts.sh`, run by hand in a virtual machine: the check needs a drive that
    /// no automated test can create.
    VirtualMachine,
}

use Provocation::{Test, VirtualMachine};

/// Every check of `session::checks`.
const PROVOCATIONS: &[(&str, Provocation)] = &[
    (
        "served-from-cache",
        Test("full_file_has_no_holes_and_cached_file_is_served_from_memory"),
    ),
    (
        "still-in-memory",
        Test("writes_into_page_cache_are_flagged"),
    ),
    (
        "other-users",
        Test("competing_process_on_same_device_is_named"),
    ),
    (
        "device-unknown",
        Test("file_without_a_block_device_is_flagged"),
    ),
    (
        "page-cache-backed",
        Test("loop_device_through_page_cache_is_flagged"),
    ),
    (
        "requests-split",
        Test("requests_above_queue_limit_are_flagged_as_split"),
    ),
    (
        "requests-merged",
        Test("adjacent_requests_merged_by_kernel_are_flagged"),
    ),
    (
        "file-has-holes",
        Test("holes_and_unwritten_extents_are_flagged"),
    ),
    (
        "blocks-not-allocated",
        Test("holes_and_unwritten_extents_are_flagged"),
    ),
    ("never-written", VirtualMachine),
    ("compressible-data", Test("zero_data_is_flagged")),
    ("memory-backed", Test("target_in_memory_is_flagged")),
    (
        "buffered",
        Test("full_file_has_no_holes_and_cached_file_is_served_from_memory"),
    ),
    (
        "loop-without-direct-io",
        Test("loop_device_through_page_cache_is_flagged"),
    ),
    ("virtual-disk", Test("virtual_machine_disk_is_flagged")),
    ("host-cache-likely", VirtualMachine),
    ("misaligned-partition", VirtualMachine),
    (
        "below-physical-block",
        Test("blocks_below_physical_sector_are_flagged"),
    ),
    (
        "scheduler-unsuited",
        Test("scheduler_on_loop_device_is_flagged_unsuited"),
    ),
    ("deeper-than-drive", VirtualMachine),
    ("link-bound", VirtualMachine),
    ("faster-than-link", VirtualMachine),
    (
        "generator-busy",
        Test("cpu_bound_load_generator_is_flagged"),
    ),
    (
        "wakeup-dominates",
        Test("wakeup_longer_than_half_of_the_drives_answer_is_flagged"),
    ),
    ("machine-busy", Test("saturated_processors_are_flagged")),
    (
        "throughput-cliff",
        Test("filling_cache_is_flagged_as_throughput_drop"),
    ),
    (
        "throughput-drifted",
        Test("slowing_drive_is_flagged_as_drift"),
    ),
    ("temperature-throttled", VirtualMachine),
    ("temperature-high", VirtualMachine),
    (
        "stalled",
        Test("drive_that_stops_answering_is_flagged_as_stalled"),
    ),
    ("paused", Test("paused_run_is_flagged")),
    (
        "too-few-samples",
        Test("run_of_hundred_requests_is_flagged_as_too_short"),
    ),
    ("too-short", Test("run_of_half_a_second_is_flagged")),
    ("narrow-window", Test("small_window_of_a_disk_is_flagged")),
    ("bimodal-latency", Test("bimodal_latencies_are_flagged")),
    (
        "sync-too-fast",
        Test("durable_writes_faster_than_disk_rotation_are_flagged"),
    ),
    (
        "rotational-flag-doubtful",
        Test("disk_that_answers_as_an_ssd_is_flagged"),
    ),
    ("behaves-like-disk", Test("disk_that_says_ssd_is_flagged")),
    (
        "units-confused",
        Test("goal_between_decimal_and_binary_units_is_flagged"),
    ),
];

/// Whether a text names the check as one that must be present.
fn expects_check(text: &str, code: &str) -> bool {
    text.contains(&format!("\"{code}\"")) || text.contains(&format!("/{code}\""))
}

#[test]
fn every_rule_is_provoked_by_named_test() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let read = |name: &str| std::fs::read_to_string(tests.join(name)).unwrap();
    let sources = ["paused", "real", "shared", "simulated"]
        .map(|name| read(&format!("program/verdicts/{name}.rs")));
    let script = read("guest/verdicts.sh");
    for rule in all_rules() {
        let code = rule.check.code;
        let known = PROVOCATIONS.iter().find(|(check, _)| *check == code);
        match known.unwrap_or_else(|| panic!("nothing provokes {code}")).1 {
            Test(name) => {
                let begin = format!("\nfn {name}() {{");
                let body = sources.iter().find_map(|source| {
                    let (_, rest) = source.split_once(&begin)?;
                    rest.split("\n#[test]").next()
                });
                let body = body.unwrap_or_else(|| panic!("there is no test {name}"));
                assert!(expects_check(body, code), "{name} does not provoke {code}");
            }
            VirtualMachine => {
                let expects = |line: &str| {
                    line.trim_start().starts_with("run ")
                        && line.split(' ').any(|word| word == code)
                };
                assert!(script.lines().any(expects), "nothing provokes {code}");
            }
        }
    }
}

#[test]
fn provocations_in_developer_documents_are_current() {
    let mut table = String::from("| check | provoked by |\n|---|---|\n");
    for (check, provocation) in PROVOCATIONS {
        let _ = match provocation {
            Test(name) => writeln!(table, "| `{check}` | `{name}` |"),
            VirtualMachine => writeln!(table, "| `{check}` | `tests/guest/verdicts.sh` |"),
        };
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/developers/checks.md");
    let page = std::fs::read_to_string(path).unwrap();
    let begin = "<!-- generated by tests/program/verdicts/provoked.rs: DISKSCOPE_BLESS=1 cargo test provocations -->\n";
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once("<!-- end -->\n").unwrap();
    let situations = super::situations::table();
    let current = format!("{before}{begin}\n{table}\n{situations}<!-- end -->\n{after}");
    if std::env::var_os("DISKSCOPE_BLESS").is_some() {
        std::fs::write(path, &current).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap() == current,
        "{path} is out of date: run DISKSCOPE_BLESS=1 cargo test provocations"
    );
}
