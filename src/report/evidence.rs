//! What was seen around a run, as names and values: text and HTML show the same.

use crate::session::document::{
    Counts, Evidence, KernelCounts, Layer, OtherUser, Processors, Relation, Setup,
};
use crate::units;

/// Other users that are named.
const NAMED: usize = 5;

/// The evidence in words, what is not known left out.
#[must_use]
pub fn facts(evidence: &Evidence) -> Vec<(&'static str, String)> {
    let asked = evidence
        .asked
        .filter(|asked| asked.reads + asked.writes > 0);
    let others = evidence.others.iter().take(NAMED).map(other);
    let setup = evidence.setup.as_ref();
    [
        ("asked for", asked.map(counts)),
        ("beneath", some(evidence.beneath.iter().map(layer))),
        ("others", some(others)),
        (
            "processors",
            evidence.processors.as_ref().and_then(processors),
        ),
        ("temperature", evidence.temperature.map(temperature)),
        ("extents", evidence.extents.as_ref().map(extents)),
        ("zeros", evidence.sample.map(sample)),
        ("link", setup.and_then(link)),
        (
            "scheduler",
            setup.and_then(|setup| setup.scheduler.clone().map(String::from)),
        ),
        (
            "write cache",
            setup.and_then(|setup| setup.write_cache.clone().map(String::from)),
        ),
        ("loop file", setup.and_then(loop_file)),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name, value?)))
    .collect()
}

fn some(parts: impl Iterator<Item = String>) -> Option<String> {
    Some(parts.collect::<Vec<_>>().join("; ")).filter(|text| !text.is_empty())
}

/// `1000 reads, 4.10 MB; 20 writes, 81.9 kB`.
fn directions(sides: [(u64, u64, &str); 2]) -> String {
    let done = sides.iter().filter(|(requests, ..)| *requests > 0);
    let words: Vec<String> = done
        .map(|(requests, bytes, word)| {
            format!("{requests} {word}, {}", units::capacity(*bytes as f64))
        })
        .collect();
    match words.is_empty() {
        true => "nothing".to_owned(),
        false => words.join("; "),
    }
}

fn counts(asked: Counts) -> String {
    directions([
        (asked.reads, asked.read_bytes, "reads"),
        (asked.writes, asked.written_bytes, "writes"),
    ])
}

fn layer(layer: &Layer) -> String {
    let KernelCounts { device, .. } = &layer.counts;
    let relation = match layer.relation {
        Relation::Whole => "the whole drive",
        Relation::Member => "a member",
        Relation::Backing => "under the file",
    };
    let done = directions([
        (layer.counts.reads, layer.counts.read_bytes, "reads"),
        (layer.counts.writes, layer.counts.written_bytes, "writes"),
    ]);
    format!("{device} ({relation}): {done}")
}

fn other(other: &OtherUser) -> String {
    let bytes = (other.read_bytes + other.written_bytes) as f64;
    format!(
        "{} ({}) {}",
        other.command,
        other.pid,
        units::capacity(bytes)
    )
}

fn processors(seen: &Processors) -> Option<String> {
    let machine = seen.machine_share.map(|share| {
        format!(
            "{} of {} were busy",
            units::percent(share.min(1.0)),
            seen.count
        )
    });
    let generator = seen.generator_share.map(|share| {
        format!(
            "those that sent requests {} of one",
            units::percent(share.min(1.0))
        )
    });
    some(machine.into_iter().chain(generator))
}

fn temperature(seen: crate::session::document::Temperature) -> String {
    let limit = seen
        .limit_celsius
        .map_or_else(String::new, |limit| format!(", limit {limit:.0} C"));
    format!(
        "{:.0} C, at most {:.0} C{limit}",
        seen.begin_celsius, seen.highest_celsius
    )
}

fn extents(seen: &crate::session::document::Extents) -> String {
    let size = |bytes: u64| units::capacity(bytes as f64);
    match seen.hole_bytes + seen.unwritten_bytes {
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

fn sample(seen: crate::session::document::BlockSample) -> String {
    format!("{} of {} blocks", seen.zero_blocks, seen.blocks)
}

fn link(setup: &Setup) -> Option<String> {
    let ceiling = units::throughput(setup.link_bytes_per_s? as f64);
    Some(format!("{}, at most {ceiling}", setup.link.as_deref()?))
}

fn loop_file(setup: &Setup) -> Option<String> {
    let through = match setup.direct_io? {
        true => "past the page cache",
        false => "through the page cache",
    };
    Some(format!("{}, {through}", setup.backing_file.as_deref()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::document::{Temperature, Witness};

    #[test]
    fn what_is_known_is_said_and_nothing_else() {
        assert_eq!(facts(&Evidence::default()), []);
        let evidence = Evidence {
            asked: Some(Counts {
                reads: 1000,
                read_bytes: 4_096_000,
                ..Counts::default()
            }),
            beneath: vec![Layer {
                relation: Relation::Whole,
                counts: KernelCounts {
                    device: "sda".into(),
                    ..KernelCounts::default()
                },
            }],
            others: vec![OtherUser {
                pid: 12,
                command: "dd".into(),
                read_bytes: 1_000_000,
                written_bytes: 0,
                witness: Witness::Traced,
            }],
            temperature: Some(Temperature {
                begin_celsius: 40.0,
                highest_celsius: 61.2,
                limit_celsius: None,
            }),
            ..Evidence::default()
        };
        let told = facts(&evidence);
        let expected = [
            ("asked for", "1000 reads, 4.10 MB"),
            ("beneath", "sda (the whole drive): nothing"),
            ("others", "dd (12) 1.00 MB"),
            ("temperature", "40 C, at most 61 C"),
        ];
        assert_eq!(told, expected.map(|(name, value)| (name, value.to_owned())));
    }
}
