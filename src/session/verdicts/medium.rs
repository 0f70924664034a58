//! Whether there is anything to be read, and whether what is written is like real data.

use super::Provoked::{ByTest, InGuest};
use super::{Rule, share, word};
use crate::session::document::{Extents, Run, Severity};
use crate::units;

/// So much of a file may be missing.
const MISSING: f64 = 0.01;
/// So many of the sampled blocks may be zeros by right.
const ZEROS: f64 = 0.5;
/// Fewer blocks are no sample.
const LEAST_BLOCKS: u32 = 16;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "file-has-holes",
        severity: Severity::Invalid,
        means: "Parts of the file have no place on the medium, or were never written: the file \
                system answers zeros from memory.",
        when: "holes and unwritten extents are more than 1 % of the window that is read, of the \
               target or of the file behind a loop device",
        advice: "write the file in full first, or name a directory: the scratch file has no holes",
        provoked: ByTest("holes_and_unwritten_extents_are_told"),
        find: file_has_holes,
    },
    Rule {
        code: "blocks-not-allocated",
        severity: Severity::Warning,
        means: "Parts of the file have no place on the medium yet: the test also measures how the \
                file system finds one.",
        when: "holes and unwritten extents are more than 1 % of the window that is written",
        advice: "write the file in full first, or name a directory: the scratch file has no holes",
        provoked: ByTest("holes_and_unwritten_extents_are_told"),
        find: blocks_not_allocated,
    },
    Rule {
        code: "never-written",
        severity: Severity::Warning,
        means: "Blocks that were never written since the last trim are answered from the drive's \
                table, without its memory being read.",
        when: "of 32 blocks read at random places of a block device before a reading test at least \
               half hold only zeros",
        advice: "write the whole drive once before reading is measured",
        provoked: InGuest,
        find: never_written,
    },
    Rule {
        code: "compressible-data",
        severity: Severity::Note,
        means: "What was written is not random: a drive, file system or array that compresses or \
                deduplicates writes less than that.",
        when: "a writing test with --data zero, repeat or a percentage",
        advice: "write random data (the default) unless that is what you want to know",
        provoked: ByTest("zeros_are_no_data"),
        find: compressible_data,
    },
    Rule {
        code: "lies-in-memory",
        severity: Severity::Invalid,
        means: "The target is memory and no drive.",
        when: "the file system is tmpfs or ramfs, or the device is zram, brd or the like",
        advice: "choose a target on a drive",
        provoked: ByTest("memory_is_no_drive"),
        find: lies_in_memory,
    },
];

/// What of the window is not on the medium, in words.
fn missing(run: &Run) -> Option<String> {
    let extents = run.evidence.extents.as_ref()?;
    let missing = extents.hole_bytes + extents.unwritten_bytes;
    (share(missing, extents.bytes)? > MISSING).then(|| describe(extents, missing))
}

fn describe(extents: &Extents, missing: u64) -> String {
    format!(
        "of {} of {} {} are holes and {} were never written: {}",
        units::capacity(extents.bytes as f64),
        extents.file,
        units::capacity(extents.hole_bytes as f64),
        units::capacity(extents.unwritten_bytes as f64),
        units::percent(missing as f64 / extents.bytes as f64)
    )
}

fn file_has_holes(run: &Run) -> Option<String> {
    let asked = run.evidence.asked?;
    missing(run).filter(|_| asked.read_bytes > asked.written_bytes)
}

fn blocks_not_allocated(run: &Run) -> Option<String> {
    let asked = run.evidence.asked?;
    missing(run).filter(|_| asked.written_bytes >= asked.read_bytes && asked.written_bytes > 0)
}

fn never_written(run: &Run) -> Option<String> {
    let sample = run.evidence.sample?;
    let reads = run.evidence.asked?.read_bytes > 0;
    let zeros = share(u64::from(sample.zero_blocks), u64::from(sample.blocks))?;
    (reads && sample.blocks >= LEAST_BLOCKS && zeros >= ZEROS).then(|| {
        format!(
            "{} of {} blocks at random places hold nothing but zeros",
            sample.zero_blocks, sample.blocks
        )
    })
}

fn compressible_data(run: &Run) -> Option<String> {
    let data = word(run, "data").filter(|data| *data != "random")?;
    let written = run.evidence.asked?.written_bytes;
    (written > 0).then(|| {
        format!(
            "{} were written with --data {data}",
            units::capacity(written as f64)
        )
    })
}

fn lies_in_memory(run: &Run) -> Option<String> {
    let memory = run.evidence.setup.as_ref()?.memory.as_ref()?;
    Some(format!("{}: {memory}", run.target.path))
}
