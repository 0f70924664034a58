//! Checks whether the medium holds data to read, and whether written data resembles real data.

use super::rule::{CheckRule, fraction};
use crate::session::document::BenchmarkRun;
use crate::session::document::check::{
    CheckEvidence, CheckId, MissingExtents, TargetProperty, WrittenPattern,
};

/// Fraction of a file that may be holes or unwritten extents.
const MISSING_FRACTION_LIMIT: f64 = 0.01;
/// Fraction of the sampled blocks that may legitimately hold only zeros.
const ZERO_FRACTION_LIMIT: f64 = 0.5;
/// Below this number of blocks the sample is too small.
const MIN_SAMPLED_BLOCKS: u32 = 16;

pub(super) const MEDIUM_RULES: &[CheckRule] = &[
    CheckRule::new(CheckId::FileHasHoles, file_has_holes),
    CheckRule::new(CheckId::BlocksNotAllocated, blocks_not_allocated),
    CheckRule::new(CheckId::NeverWritten, mostly_zero_blocks),
    CheckRule::new(CheckId::CompressibleData, compressible_data),
    CheckRule::new(CheckId::MemoryBacked, memory_backed),
];

/// Describes the parts of the window that have no data on the medium.
fn missing_extents(run: &BenchmarkRun) -> Option<MissingExtents> {
    let extents = run.evidence.extents.as_ref()?;
    let missing = extents.hole_bytes + extents.unwritten_bytes;
    (fraction(missing, extents.bytes)? > MISSING_FRACTION_LIMIT).then(|| MissingExtents {
        file: extents.file.clone(),
        bytes: extents.bytes,
        hole_bytes: extents.hole_bytes,
        unwritten_bytes: extents.unwritten_bytes,
    })
}

fn file_has_holes(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let issued = run.evidence.issued?;
    let missing = missing_extents(run)?;
    (issued.read_bytes > issued.written_bytes).then_some(CheckEvidence::FileHasHoles(missing))
}

fn blocks_not_allocated(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let issued = run.evidence.issued?;
    let missing = missing_extents(run)?;
    (issued.written_bytes >= issued.read_bytes && issued.written_bytes > 0)
        .then_some(CheckEvidence::BlocksNotAllocated(missing))
}

fn mostly_zero_blocks(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let sample = run.evidence.block_sample?;
    let reads = run.evidence.issued?.read_bytes > 0;
    let zeros = fraction(u64::from(sample.zero_blocks), u64::from(sample.blocks))?;
    (reads && sample.blocks >= MIN_SAMPLED_BLOCKS && zeros >= ZERO_FRACTION_LIMIT)
        .then_some(CheckEvidence::NeverWritten(sample))
}

fn compressible_data(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let data = run.typed_parameters().compressible_data()?;
    let written_bytes = run.evidence.issued?.written_bytes;
    (written_bytes > 0).then(|| {
        CheckEvidence::CompressibleData(WrittenPattern {
            data: data.into(),
            written_bytes,
        })
    })
}

fn memory_backed(run: &BenchmarkRun) -> Option<CheckEvidence> {
    let memory = run.evidence.drive_setup.as_ref()?.memory_backing.as_ref()?;
    Some(CheckEvidence::MemoryBacked(TargetProperty {
        target: run.target.path.clone(),
        property: memory.clone(),
    }))
}
