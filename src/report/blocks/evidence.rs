//! Evidence collected during a run, as names and values; shared by text and HTML.

use crate::session::document::{
    Attribution, DirectionCounts, DriveSetup, KernelCounts, LayerCounts, LayerRelation, OtherUser,
    ProcessorLoad, RunEvidence,
};
use crate::units;

/// Maximum number of other processes that are listed.
const MAX_NAMED_USERS: usize = 5;

/// The evidence for display; unknown values are omitted.
pub(super) fn evidence_lines(evidence: &RunEvidence) -> Vec<(&'static str, String)> {
    let issued = evidence
        .issued
        .filter(|issued| issued.reads > 0 || issued.writes > 0);
    let others = evidence
        .other_users
        .iter()
        .take(MAX_NAMED_USERS)
        .map(other_user_text);
    let setup = evidence.drive_setup.as_ref();
    [
        ("issued", issued.map(issued_text)),
        (
            "underlying devices",
            join_parts(evidence.underlying.iter().map(layer_text)),
        ),
        ("other processes", join_parts(others)),
        ("CPU", evidence.processors.as_ref().and_then(processor_text)),
        ("temperature", evidence.temperature.map(temperature_text)),
        ("extents", evidence.extents.as_ref().map(extents_text)),
        (
            "blocks of zeros",
            evidence.block_sample.map(block_sample_text),
        ),
        ("link", setup.and_then(link_text)),
        (
            "scheduler",
            setup.and_then(|setup| setup.scheduler.clone().map(String::from)),
        ),
        (
            "write cache",
            setup.and_then(|setup| setup.write_cache.clone().map(String::from)),
        ),
        ("loop file", setup.and_then(loop_file_text)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

fn join_parts(parts: impl Iterator<Item = String>) -> Option<String> {
    Some(parts.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}

/// Requests and bytes of both directions, such as `1000 reads, 4.10 MB; 20 writes, 81.9 kB`.
fn direction_text(sides: [(u64, u64, &str); 2]) -> String {
    let done = sides.iter().filter(|(requests, ..)| *requests > 0);
    let words: Vec<String> = done
        .map(|(requests, bytes, word)| {
            format!(
                "{requests} {word}, {}",
                units::format_capacity(*bytes as f64)
            )
        })
        .collect();
    match words.is_empty() {
        true => "no requests".to_owned(),
        false => words.join("; "),
    }
}

fn issued_text(issued: DirectionCounts) -> String {
    direction_text([
        (issued.reads, issued.read_bytes, "reads"),
        (issued.writes, issued.written_bytes, "writes"),
    ])
}

fn layer_text(layer: &LayerCounts) -> String {
    let KernelCounts { device, .. } = &layer.counts;
    let relation = match layer.relation_to_upper {
        LayerRelation::WholeDisk => "whole disk",
        LayerRelation::Member => "member",
        LayerRelation::BackingDevice => "holds the backing file",
        LayerRelation::FileSystem => "of the file system",
    };
    let done = direction_text([
        (layer.counts.reads, layer.counts.read_bytes, "reads"),
        (layer.counts.writes, layer.counts.written_bytes, "writes"),
    ]);
    format!("{device} ({relation}): {done}")
}

fn other_user_text(other: &OtherUser) -> String {
    let bytes = other.read_bytes.saturating_add(other.written_bytes) as f64;
    let children = match other.attribution {
        Attribution::EndedChildren => ", or its ended children",
        _ => "",
    };
    format!(
        "{} ({}) {}{children}",
        other.command,
        other.pid,
        units::format_capacity(bytes)
    )
}

fn processor_text(seen: &ProcessorLoad) -> Option<String> {
    let machine = seen.machine_utilization.map(|share| {
        format!(
            "{} of {} CPUs busy",
            units::format_percent(share.min(1.0)),
            seen.count
        )
    });
    let generator = seen.generator_utilization.map(|share| {
        format!(
            "worker threads {} of one CPU each",
            units::format_percent(share.min(1.0))
        )
    });
    join_parts(machine.into_iter().chain(generator))
}

fn temperature_text(seen: crate::session::document::DriveTemperature) -> String {
    let limit = seen
        .throttle_celsius
        .map_or_else(String::new, |limit| format!(", throttles at {limit:.0} C"));
    format!(
        "{:.0} C at the start, maximum {:.0} C{limit}",
        seen.initial_celsius, seen.max_celsius
    )
}

fn extents_text(seen: &crate::session::document::FileAllocation) -> String {
    let size = |bytes: u64| units::format_capacity(bytes as f64);
    match seen.hole_bytes.saturating_add(seen.unwritten_bytes) {
        0 => format!("{} of {}, no holes", size(seen.bytes), seen.file),
        _ => format!(
            "{} of {}, {} holes, {} never written",
            size(seen.bytes),
            seen.file,
            size(seen.hole_bytes),
            size(seen.unwritten_bytes)
        ),
    }
}

fn block_sample_text(seen: crate::session::document::BlockSample) -> String {
    format!("{} of {} blocks", seen.zero_blocks, seen.blocks)
}

fn link_text(setup: &DriveSetup) -> Option<String> {
    let ceiling = units::format_throughput(setup.link_max_bytes_per_s? as f64);
    Some(format!("{}, maximum {ceiling}", setup.link.as_deref()?))
}

fn loop_file_text(setup: &DriveSetup) -> Option<String> {
    let through = match setup.direct_io? {
        true => "direct I/O",
        false => "buffered I/O",
    };
    Some(format!("{}, {through}", setup.backing_file.as_deref()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::document::{Attribution, DriveTemperature, FileAllocation};

    #[test]
    fn evidence_text_lists_only_known_values() {
        assert_eq!(evidence_lines(&RunEvidence::default()), []);
        let evidence = RunEvidence {
            issued: Some(DirectionCounts {
                reads: 1000,
                read_bytes: 4_096_000,
                ..DirectionCounts::default()
            }),
            underlying: vec![LayerCounts {
                relation_to_upper: LayerRelation::WholeDisk,
                counts: KernelCounts {
                    device: "sda".into(),
                    ..KernelCounts::default()
                },
            }],
            other_users: vec![OtherUser {
                pid: 12,
                command: "dd".into(),
                read_bytes: 1_000_000,
                written_bytes: 0,
                attribution: Attribution::TracedRequests,
            }],
            temperature: Some(DriveTemperature {
                initial_celsius: 40.0,
                max_celsius: 61.2,
                throttle_celsius: None,
            }),
            ..RunEvidence::default()
        };
        let lines = evidence_lines(&evidence);
        let expected = [
            ("issued", "1000 reads, 4.10 MB"),
            ("underlying devices", "sda (whole disk): no requests"),
            ("other processes", "dd (12) 1.00 MB"),
            ("temperature", "40 C at the start, maximum 61 C"),
        ];
        assert_eq!(
            lines,
            expected.map(|(name, value)| (name, value.to_owned()))
        );
    }

    #[test]
    fn evidence_with_the_largest_counts_is_shown() {
        let counts = DirectionCounts {
            reads: u64::MAX,
            writes: u64::MAX,
            read_bytes: u64::MAX,
            written_bytes: u64::MAX,
        };
        let evidence = RunEvidence {
            issued: Some(counts),
            other_users: vec![OtherUser {
                pid: 12,
                command: "dd".into(),
                read_bytes: u64::MAX,
                written_bytes: 1,
                attribution: Attribution::TracedRequests,
            }],
            extents: Some(FileAllocation {
                file: "/srv/file".into(),
                hole_bytes: u64::MAX,
                unwritten_bytes: u64::MAX,
                bytes: u64::MAX,
                encoded_bytes: 0,
            }),
            ..RunEvidence::default()
        };
        let names: Vec<_> = evidence_lines(&evidence)
            .iter()
            .map(|line| line.0)
            .collect();
        assert_eq!(names, ["issued", "other processes", "extents"]);
    }
}
