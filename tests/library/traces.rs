//! The rotational part of real drives' response times, on traces of the drvperf project (MIT):
//! a Seagate ST9250410AS of 7200 rpm and a Fujitsu MHY2160BH of 5400 rpm.
//! `tests/recorded_drives/README.md` says where they come from.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use diskscope::bench::hdd::analysis::rotational_delay::{RotationalDelay, WaitEdge};
use flate2::read::GzDecoder;

/// The response in seconds of every read of one recording.
fn recorded_responses(name: &str) -> Vec<f64> {
    let directory = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/recorded_drives");
    let file = File::open(directory.join(format!("{name}.tsv.gz"))).unwrap();
    let mut text = String::new();
    GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let response = |line: &str| {
        let milliseconds: f64 = line.split('\t').nth(4).unwrap().parse().unwrap();
        milliseconds / 1e3
    };
    let responses: Vec<f64> = text.lines().skip(1).map(response).collect();
    assert_eq!(responses.len(), 5000);
    responses
}

/// The rotational part of one recording.
fn rotational_delay_of_recording(name: &str) -> RotationalDelay {
    RotationalDelay::find(&recorded_responses(name), revolution_of_recording(name)).unwrap()
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
fn recorded_span_below_cylinder_is_flagged() {
    for span in ["00128", "00256", "00512"] {
        let trace = format!("st_tracktotrack_{span}");
        let part = rotational_delay_of_recording(&trace);
        println!(
            "{trace}: {:.1} {:.2}",
            part.anderson_darling, part.fraction_inside
        );
        assert!(part.check_plausibility().is_some(), "{trace}");
    }
}

#[test]
fn recorded_full_stroke_is_band_edge_not_fastest_read() {
    // Half of the responses lie within a quarter of a revolution of edge + T/2: the two ways to
    // obtain the seek, from the edges and from the median, agree.
    for trace in ["st_fullstroke", "mhy_fullstroke"] {
        let part = rotational_delay_of_recording(trace);
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
fn recorded_seeks_agree_between_halves_when_revolution_is_known() {
    for trace in [
        "st_fullstroke",
        "st_tracktotrack_02048",
        "st_tracktotrack_08192",
        "mhy_fullstroke",
        "mhy_tracktotrack_02048",
        "mhy_tracktotrack_08192",
    ] {
        let responses = recorded_responses(trace);
        let revolution = revolution_of_recording(trace);
        let measured = |part: &[f64]| {
            let found = RotationalDelay::measure(part, revolution, WaitEdge::LowerQuartile);
            found.unwrap().lower_edge
        };
        let whole = measured(&responses);
        for half in responses.chunks(responses.len() / 2) {
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
