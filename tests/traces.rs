//! The rotational part of real drives' response times, on traces of the drvperf project (MIT):
//! a Seagate ST9250410AS of 7200 rpm and a Fujitsu MHY2160BH of 5400 rpm.
//!
//! Runs where the traces are: in the directory that DISKSCOPE_TRACES names, or beside the clone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;

use diskscope::bench::mechanics::rotational::{self, RotationalPart};

fn directory() -> Option<PathBuf> {
    let named = std::env::var_os("DISKSCOPE_TRACES").map(PathBuf::from);
    let beside = || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../shared/traces");
    let directory = named.unwrap_or_else(beside);
    if !directory.is_dir() {
        println!("not tried: no traces in {}", directory.display());
        return None;
    }
    Some(directory)
}

/// The rotational part of one trace, nothing known of the drive.
fn part(name: &str, revolution: Option<f64>) -> Option<RotationalPart> {
    let text = std::fs::read_to_string(directory()?.join(name)).expect("a trace");
    let probe = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let milliseconds: f64 = columns[4].parse().expect("milliseconds");
        (columns[1].parse().expect("an address"), milliseconds / 1e3)
    };
    let probes: Vec<(u64, f64)> = text.lines().skip(1).map(probe).collect();
    assert_eq!(probes.len(), 5000);
    rotational::analyse(&probes, revolution)
}

/// One revolution in seconds.
fn revolution(trace: &str) -> f64 {
    60.0 / if trace.starts_with("st") {
        7200.0
    } else {
        5400.0
    }
}

#[test]
fn the_revolution_is_found_within_2_per_cent_from_responses_alone() {
    for trace in [
        "st_tracktotrack_02048.tsv",
        "st_tracktotrack_08192.tsv",
        "mhy_tracktotrack_02048.tsv",
        "mhy_tracktotrack_08192.tsv",
    ] {
        let Some(part) = part(trace, None) else {
            return;
        };
        let miss = part.edge.width / revolution(trace) - 1.0;
        println!(
            "{trace}: {:.3} ms {:+.2} %",
            1e3 * part.edge.width,
            100.0 * miss
        );
        assert!(miss.abs() < 0.02, "{trace}: {miss}");
        assert_eq!(part.doubt(), None, "{trace}");
    }
}

#[test]
fn a_span_below_a_cylinder_is_doubtful() {
    for span in ["00128", "00256", "00512"] {
        let trace = format!("st_tracktotrack_{span}.tsv");
        for known in [None, Some(revolution(&trace))] {
            let Some(part) = part(&trace, known) else {
                return;
            };
            println!(
                "{trace} {known:?}: {:.1} {:.2}",
                part.unevenness, part.inside
            );
            assert!(part.doubt().is_some(), "{trace}");
        }
    }
}

#[test]
fn full_stroke_is_the_edge_of_the_band_and_not_its_fastest_probe() {
    // Half of the responses lie within a quarter of a revolution of edge + T/2: the two ways to
    // obtain the seek, from the edges and from the median, agree.
    for trace in ["st_fullstroke.tsv", "mhy_fullstroke.tsv"] {
        let known = revolution(trace);
        let Some(part) = part(trace, Some(known)) else {
            return;
        };
        let middle = part.shares[part.shares.len() / 2];
        println!(
            "{trace}: edge {:.2} ms, middle {middle:.3}",
            1e3 * part.edge.lower
        );
        assert!((middle - 0.5).abs() < 0.05, "{trace}: {middle}");
        assert_eq!(part.doubt(), None, "{trace}");
    }
}
