//! Checks whether the medium holds data to read, and whether written data resembles real data.

use super::ProvokedBy::{ByIntegrationTest, InVirtualMachine};
use super::{CheckRule, fraction, parameter_word};
use crate::session::document::{BenchmarkRun, FileAllocation, Severity};
use crate::units;

/// Fraction of a file that may be holes or unwritten extents.
const MISSING_FRACTION_LIMIT: f64 = 0.01;
/// Fraction of the sampled blocks that may legitimately hold only zeros.
const ZERO_FRACTION_LIMIT: f64 = 0.5;
/// Below this number of blocks the sample is too small.
const MIN_SAMPLED_BLOCKS: u32 = 16;

pub(super) const MEDIUM_RULES: &[CheckRule] = &[
    CheckRule {
        code: "file-has-holes",
        severity: Severity::Invalid,
        meaning: "Parts of the file have no place on the medium, or were never written: the file \
                system answers zeros from memory.",
        condition: "holes and unwritten extents are more than 1 % of the window that is read, of the \
               target or of the file behind a loop device",
        advice: "write the file in full first, or name a directory: the scratch file has no holes",
        provoked: ByIntegrationTest("holes_and_unwritten_extents_are_flagged"),
        find_evidence: file_has_holes,
    },
    CheckRule {
        code: "blocks-not-allocated",
        severity: Severity::Warning,
        meaning: "Parts of the file have no place on the medium yet: the test also measures how the \
                file system finds one.",
        condition: "holes and unwritten extents are more than 1 % of the window that is written",
        advice: "write the file in full first, or name a directory: the scratch file has no holes",
        provoked: ByIntegrationTest("holes_and_unwritten_extents_are_flagged"),
        find_evidence: blocks_not_allocated,
    },
    CheckRule {
        code: "never-written",
        severity: Severity::Warning,
        meaning: "Blocks that were never written since the last trim are answered from the drive's \
                table, without its memory being read.",
        condition: "of 32 blocks read at random places of a block device before a reading test at least \
               half hold only zeros",
        advice: "write the whole drive once before reading is measured",
        provoked: InVirtualMachine,
        find_evidence: mostly_zero_blocks,
    },
    CheckRule {
        code: "compressible-data",
        severity: Severity::Note,
        meaning: "What was written is not random: a drive, file system or array that compresses or \
                deduplicates writes less than that.",
        condition: "a writing test with --data zero, repeat or a percentage",
        advice: "write random data (the default) unless that is what you want to know",
        provoked: ByIntegrationTest("zero_data_is_flagged"),
        find_evidence: compressible_data,
    },
    CheckRule {
        code: "lies-in-memory",
        severity: Severity::Invalid,
        meaning: "The target is memory and no drive.",
        condition: "the file system is tmpfs or ramfs, or the device is zram, brd or the like",
        advice: "choose a target on a drive",
        provoked: ByIntegrationTest("target_in_memory_is_flagged"),
        find_evidence: memory_backed,
    },
];

/// Describes the parts of the window that have no data on the medium.
fn missing_extents(run: &BenchmarkRun) -> Option<String> {
    let extents = run.evidence.extents.as_ref()?;
    let missing = extents.hole_bytes + extents.unwritten_bytes;
    (fraction(missing, extents.bytes)? > MISSING_FRACTION_LIMIT)
        .then(|| describe_missing(extents, missing))
}

fn describe_missing(extents: &FileAllocation, missing: u64) -> String {
    format!(
        "of {} of {} {} are holes and {} were never written: {}",
        units::format_capacity(extents.bytes as f64),
        extents.file,
        units::format_capacity(extents.hole_bytes as f64),
        units::format_capacity(extents.unwritten_bytes as f64),
        units::format_percent(missing as f64 / extents.bytes as f64)
    )
}

fn file_has_holes(run: &BenchmarkRun) -> Option<String> {
    let asked = run.evidence.issued?;
    missing_extents(run).filter(|_| asked.read_bytes > asked.written_bytes)
}

fn blocks_not_allocated(run: &BenchmarkRun) -> Option<String> {
    let asked = run.evidence.issued?;
    missing_extents(run)
        .filter(|_| asked.written_bytes >= asked.read_bytes && asked.written_bytes > 0)
}

fn mostly_zero_blocks(run: &BenchmarkRun) -> Option<String> {
    let sample = run.evidence.block_sample?;
    let reads = run.evidence.issued?.read_bytes > 0;
    let zeros = fraction(u64::from(sample.zero_blocks), u64::from(sample.blocks))?;
    (reads && sample.blocks >= MIN_SAMPLED_BLOCKS && zeros >= ZERO_FRACTION_LIMIT).then(|| {
        format!(
            "{} of {} blocks at random places hold nothing but zeros",
            sample.zero_blocks, sample.blocks
        )
    })
}

fn compressible_data(run: &BenchmarkRun) -> Option<String> {
    let data = parameter_word(run, "data").filter(|data| *data != "random")?;
    let written = run.evidence.issued?.written_bytes;
    (written > 0).then(|| {
        format!(
            "{} were written with --data {data}",
            units::format_capacity(written as f64)
        )
    })
}

fn memory_backed(run: &BenchmarkRun) -> Option<String> {
    let memory = run.evidence.drive_setup.as_ref()?.memory_backing.as_ref()?;
    Some(format!("{}: {memory}", run.target.path))
}
