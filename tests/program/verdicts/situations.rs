//! Which checks of every run are raised in which situation, as a table: each situation names all of
//! its checks, so that it tests the absence of all others.

use std::fmt::Write as _;

use diskscope::session::checks::{Workload, all_rules, evaluate_rules};
use diskscope::session::document::{BenchmarkRun, LatencySummary};
use diskscope::stats::latency::histogram::LatencyHistogram;
use serde_json::{Value, json};

/// A situation and the checks that it raises, in the order in which they are listed.
struct Situation {
    name: &'static str,
    run: BenchmarkRun,
    expected: &'static [&'static str],
}

/// Latencies in microseconds, evenly spread between two limits.
fn spread(count: u64, low_us: u64, high_us: u64) -> LatencyHistogram {
    let mut latency = LatencyHistogram::default();
    for index in 0..count {
        latency.record((low_us * 1000) + (high_us - low_us) * 1000 * index / count);
    }
    latency
}

/// Random reads of 4 KiB with these latencies and changes to the document.
fn run(latency: &LatencyHistogram, depth: u32, changes: Value) -> BenchmarkRun {
    let reads = latency.count();
    let bytes = reads * 4096;
    let mut document = json!({
        "test": "random-read", "state": "finished", "error": null,
        "started": "2026-01-02T03:04:06+00:00", "elapsed_ns": 10_000_000_000_u64,
        "target": {
            "path": "/dev/sda", "kind": "block-device", "size_bytes": 1_000_000_000_000_u64,
            "logical_block_bytes": 512, "physical_block_bytes": 4096, "device": "sda",
            "model": null, "serial": null, "firmware": null, "transport": "sata",
            "rotational": false, "file_system": null
        },
        "parameters": { "block-size": 4096, "depth": depth, "cache": "bypass" },
        "engine": { "name": "uring", "features": [] },
        "figures": [], "latency": { "read": LatencySummary::from_histogram(latency) },
        "series": [], "verdicts": [],
        "kernel": counts("sda", reads, bytes, latency),
        "cpu": null,
        "evidence": {
            "issued": { "reads": reads, "read_bytes": bytes, "writes": 0, "written_bytes": 0 },
            "drive_setup": {},
            "processors": { "generator_utilization": 0.3, "busiest_workers": 1,
                            "machine_utilization": 0.4, "count": 2 }
        },
        "reproduce": { "diskscope": "", "fio": null }
    });
    merge(&mut document, changes);
    serde_json::from_value(document).unwrap()
}

/// The kernel's counters of a device.
fn counts(device: &str, reads: u64, bytes: u64, latency: &LatencyHistogram) -> Value {
    let read_ns = latency.mean().unwrap_or_default() as u64 * reads;
    json!({
        "device": device, "reads": reads, "reads_merged": 0, "read_bytes": bytes, "read_ns": read_ns,
        "writes": 0, "writes_merged": 0, "written_bytes": 0, "write_ns": 0, "discards": null,
        "flushes": null, "busy_ns": read_ns, "weighted_ns": read_ns
    })
}

/// Replaces the values that `changes` names.
fn merge(document: &mut Value, changes: Value) {
    match (document, changes) {
        (Value::Object(document), Value::Object(changes)) => {
            for (key, value) in changes {
                merge(document.entry(key).or_insert(Value::Null), value);
            }
        }
        (document, changes) => *document = changes,
    }
}

/// A virtual disk that needed `earlier_us` per request before the run.
fn virtual_disk(transport: &str, earlier_us: u64) -> Value {
    json!({
        "target": { "transport": transport },
        "evidence": {
            "drive_setup": { "virtual_disk": "sda is attached by virtio" },
            "device_history": { "device": "sda", "requests": 100_000, "bytes": 800_000_000,
                                "busy_ns": 100_000 * earlier_us * 1000 }
        }
    })
}

/// A loop device without direct I/O; the device below read this many bytes.
fn loop_device(underlying_bytes: u64) -> Value {
    let mut below = counts("sdb", 1000, underlying_bytes, &LatencyHistogram::default());
    below["relation_to_upper"] = json!("backing-device");
    json!({ "evidence": { "drive_setup": { "direct_io": false }, "underlying": [below] } })
}

/// CPUs that others keep busy.
fn busy() -> Value {
    json!({ "evidence": { "processors": { "machine_utilization": 0.99 } } })
}

/// A scratch file on this file system, with or without a device.
fn scratch(file_system: &str, has_device: bool) -> Value {
    let mut changes = json!({ "target": { "kind": "scratch", "file_system": file_system } });
    if !has_device {
        merge(
            &mut changes,
            json!({ "target": { "device": null, "rotational": null }, "kernel": null }),
        );
    }
    changes
}

