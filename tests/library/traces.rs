//! The rotational part of real drives' response times, on traces of the drvperf project (MIT):
//! a Seagate ST9250410AS of 7200 rpm and a Fujitsu MHY2160BH of 5400 rpm.
//! `tests/recorded_drives/README.md` says where they come from.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use diskscope::bench::hdd::analysis::rotational_delay::{self, RotationalDelay};
use flate2::read::GzDecoder;

/// All recordings.
const RECORDINGS: [&str; 10] = [
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
fn recorded_reads(name: &str) -> Vec<(u64, f64)> {
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
fn rotational_delay_of_recording(name: &str, revolution: Option<f64>) -> RotationalDelay {
    rotational_delay::analyse_rotational_delay(&recorded_reads(name), revolution).unwrap()
}

/// One revolution in seconds.
fn revolution_of_recording(trace: &str) -> f64 {
    60.0 / if trace.starts_with("st") {
        7200.0
    } else {
        5400.0
    }
}

#[test]
fn recorded_revolution_is_found_within_2_percent_from_responses() {
    for trace in [
        "st_tracktotrack_02048",
        "st_tracktotrack_08192",
        "mhy_tracktotrack_02048",
        "mhy_tracktotrack_08192",
    ] {
        let part = rotational_delay_of_recording(trace, None);
        let miss = part.lower_edge.width / revolution_of_recording(trace) - 1.0;
        println!(
            "{trace}: {:.3} ms {:+.2} %",
            1e3 * part.lower_edge.width,
            100.0 * miss
        );
        assert!(miss.abs() < 0.02, "{trace}: {miss}");
        assert_eq!(part.check_plausibility(), None, "{trace}");
    }
}

#[test]
fn recorded_span_below_cylinder_is_flagged() {
    for span in ["00128", "00256", "00512"] {
        let trace = format!("st_tracktotrack_{span}");
        for known in [None, Some(revolution_of_recording(&trace))] {
            let part = rotational_delay_of_recording(&trace, known);
            println!(
                "{trace} {known:?}: {:.1} {:.2}",
                part.anderson_darling, part.fraction_inside
            );
            assert!(part.check_plausibility().is_some(), "{trace}");
        }
    }
}

#[test]
fn recorded_full_stroke_is_band_edge_not_fastest_read() {
    // Half of the responses lie within a quarter of a revolution of edge + T/2: the two ways to
    // obtain the seek, from the edges and from the median, agree.
    for trace in ["st_fullstroke", "mhy_fullstroke"] {
        let known = revolution_of_recording(trace);
        let part = rotational_delay_of_recording(trace, Some(known));
        let middle = part.rotational_positions[part.rotational_positions.len() / 2];
        println!(
            "{trace}: edge {:.2} ms, middle {middle:.3}",
            1e3 * part.lower_edge.lower
        );
        assert!((middle - 0.5).abs() < 0.05, "{trace}: {middle}");
        assert_eq!(part.check_plausibility(), None, "{trace}");
    }
}

#[test]
fn recorded_revolution_estimated_wrongly_is_flagged() {
    for trace in RECORDINGS {
        let part = rotational_delay_of_recording(trace, None);
        let miss = part.lower_edge.width / revolution_of_recording(trace) - 1.0;
        println!(
            "{trace}: {:+.1} %, A2 {:.1}",
            100.0 * miss,
            part.anderson_darling
        );
        assert!(
            miss.abs() < 0.02 || part.check_plausibility().is_some(),
            "{trace}: {miss}"
        );
    }
}

#[test]
fn recorded_parts_with_wrong_revolution_are_flagged() {
    let (mut wrong, mut silent) = (0, Vec::new());
    for trace in RECORDINGS {
        for reads in [500, 1000, 2000, 2500] {
            // Each slice begins in the middle of the one before.
            for part in recorded_reads(trace).windows(reads).step_by(reads / 2) {
                let Some(found) = rotational_delay::analyse_rotational_delay(part, None) else {
                    continue;
                };
                let miss = found.lower_edge.width / revolution_of_recording(trace) - 1.0;
                if miss.abs() < 0.05 {
                    continue;
                }
                wrong += 1;
                if found.check_plausibility().is_none() {
                    silent.push(format!("{trace} {reads}: {:+.1} %", 100.0 * miss));
                }
            }
        }
    }
    println!("{wrong} wrong, {} of them not doubted", silent.len());
    assert!(silent.is_empty(), "{wrong}: {silent:#?}");
}

#[test]
fn recorded_seeks_agree_between_halves_when_revolution_is_known() {
    for trace in RECORDINGS.iter().filter(|name| {
        name.ends_with("fullstroke") || name.ends_with("2048") || name.ends_with("8192")
    }) {
        let probes = recorded_reads(trace);
        let measured = |probes: &[(u64, f64)]| {
            rotational_delay::measure_rotational_delay(
                probes,
                revolution_of_recording(trace),
                rotational_delay::WaitEdge::LowerQuartile,
            )
            .unwrap()
            .lower_edge
        };
        let whole = measured(&probes);
        for half in probes.chunks(probes.len() / 2) {
            let half = measured(half);
            println!(
                "{trace}: {:?} {:?}",
                whole.lower_interval, half.lower_interval
            );
            assert!(
                half.lower_interval.0 <= whole.lower_interval.1
                    && whole.lower_interval.0 <= half.lower_interval.1,
                "{trace}"
            );
        }
    }
}
