//! The rotational part of real drives' response times, on traces of the drvperf project (MIT):
//! a Seagate ST9250410AS of 7200 rpm and a Fujitsu MHY2160BH of 5400 rpm.
//! `tests/recorded_drives/README.md` says where they come from.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use diskscope::bench::mechanics::rotational::{self, RotationalPart};
use flate2::read::GzDecoder;

/// All recordings.
const TRACES: [&str; 10] = [
    "st_fullstroke",
    "st_tracktotrack_00128",
    "st_tracktotrack_00256",
    "st_tracktotrack_00512",
    "st_tracktotrack_01024",
    "st_tracktotrack_02048",
    "st_tracktotrack_08192",
    "mhy_fullstroke",
    "mhy_tracktotrack_02048",
    "mhy_tracktotrack_08192",
];

/// Address and response in seconds of every read of one recording.
fn probes(name: &str) -> Vec<(u64, f64)> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded_drives");
    let file = File::open(directory.join(format!("{name}.tsv.gz"))).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let probe = |line: &str| {
        let columns: Vec<&str> = line.split('\t').collect();
        let milliseconds: f64 = columns[4].parse().unwrap();
        (columns[1].parse().unwrap(), milliseconds / 1e3)
    };
    let probes: Vec<(u64, f64)> = text.lines().skip(1).map(probe).collect();
    assert_eq!(probes.len(), 5000);
    probes
}

/// The rotational part of one recording.
fn part(name: &str, revolution: Option<f64>) -> RotationalPart {
    rotational::analyse(&probes(name), revolution).unwrap()
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
        "st_tracktotrack_02048",
        "st_tracktotrack_08192",
        "mhy_tracktotrack_02048",
        "mhy_tracktotrack_08192",
    ] {
        let part = part(trace, None);
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
        let trace = format!("st_tracktotrack_{span}");
        for known in [None, Some(revolution(&trace))] {
            let part = part(&trace, known);
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
    for trace in ["st_fullstroke", "mhy_fullstroke"] {
        let known = revolution(trace);
        let part = part(trace, Some(known));
        let middle = part.shares[part.shares.len() / 2];
        println!(
            "{trace}: edge {:.2} ms, middle {middle:.3}",
            1e3 * part.edge.lower
        );
        assert!((middle - 0.5).abs() < 0.05, "{trace}: {middle}");
        assert_eq!(part.doubt(), None, "{trace}");
    }
}

#[test]
fn a_revolution_that_is_wrongly_estimated_from_responses_is_doubtful() {
    for trace in TRACES {
        let part = part(trace, None);
        let miss = part.edge.width / revolution(trace) - 1.0;
        println!("{trace}: {:+.1} %, A2 {:.1}", 100.0 * miss, part.unevenness);
        assert!(
            miss.abs() < 0.02 || part.doubt().is_some(),
            "{trace}: {miss}"
        );
    }
}

#[test]
fn parts_of_a_recording_that_give_a_wrong_revolution_are_doubtful() {
    let (mut wrong, mut silent) = (0, Vec::new());
    for trace in TRACES {
        for reads in [500, 1000, 2000, 2500] {
            // Each slice begins in the middle of the one before.
            for part in probes(trace).windows(reads).step_by(reads / 2) {
                let Some(found) = rotational::analyse(part, None) else {
                    continue;
                };
                let miss = found.edge.width / revolution(trace) - 1.0;
                if miss.abs() < 0.05 {
                    continue;
                }
                wrong += 1;
                if found.doubt().is_none() {
                    silent.push(format!("{trace} {reads}: {:+.1} %", 100.0 * miss));
                }
            }
        }
    }
    println!("{wrong} wrong, {} of them not doubted", silent.len());
    assert!(silent.is_empty(), "{wrong}: {silent:#?}");
}

#[test]
fn seeks_of_real_drives_with_a_known_revolution_agree_between_halves_of_a_recording() {
    for trace in TRACES.iter().filter(|name| {
        name.ends_with("fullstroke") || name.ends_with("2048") || name.ends_with("8192")
    }) {
        let probes = probes(trace);
        let measured = |probes: &[(u64, f64)]| {
            rotational::measure(probes, revolution(trace), rotational::Edge::Quick)
                .unwrap()
                .edge
        };
        let whole = measured(&probes);
        for half in probes.chunks(probes.len() / 2) {
            let half = measured(half);
            println!("{trace}: {:?} {:?}", whole.limits, half.limits);
            assert!(
                half.limits.0 <= whole.limits.1 && whole.limits.0 <= half.limits.1,
                "{trace}"
            );
        }
    }
}