/// Situations of an idle machine in which nothing is wrong.
fn clean_situations() -> Vec<Situation> {
    let ssd = spread(100_000, 60, 160);
    let disk = spread(900, 4_000, 20_000);
    // A fifth of the reads come from a cache.
    let mut cached = spread(400, 50, 90);
    cached.merge(&spread(1600, 4_000, 20_000));
    let clean = |name, run| Situation {
        name,
        run,
        expected: &[],
    };
    vec![
        clean("SSD, depth 32", run(&ssd, 32, json!({}))),
        clean("SSD, depth 1", run(&ssd, 1, json!({}))),
        clean(
            "NVMe, 9 us at depth 1",
            run(&spread(100_000, 7, 11), 1, json!({})),
        ),
        clean("scratch file on ext4", run(&ssd, 1, scratch("ext4", true))),
        clean(
            "disk, rotational=1",
            run(
                &spread(2000, 4_000, 20_000),
                1,
                json!({ "target": { "rotational": true } }),
            ),
        ),
        clean(
            "distant server, 10 ms each",
            run(&spread(2000, 9_800, 10_200), 1, json!({})),
        ),
        Situation {
            name: "SSD that a cache helps",
            run: run(&cached, 1, json!({})),
            expected: &["bimodal-latency"],
        },
        Situation {
            name: "disk that says SSD, depth 32",
            run: run(&disk, 32, json!({})),
            expected: &["too-few-samples"],
        },
        Situation {
            name: "short run, 50 requests",
            run: run(&spread(50, 60, 160), 8, json!({})),
            expected: &["too-few-samples"],
        },
    ]
}

/// Situations in which the setup or the machine affects the metrics.
fn disturbed_situations() -> Vec<Situation> {
    let ssd = spread(100_000, 60, 160);
    let disk = spread(2000, 4_000, 20_000);
    let fast = spread(100_000, 7, 11);
    let stall = json!({ "evidence": { "stalls": {
        "count": 1, "total_ns": 3_000_000_000_u64, "longest_ns": 3_000_000_000_u64,
        "longest_start_ns": 1_000_000_000 } } });
    let overloaded = json!({ "evidence": { "processors": { "generator_utilization": 0.99 } } });
    let in_memory =
        json!({ "evidence": { "drive_setup": { "memory_backing": "its file system is tmpfs" } } });
    let mut tmpfs = scratch("tmpfs", false);
    merge(&mut tmpfs, in_memory);
    let situation = |name, run, expected| Situation {
        name,
        run,
        expected,
    };
    vec![
        situation(
            "busy processors, SSD",
            run(&ssd, 1, busy()),
            &["machine-busy"],
        ),
        situation(
            "busy processors, 4 to 20 ms at depth 1",
            run(&disk, 1, busy()),
            &["machine-busy"],
        ),
        situation(
            "one busy worker thread",
            run(&ssd, 1, overloaded),
            &["generator-busy"],
        ),
        situation(
            "disk that says SSD, depth 1",
            run(&disk, 1, json!({})),
            &["behaves-like-disk"],
        ),
        situation(
            "3 s without a completion",
            run(&ssd, 32, stall),
            &["stalled"],
        ),
        situation(
            "scratch file on overlay",
            run(&ssd, 1, scratch("overlay", false)),
            &["device-unknown"],
        ),
        situation(
            "scratch file on tmpfs",
            run(&ssd, 1, tmpfs),
            &["memory-backed"],
        ),
        situation(
            "loop device through the page cache, read from memory",
            run(&ssd, 1, loop_device(1 << 20)),
            &["page-cache-backed"],
        ),
        situation(
            "loop device through the page cache, read from the drive",
            run(&ssd, 1, loop_device(100_000 * 4096)),
            &["loop-without-direct-io"],
        ),
        situation(
            "virtio disk, 9 us, 400 us before the run",
            run(&fast, 1, virtual_disk("virtio", 400)),
            &["virtual-disk", "host-cache-likely"],
        ),
        situation(
            "virtio disk, 9 us, 12 us before the run",
            run(&fast, 1, virtual_disk("virtio", 12)),
            &["virtual-disk"],
        ),
        situation(
            "NVMe passed to a guest, 9 us, 400 us before the run",
            run(&fast, 1, virtual_disk("nvme", 400)),
            &["virtual-disk"],
        ),
    ]
}

fn situations() -> Vec<Situation> {
    let mut all = clean_situations();
    all.extend(disturbed_situations());
    all
}

#[test]
fn each_situation_raises_exactly_its_checks() {
    for situation in situations() {
        let found = evaluate_rules(&situation.run, Workload::RANDOM_READS);
        let found: Vec<&str> = found.iter().map(|verdict| verdict.code.as_str()).collect();
        assert_eq!(found, situation.expected, "{}", situation.name);
    }
}

#[test]
fn verdicts_of_situations_are_these() {
    let mut text = String::new();
    for situation in situations() {
        for verdict in evaluate_rules(&situation.run, Workload::RANDOM_READS) {
            let verdict = serde_json::to_string_pretty(&verdict).unwrap();
            let _ = writeln!(text, "{}: {verdict}", situation.name);
        }
    }
    insta::assert_snapshot!(text);
}

#[test]
fn situations_raise_and_spare_the_checks_that_they_are_about() {
    let all = situations();
    for check in [
        "machine-busy",
        "generator-busy",
        "behaves-like-disk",
        "stalled",
        "device-unknown",
        "memory-backed",
        "page-cache-backed",
        "loop-without-direct-io",
        "host-cache-likely",
        "too-few-samples",
    ] {
        let raised = all.iter().filter(|it| it.expected.contains(&check)).count();
        assert!(raised > 0 && raised < all.len() / 2, "{check}: {raised}");
        assert!(all_rules().any(|rule| rule.check.code == check));
    }
}

/// The table of the developers' documents.
pub(super) fn table() -> String {
    let mut table = String::from("| situation | checks |\n|---|---|\n");
    for situation in situations() {
        let codes = situation.expected.iter().map(|check| format!("`{check}`"));
        let codes: Vec<String> = codes.collect();
        let checks = if codes.is_empty() {
            "none".to_owned()
        } else {
            codes.join(", ")
        };
        let _ = writeln!(table, "| {} | {checks} |", situation.name);
    }
    table
}
