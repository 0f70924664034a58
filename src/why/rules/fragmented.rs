//! A file that is read in order lies in many pieces on a rotational disk, which seeks between them.
//!
//! A disk of 7200 rpm takes about 12 ms for a seek and half a revolution, and reads some 150 MB/s from
//! its tracks. A piece of that product, 1.8 MB, takes as long to reach as to read.

use super::prelude::*;

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
/// Fraction of the time for which the reader has to wait: otherwise nobody notices.
const MIN_BLOCKED: f64 = 0.5;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    if analysis.facts().is_none() {
        return Examination::NotExamined(NotExamined::NotRecorded);
    }
    let cause = cause(analysis).into_iter().collect();
    Examination::of(cause, || {
        let file = analysis.window.looks.read_file.iter();
        let pieces = |it: &crate::probe::files::layout::FileLayout| {
            Evidence::of(&SafeText::from(&it.path), PIECES, it.pieces as f64)
        };
        file.map(pieces).collect()
    })
}

fn cause(analysis: &Analysis<'_>) -> Option<Cause> {
    let layout = analysis.window.looks.read_file.as_ref()?;
    let drives = &analysis.last.drives;
    let drive = drives.iter().find(|it| it.number == layout.device_number)?;
    let name = drive.parent.as_deref().unwrap_or(&drive.name);
    let device = analysis.device(name).filter(|device| device.rotates)?;
    let mut waiting = analysis.blocked_on(device, MIN_BLOCKED).into_iter();
    let waiter = waiting.find(|it| it.pid == layout.pid)?;
    let piece = layout.bytes as f64 / layout.pieces.max(1) as f64;
    let read_size = device.read_bytes / device.read_iops;
    let is_in_pieces = layout.pieces >= MIN_PIECES && piece <= MAX_PIECE;
    let seeks = device
        .read_await
        .is_some_and(|latency| latency >= SEEK_LATENCY);
    if !is_in_pieces || !seeks || read_size > piece * READ_OF_PIECE {
        return None;
    }
    let (name, path) = (&device.name, SafeText::from(&layout.path));
    let mut cause = analysis.cause(Severity::Warning).confirmed().on(name);
    cause.prove(&path, PIECES, layout.pieces as f64);
    cause.prove(&path, PIECE_SIZE, piece);
    cause.prove(name, READ_AWAIT, device.read_await);
    cause.prove(name, READ_SIZE, read_size);
    cause.prove(name, THROUGHPUT, device.read_bytes);
    suffer(&mut cause, &[waiter]);
    cause.remedies.push(Remedy::advice(format!(
        "copy {path} while nobody writes it, where the file system has enough room in one place, and rename the copy; e4defrag of ext4 and xfs_fsr of XFS do it in place"
    )));
    cause.sentence = format!(
        "{} reads {path} in pieces of {}, and {name}, a rotational disk, seeks between them: {} per read at {}.",
        victim(&cause, "A process"),
        units::format_capacity(piece),
        units::format_latency(device.read_await.unwrap_or(0.0)),
        units::format_throughput(device.read_bytes)
    );
    cause.file = Some(path);
    Some(cause)
}
