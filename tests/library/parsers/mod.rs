//! Parsers of files that others wrote, on damaged ones: the kernel's, sessions, recordings, and
//! what people type. `tests/fuzz/checks.rs` says what must hold.

#[path = "../../fuzz/checks.rs"]
mod checks;
mod damage;
mod seeds;
mod trees;

use std::time::{Duration, Instant};

use diskscope::session::document::Session;
use diskscope::trace::events::catalog::EVENTS;
use diskscope::trace::events::decode::EventDecoder;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use damage::{ByteEdit, any_changes, any_edits, apply_edits};

/// What must hold of any input that comes from this strategy; each case in time.
fn check_property<S: Strategy>(cases: u32, strategy: &S, check: impl Fn(S::Value)) {
    let config = Config {
        cases,
        // What failed is reported with its input; nothing is kept in files.
        failure_persistence: None,
        ..Config::default()
    };
    let timed = |input| {
        let began = Instant::now();
        check(input);
        prop_assert!(began.elapsed() < checks::PATIENCE, "{:?}", began.elapsed());
        Ok(())
    };
    if let Err(error) = TestRunner::new(config).run(strategy, timed) {
        panic!("{error}");
    }
}

fn damaged_seed(seeds: Vec<Vec<u8>>, most: usize) -> impl Strategy<Value = Vec<u8>> {
    (prop::sample::select(seeds), any_edits(most))
        .prop_map(|(seed, edits)| apply_edits(seed, &edits))
}

fn check_proc_files(cases: u32) {
    let seeds = seeds::seed_files("tests/kernels", |path| path.contains("/proc/"));
    check_property(cases, &damaged_seed(seeds, 8), |bytes| {
        checks::proc_file(&bytes)
    });
}

fn check_media(cases: u32) {
    // Where the tables and marks are: an edit anywhere would hit zeros only.
    let records = [446..512, 512..620, 1024..1400, 131_000..131_600];
    let places: Vec<usize> = records.into_iter().flatten().collect();
    let place = prop::sample::select(places);
    let change = (place, prop_oneof![any::<u8>(), Just(0xff), Just(0)]);
    let changes = prop::collection::vec(change, 0..24);
    let length = prop_oneof![4 => Just(usize::MAX), 1 => 0..600_000_usize];
    let strategy = (prop::sample::select(seeds::media_seeds()), changes, length);
    check_property(cases, &strategy, |(mut bytes, changes, length)| {
        for (at, value) in changes {
            bytes[at] = value;
        }
        bytes.truncate(length);
        checks::medium(&bytes);
    });
    let wild = prop::collection::vec(any::<u8>(), 0..5000);
    check_property(cases, &wild, |bytes| checks::medium(&bytes));
}

fn check_traces(cases: u32) {
    let headers = seeds::seed_files("tests/traces", |path| path.ends_with("header_page"));
    let formats = seeds::seed_files("tests/traces", |path| path.ends_with("format"));
    let header = String::from_utf8(headers[0].clone()).unwrap();
    let events = seeds::repository_root().join("tests/traces/6.18/events");
    let (decoder, _) = EventDecoder::from_format_files(&events, EVENTS);
    let records = prop::collection::vec(any::<u8>(), 0..600);
    let texts = damaged_seed([headers, formats].concat(), 8);
    check_property(cases, &(texts, records), |(text, records)| {
        checks::trace_format(&String::from_utf8_lossy(&text), &records);
        checks::trace_page(&header, &decoder, &records);
    });
}

fn check_typed_values(cases: u32) {
    let plain = "[0-9]{0,20}(\\.[0-9]{0,20})? ?([kKMGTP]i?)?[Bbsmh%/uu]{0,3}";
    let wild = "\\PC{0,30}";
    let goal = "[a-z0-9_.]{0,6}(<=|>=|<|>|=){0,2}[0-9.]{0,20}[a-zA-Z/]{0,4}";
    let texts = prop_oneof![plain, wild, goal];
    check_property(cases, &texts, |text| checks::units(&text));
    let condition = "[a-z_/%]{0,12}\\((any|system|[a-z:]{0,9}|\\PC{0,9})\\)[<>=]{1,2}[0-9.]{1,9}[a-zA-Z/%]{0,4}( for [0-9]{1,3}[ms]{0,2})?";
    check_property(cases, &condition, |text| checks::condition(&text));
}

