//! Checks whether the medium holds data to read, and whether written data resembles real data.

use serde_json::json;

use super::rule::{Rule, Run, fraction};
use crate::session::document::check::Found;
use crate::units;

/// Fraction of a file that may be holes or unwritten extents.
const MISSING_FRACTION_LIMIT: f64 = 0.01;
/// Fraction of the sampled blocks that may legitimately hold only zeros.
const ZERO_FRACTION_LIMIT: f64 = 0.5;
/// Below this number of blocks the sample is too small.
const MIN_SAMPLED_BLOCKS: u32 = 16;

pub(super) const RULES: &[Rule] = &[
    Rule::invalid(
        "file-has-holes",
        "Parts of the file are not allocated on the medium or were never written: the file system \
             returns zeros from memory.",
        "holes and unwritten extents are more than 1 % of the window that is read, in the target \
                    or in the backing file of a loop device",
        file_has_holes,
    ),
    Rule::warning(
        "blocks-not-allocated",
        "Parts of the file are not yet allocated on the medium: the metrics include block allocation by \
             the file system.",
        "holes and unwritten extents are more than 1 % of the window that is written",
        blocks_not_allocated,
    ),
    Rule::warning(
        "never-written",
        "Blocks that were never written since the last trim: the drive returns zeros without reading \
             its memory.",
        "of 32 blocks read at random addresses of a block device before a read benchmark, at \
                    least half contain only zeros",
        never_written,
    ),
    Rule::note(
        "compressible-data",
        "The written data is not random: a drive, file system or array that compresses or deduplicates \
             stores less.",
        "a write benchmark with --data zero, repeat or a percentage",
        compressible_data,
    ),
    Rule::invalid(
        "memory-backed",
        "The target is in memory, not on a drive.",
        "the file system is tmpfs or ramfs, the device is zram, brd or the like, or the backing \
                    file of a loop device lies on such a file system",
        memory_backed,
    ),
];

/// The parts of the window that have no data on the medium.
fn missing_extents(run: &Run<'_>) -> Option<Found> {
    let extents = run.evidence.extents.as_ref()?;
    let missing = fraction(extents.hole_bytes + extents.unwritten_bytes, extents.bytes)?;
    if missing <= MISSING_FRACTION_LIMIT {
        return None;
    }
    Some(Found::new(
        format!(
            "of {} of {}, {} are holes and {} were never written: {}",
            units::format_capacity(extents.bytes as f64),
            extents.file,
            units::format_capacity(extents.hole_bytes as f64),
            units::format_capacity(extents.unwritten_bytes as f64),
            units::format_percent(missing)
        ),
        "write the whole file first, or name a directory: the scratch file has no holes",
        json!({
            "file": extents.file, "bytes": extents.bytes, "hole_bytes": extents.hole_bytes,
            "unwritten_bytes": extents.unwritten_bytes,
        }),
    ))
}

fn file_has_holes(run: &Run<'_>) -> Option<Found> {
    let issued = run.evidence.issued?;
    missing_extents(run).filter(|_| issued.read_bytes > issued.written_bytes)
}

fn blocks_not_allocated(run: &Run<'_>) -> Option<Found> {
    let issued = run.evidence.issued?;
    let writes = issued.written_bytes >= issued.read_bytes && issued.written_bytes > 0;
    missing_extents(run).filter(|_| writes)
}

fn never_written(run: &Run<'_>) -> Option<Found> {
    let sample = run.evidence.block_sample?;
    let reads = run.evidence.issued?.read_bytes > 0;
    let zeros = fraction(u64::from(sample.zero_blocks), u64::from(sample.blocks))?;
    if !reads || sample.blocks < MIN_SAMPLED_BLOCKS || zeros < ZERO_FRACTION_LIMIT {
        return None;
    }
    Some(Found::new(
        format!(
            "{} of {} blocks at random addresses contain only zeros",
            sample.zero_blocks, sample.blocks
        ),
        "write the whole drive once before measuring reads",
        json!({ "blocks": sample.blocks, "zero_blocks": sample.zero_blocks }),
    ))
}

fn compressible_data(run: &Run<'_>) -> Option<Found> {
    let data = run.parameters.compressible_data()?;
    let written_bytes = run.evidence.issued?.written_bytes;
    if written_bytes == 0 {
        return None;
    }
    Some(Found::new(
        format!(
            "{} were written with --data {data}",
            units::format_capacity(written_bytes as f64)
        ),
        "write random data (the default) unless compression is what you measure",
        json!({ "data": data, "written_bytes": written_bytes }),
    ))
}

fn memory_backed(run: &Run<'_>) -> Option<Found> {
    let memory = run.evidence.drive_setup.as_ref()?.memory_backing.as_ref()?;
    Some(Found::new(
        format!("{}: {memory}", run.target.path),
        "choose a target on a drive",
        json!({ "target": run.target.path, "property": memory }),
    ))
}
