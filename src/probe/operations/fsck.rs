//! Progress of e2fsck as it reports it itself: `-C FD` (e2fsck(8)).

use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

use rustix::fs::OFlags;

use super::operation::{OperationProgress, WorkUnit};
use crate::probe::process::open_files::open_foreign_descriptor;
use crate::probe::text::{parse_number, split_fields};

/// Share of the time, in percent, at the end of each pass (e2fsck/unix.c, `e2fsck_tbl`).
const PASS_ENDS: [u64; 6] = [0, 70, 90, 92, 95, 100];
/// The last line of the report is within this many bytes.
const TAIL_BYTES: u64 = 512;

/// The descriptor after `-C`; `None` without it, and for 0, a progress bar on the terminal.
#[must_use]
pub fn progress_descriptor(arguments: &[Vec<u8>]) -> Option<u64> {
    let at = arguments
        .iter()
        .position(|argument| argument.starts_with(b"-C"))?;
    let attached = &arguments[at][2..];
    let number = if attached.is_empty() {
        arguments.get(at + 1)?.as_slice()
    } else {
        attached
    };
    parse_number(number).filter(|descriptor| *descriptor > 0)
}

/// The progress in a report that is written to a file; a pipe belongs to its reader.
pub(super) fn read_report(descriptor: &Path) -> Option<OperationProgress> {
    let kind = std::fs::metadata(descriptor).ok()?;
    if !kind.is_file() || kind.file_type().is_fifo() {
        return None;
    }
    let file = open_foreign_descriptor(descriptor, OFlags::empty()).ok()?;
    let from = kind.len().saturating_sub(TAIL_BYTES);
    let mut tail = vec![0; usize::try_from(kind.len() - from).ok()?];
    let read = file.read_at(&mut tail, from).ok()?;
    parse_report(&tail[..read])
}

/// The last complete line: pass, units done, units of the pass, device.
#[must_use]
pub fn parse_report(text: &[u8]) -> Option<OperationProgress> {
    let end = text.iter().rposition(|byte| *byte == b'\n')?;
    let line = text[..end].rsplit(|byte| *byte == b'\n').next()?;
    let mut words = split_fields(line).map(parse_number);
    let (pass, done, total) = (words.next()??, words.next()??, words.next()??);
    let pass = usize::try_from(pass).ok()?;
    let begin = *PASS_ENDS.get(pass.checked_sub(1)?)?;
    let share = PASS_ENDS.get(pass)?.checked_sub(begin)?;
    if total == 0 || done > total {
        return None;
    }
    let within = u128::from(done) * u128::from(share * 100) / u128::from(total);
    Some(OperationProgress::Done {
        done: begin * 100 + u64::try_from(within).ok()?,
        total: 10_000,
        unit: WorkUnit::BasisPoints,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(words: &[&str]) -> Option<u64> {
        let words: Vec<Vec<u8>> = words.iter().map(|word| word.as_bytes().to_vec()).collect();
        progress_descriptor(&words)
    }

    fn points(text: &str) -> Option<u64> {
        match parse_report(text.as_bytes())? {
            OperationProgress::Done { done, total, unit } => {
                assert_eq!((total, unit), (10_000, WorkUnit::BasisPoints));
                Some(done)
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn descriptor_follows_the_option() {
        assert_eq!(arguments(&["-f", "-C", "3", "/dev/sdb1"]), Some(3));
        assert_eq!(arguments(&["-fy", "-C3", "/dev/sdb1"]), Some(3));
        assert_eq!(arguments(&["-C0", "/dev/sdb1"]), None);
        assert_eq!(arguments(&["-C", "-1", "/dev/sdb1"]), None);
        assert_eq!(arguments(&["/dev/sdb1"]), None);
    }

    #[test]
    fn report_is_weighted_by_pass() {
        assert_eq!(points("1 0 16 /dev/sdb1\n1 8 16 /dev/sdb1\n"), Some(3500));
        assert_eq!(points("2 50 100 /dev/sdb1\n"), Some(8000));
        assert_eq!(points("5 3 3 /dev/sdb1\n"), Some(10_000));
        // The last line is not complete yet.
        assert_eq!(points("1 8 16 /dev/sdb1\n1 1"), Some(3500));
    }

    #[test]
    fn damaged_report_has_no_position() {
        for text in [
            "",
            "\n",
            "0 1 2 x\n",
            "6 1 2 x\n",
            "1 3 2 x\n",
            "1 0 0 x\n",
            "1 2\n",
        ] {
            assert_eq!(points(text), None, "{text:?}");
        }
        assert_eq!(points("99999999999999999999 1 2 x\n"), None);
    }
}