fn check_sessions(cases: u32) {
    let seeds = [
        seeds::seed_files("tests/sessions", |path| path.ends_with(".json")),
        vec![seeds::journal_seed()],
    ]
    .concat();
    check_property(cases, &damaged_seed(seeds, 8), |bytes| {
        checks::session(&bytes)
    });
}

fn check_extreme_sessions(cases: u32) {
    let seeds = seeds::seed_files("tests/sessions", |path| path.ends_with(".json"));
    let seeds: Vec<serde_json::Value> = seeds
        .iter()
        .map(|text| serde_json::from_slice(text).unwrap())
        .collect();
    let strategy = (prop::sample::select(seeds), any_changes(6));
    check_property(cases, &strategy, |(mut document, changes)| {
        for change in &changes {
            change.apply(&mut document);
        }
        if let Ok(session) = serde_json::from_value::<Session>(document) {
            checks::presented(&session);
        }
    });
}

fn check_units_and_volumes(cases: u32) {
    use diskscope::probe::operations::pvmove::parse_mirror_status;
    let seeds = seeds::unit_and_volume_seeds();
    let read = seeds.iter().filter_map(|seed| {
        let (count, answer) = seed.split_first()?;
        parse_mirror_status(u32::from(*count), answer)
    });
    assert_eq!(read.count(), 1, "the seed is read");
    check_property(cases, &damaged_seed(seeds, 8), |bytes| {
        checks::units_and_volumes(&bytes)
    });
}

fn check_guard_tables(cases: u32) {
    check_property(cases, &damaged_seed(seeds::guard_seeds(), 8), |bytes| {
        checks::guard(&bytes)
    });
}

fn check_netlink(cases: u32) {
    use diskscope::probe::process::taskstats;
    let seeds = seeds::netlink_seeds();
    let replies = taskstats::parse_replies(&seeds[0], seeds::FAMILY).flatten();
    let replies: Vec<u32> = replies.map(|(pid, _)| pid).collect();
    let records = taskstats::parse_thread_exits(&seeds[1], seeds::FAMILY);
    let records: Vec<u32> = records.map(|record| record.pid).collect();
    assert_eq!((replies, records), (vec![4711], vec![4711, 4712]));
    check_property(cases, &damaged_seed(seeds, 8), |bytes| {
        checks::netlink(&bytes)
    });
}

fn check_command_lines(cases: u32) {
    let seeds = seeds::command_line_seeds();
    check_property(cases, &damaged_seed(seeds, 8), |bytes| {
        checks::command_line(&bytes)
    });
}

fn check_recordings(cases: u32) {
    check_property(
        cases,
        &damaged_seed(vec![seeds::recording_seed()], 6),
        |bytes| {
            checks::recording(&bytes);
        },
    );
}

fn check_recorded_lines(cases: u32) {
    check_property(
        cases,
        &damaged_seed(vec![seeds::recorded_lines_seed()], 6),
        |lines| {
            checks::recorded_lines(&lines);
        },
    );
}

fn check_kernel_trees(cases: u32) {
    let kernels = prop::sample::select(vec!["4.15", "5.4", "6.1", "6.18"]);
    let file = || (any::<prop::sample::Index>(), any_edits(4));
    let files = || prop::collection::vec(file(), 0..12);
    check_property(
        cases,
        &(kernels, files(), files()),
        |(kernel, before, after)| {
            trees::sample_damaged_tree(kernel, &before, &after);
        },
    );
}

/// Tables of mounts, of swap areas, and of udev, as the programs write them.
fn table_seeds() -> Vec<Vec<u8>> {
    let mut seeds = seeds::seed_files("tests/kernels", |path| path.ends_with("/mountinfo"));
    seeds.extend([
        b"Filename\tType\tSize\tUsed\tPriority\n/dev/sda1 partition 1000 10 -2\n/srv/a\\040b file 9 0 -3\n"
            .to_vec(),
        b"S:disk/by-id/ata-DISK_1\nE:ID_MODEL_ENC=DISK\\x20ONE\nE:ID_FS_TYPE=ext4\nE:MD_DEVNAME=data\n"
            .to_vec(),
    ]);
    seeds
}

