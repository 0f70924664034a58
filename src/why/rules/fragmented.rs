//! A file that is read in order lies in many pieces on a rotational disk, which seeks between them.
//!
//! A disk of 7200 rpm takes about 12 ms for a seek and half a revolution, and reads some 150 MB/s from
//! its tracks. A piece of that product, 1.8 MB, takes as long to reach as to read.

use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::probe::files::layout::FileLayout;
use crate::units;
use crate::why::analysis::{Analysis, DeviceSummary, Waiter};
use crate::why::blame::parties;
use crate::why::cause::{Cause, NotExamined, Remedy, Severity};
use crate::why::device_load::latency_text;
use crate::why::evidence::{
    BLOCKED, DISKSTATS, Evidence, Metric, READ_AWAIT, THROUGHPUT, UTILIZATION, bytes, count,
};
use crate::why::parties::{victim, who_waits};
use crate::why::remedies::exact_path;
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "fragmented",
    explains: &[],
    examine,
};

/// Mean size in bytes of a piece up to which a disk spends most of its time with seeks: two thirds of
/// it at this size.
const MAX_PIECE: f64 = 1e6;
/// A file with fewer pieces is read with few seeks in all.
const MIN_PIECES: u64 = 32;
/// Mean size of the reads compared with that of the pieces up to which the pieces are what keeps the
/// reads small: read-ahead asks for more where a file continues.
const READ_OF_PIECE: f64 = 1.5;
/// Mean latency of a read in nanoseconds from which the disk seeks or waits for the rotation: half a
/// revolution at 7200 rpm takes 4.2 ms, a read from the track that is being read less than 1 ms.
const SEEK_LATENCY: f64 = 4e6;
/// Fraction of the time in which the disk is busy with that.
const MIN_BUSY: f64 = 0.5;
/// Fraction of the time for which the reader has to wait: otherwise nobody notices.
const MIN_BLOCKED: f64 = 0.5;
/// Share of the reads of the device that the reader needs: otherwise the seeks are to the files of
/// others.
const MIN_SHARE: f64 = 0.5;

/// Pieces in which a file lies on its device: extents that do not continue each other; and their mean size.
const PIECES: Metric = count("pieces", "pieces", "FIEMAP");
const PIECE_SIZE: Metric = bytes("piece_size", "mean size of a piece", "FIEMAP");
/// Mean size of the reads.
const READ_SIZE: Metric = bytes("rareq-sz", "rareq-sz", DISKSTATS);

fn examine(analysis: &Analysis<'_>) -> Examination {
    if analysis.window.facts.is_none() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let layouts = &analysis.window.read_files;
    let causes = layouts
        .iter()
        .filter_map(|layout| cause(analysis, layout))
        .collect();
    Examination::of(causes, || {
        let most = layouts.iter().max_by_key(|layout| layout.pieces);
        let pieces = most.map(|layout| {
            let path = SafeText::from(&layout.path);
            Evidence::of(&path, PIECES, layout.pieces as f64)
        });
        pieces.into_iter().collect()
    })
}

fn cause(analysis: &Analysis<'_>, layout: &FileLayout) -> Option<Cause> {
    let device = device_of(analysis, layout)?;
    let name = &device.name;
    let piece = layout.bytes as f64 / layout.pieces.max(1) as f64;
    let is_in_pieces = layout.pieces >= MIN_PIECES && piece <= MAX_PIECE;
    let reader = analysis.process(layout.pid)?;
    let waiter = waiting_reader(analysis, device, layout.pid)?;
    let is_its_own = reader.read_bytes >= device.read_bytes * MIN_SHARE;
    if !is_in_pieces || !is_its_own || !seeks(device, piece) {
        return None;
    }
    let path = SafeText::from(&layout.path);
    let cause = analysis.cause(RULE.code, Severity::Warning);
    let mut cause = cause.confirmed().on(name);
    cause.prove(&path, PIECES, layout.pieces as f64);
    cause.prove(&path, PIECE_SIZE, piece);
    cause.prove(name, READ_AWAIT, device.read_await);
    cause.prove(name, READ_SIZE, read_size(device));
    cause.prove(name, UTILIZATION, device.busy);
    cause.prove(name, THROUGHPUT, device.read_bytes);
    cause.prove(&waiter.command, BLOCKED, waiter.blocked);
    cause.victims = parties(&[waiter]);
    let program = program(analysis, layout).filter(|_| layout.path_is_valid_here);
    cause.remedies.push(defragment(&path, program));
    let latency = device.read_await.map(units::format_latency);
    cause.sentence = format!(
        "{} reads {path} in pieces of {}, and {name}, a rotational disk, seeks between them: {} per read at {}.",
        victim(&cause, "A process"),
        units::format_capacity(piece),
        latency.unwrap_or_default(),
        units::format_throughput(device.read_bytes)
    );
    let (who, latency) = (who_waits(&cause), latency_text(device));
    cause.headline = format!("{who}{latency} on {name}: {path} lies in many pieces");
    cause.file = Some(path);
    Some(cause)
}

/// A copy of a file that lies in one piece, by the program of its file system where it has one.
fn defragment(path: &SafeText, program: Option<&str>) -> Remedy {
    let command = program
        .zip(exact_path(path))
        .and_then(|(program, path)| shell::command_line([program, "--", path]));
    Remedy::command_or(
        command,
        "rewrites the file in few pieces, where the file system has enough room in one place",
        format!(
            "copy {path} while nobody writes it, where the file system has enough room in one place, and rename the copy"
        ),
    )
}

/// The rotational device that a file lies on: the drive of a partition.
fn device_of<'a>(analysis: &'a Analysis<'_>, layout: &FileLayout) -> Option<&'a DeviceSummary> {
    let drives = &analysis.last().drives;
    let drive = drives.iter().find(|it| it.number == layout.device_number)?;
    let name = drive.parent.as_deref().unwrap_or(&drive.name);
    analysis.device(name).filter(|device| device.rotates)
}

fn waiting_reader<'a>(
    analysis: &'a Analysis<'_>,
    device: &'a DeviceSummary,
    pid: u32,
) -> Option<&'a Waiter> {
    let mut waiters = analysis.waiters_on(&device.name, MIN_BLOCKED);
    waiters.find(|waiter| waiter.pid == pid)
}

/// Whether a device is busy with small reads that each cost a seek.
fn seeks(device: &DeviceSummary, piece: f64) -> bool {
    device.busy >= MIN_BUSY
        && device
            .read_await
            .is_some_and(|latency| latency >= SEEK_LATENCY)
        && read_size(device).is_some_and(|size| size <= piece * READ_OF_PIECE)
}

/// Mean size of the reads in bytes.
fn read_size(device: &DeviceSummary) -> Option<f64> {
    (device.read_iops > 0.0).then(|| device.read_bytes / device.read_iops)
}

/// The program that defragments a file of this file system while it is used.
fn program(analysis: &Analysis<'_>, layout: &FileLayout) -> Option<&'static str> {
    let systems = analysis.last().file_systems.iter();
    let mut own = systems.filter(|it| it.device_id == layout.device_number);
    match own.next()?.kind.as_str() {
        "ext4" => Some("e4defrag"),
        "xfs" => Some("xfs_fsr"),
        _ => None,
    }
}