fn check_device_tables(cases: u32) {
    let tree = trees::device_tree();
    check_property(cases, &damaged_seed(table_seeds(), 8), |bytes| {
        checks::device_tables(tree.path(), &bytes);
    });
    let line = "(E:ID_(MODEL_ENC|MODEL|FS_TYPE)=|S:disk/by-id/|36 35 8:0 / )[ -~]{0,9}(\\\\[0-9+]{1,4}|\\\\x[0-9a-f+]{0,3}|\\PC){0,4} ?(rw - ext4 /dev/(sda|\\.\\./x) rw)?";
    let text = prop::collection::vec(line, 0..6).prop_map(|lines| lines.join("\n"));
    check_property(cases, &text, |text| {
        checks::device_tables(tree.path(), text.as_bytes());
    });
}

/// What it is about, the property for so many cases, and how many take about a second.
type Property = (&'static str, fn(u32), u32);

const ALL_PROPERTIES: [Property; 14] = [
    ("files below /proc", check_proc_files, 400),
    ("trace formats and pages", check_traces, 300),
    ("what people type", check_typed_values, 400),
    ("sessions", check_sessions, 60),
    ("sessions with strange values", check_extreme_sessions, 60),
    ("recordings", check_recordings, 60),
    ("trees of kernels", check_kernel_trees, 30),
    ("partition tables and signatures", check_media, 100),
    ("what the write guard reads", check_guard_tables, 400),
    (
        "control groups, containers, volumes",
        check_units_and_volumes,
        1000,
    ),
    ("datagrams of taskstats", check_netlink, 1000),
    ("command lines", check_command_lines, 1000),
    ("lines of recordings", check_recorded_lines, 60),
    (
        "tables of mounts, swap areas and udev",
        check_device_tables,
        60,
    ),
];

macro_rules! short {
    ($($test:ident: $index:literal,)*) => {$(
        #[test]
        fn $test() {
            let (_, property, cases) = ALL_PROPERTIES[$index];
            property(cases);
        }
    )*};
}

short! {
    damaged_files_of_proc_are_read_or_passed_over: 0,
    damaged_traces_are_read_or_passed_over: 1,
    whatever_is_typed_is_understood_or_refused: 2,
    damaged_sessions_are_read_or_refused: 3,
    strange_sessions_are_presented: 4,
    damaged_recordings_are_read_without_the_damage: 5,
    damaged_trees_of_any_kernel_are_watched: 6,
    damaged_partition_tables_are_read_within_the_medium: 7,
    damaged_tables_of_the_write_guard_are_read_or_refused: 8,
    damaged_files_of_control_groups_and_volumes_are_read_or_refused: 9,
    damaged_datagrams_of_taskstats_are_read_or_passed_over: 10,
    damaged_command_lines_are_read_or_passed_over: 11,
    damaged_lines_of_recordings_are_read_or_told: 12,
    damaged_tables_of_devices_are_read_or_passed_over: 13,
}

#[test]
#[ignore = "runs for minutes: DISKSCOPE_FUZZ_SECONDS of each, 60 when that is not set"]
fn for_long() {
    let seconds = std::env::var("DISKSCOPE_FUZZ_SECONDS");
    let each = Duration::from_secs(seconds.map_or(60, |text| text.parse().unwrap()));
    for (name, property, cases) in ALL_PROPERTIES {
        let began = Instant::now();
        let mut done = 0;
        while began.elapsed() < each {
            property(cases);
            done += cases;
        }
        println!("{name}: {done} cases");
    }
}

#[test]
fn edits_change_bytes_as_specified() {
    let of = |edit: ByteEdit| {
        let mut bytes = b"cpu 10 20".to_vec();
        edit.apply(&mut bytes, 4);
        bytes
    };
    assert_eq!(of(ByteEdit::Cut), b"cpu ");
    assert_eq!(of(ByteEdit::Number(7)), b"cpu 7 20");
    assert_eq!(of(ByteEdit::Insert(b"-".to_vec())), b"cpu -10 20");
}
