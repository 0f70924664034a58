//! Scrub and resilver of ZFS pools, from zpool-status(8): no counter of the kernel tells how far they
//! are.
//!
//! zpool runs beside the samples and is never waited for: it hangs while a pool is suspended.

use std::fs;
use std::sync::mpsc::{Receiver, TryRecvError};
use std::time::Duration;

use super::operation::{OperationKind, OperationProgress, OperationSample, WorkUnit};
use super::sources::OperationSources;
use crate::drive::stores;
use crate::roots::SysPaths;

/// Time between two calls: a scan takes hours.
const CALL_INTERVAL: Duration = Duration::from_secs(5);
/// A share is told in hundredths of a percent.
const WHOLE: u64 = 10_000;

/// Calls zpool from time to time, and remembers its last answer.
#[derive(Debug, Default)]
pub(super) struct ScanReader {
    /// Another program than the installed one.
    program: Option<String>,
    call: Option<Receiver<Vec<u8>>>,
    called_at: Option<Duration>,
    scans: Vec<OperationSample>,
}

impl ScanReader {
    /// The scans of all pools, as zpool last told them.
    pub(super) fn operations(
        &mut self,
        sources: &OperationSources<'_>,
        at: Duration,
    ) -> Vec<OperationSample> {
        if !has_pools(sources.roots) {
            self.scans.clear();
            return Vec::new();
        }
        self.update(at);
        self.scans.clone()
    }

    fn update(&mut self, at: Duration) {
        if let Some(call) = &self.call {
            match call.try_recv() {
                Ok(answer) => self.scans = parse_status(&answer),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => self.scans.clear(),
            }
            self.call = None;
        }
        let is_due = |called: Duration| at.saturating_sub(called) >= CALL_INTERVAL;
        if self.called_at.is_none_or(is_due) {
            self.called_at = Some(at);
            let program = self.program.as_deref().unwrap_or("zpool");
            self.call = stores::start_program(program, &["status"]);
        }
    }
}

/// Whether a pool is imported: each has a directory with its state.
fn has_pools(roots: &SysPaths) -> bool {
    fs::read_dir(roots.proc.join("spl/kstat/zfs"))
        .into_iter()
        .flatten()
        .flatten()
        .any(|entry| entry.path().join("state").exists())
}

/// The scans that run, from the output of `zpool status`.
#[must_use]
pub fn parse_status(text: &[u8]) -> Vec<OperationSample> {
    let text = String::from_utf8_lossy(text);
    let mut found = Vec::new();
    let (mut pool, mut running) = ("", None);
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("pool: ") {
            (pool, running) = (name, None);
        } else if let Some(scan) = line.strip_prefix("scan: ") {
            running = match scan.split_once(" in progress ") {
                Some(("scrub", _)) => Some(OperationKind::Scrub),
                Some(("resilver", _)) => Some(OperationKind::Rebuild),
                _ => None,
            };
        } else if let Some(done) = done_basis_points(line)
            && let Some(kind) = running.take()
        {
            let (total, unit) = (WHOLE, WorkUnit::BasisPoints);
            let progress = OperationProgress::Done { done, total, unit };
            found.push(OperationSample::new(kind, pool.as_bytes(), progress));
        }
    }
    found
}

/// The share in a line such as `0B repaired, 26.04% done, 00:55:00 to go`.
fn done_basis_points(line: &str) -> Option<u64> {
    let (before, _) = line.split_once("% done")?;
    let percent: f64 = before.rsplit(' ').next()?.parse().ok()?;
    let is_share = (0.0..=100.0).contains(&percent);
    is_share.then(|| (percent * WHOLE as f64 / 100.0).round() as u64)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// As OpenZFS 2.1 prints it (cmd/zpool/zpool_main.c, `print_scan_scrub_resilver_status`).
    const STATUS: &str = "  pool: backup\n state: ONLINE\n  scan: scrub repaired 0B in 01:02:03 with 0 errors on Sun Nov  8 01:26:04 2026\nconfig:\n\n\
        \tNAME  STATE  READ WRITE CKSUM\n\n  pool: tank\n state: ONLINE\n  scan: scrub in progress since Sun Nov 22 10:00:00 2026\n\
        \t1.20T scanned at 1.10G/s, 800G issued at 700M/s, 3.00T total\n\t0B repaired, 26.04% done, 00:55:00 to go\nconfig:\n\n\
        \x20 pool: vault\n  scan: resilver in progress since Sun Nov 22 10:00:00 2026\n\
        \t10G scanned at 1G/s, 9G issued at 700M/s, 3.00T total\n\t9G resilvered, 0.30% done, no estimated completion time\n\
        \x20 pool: old\n  scan: scrub paused since Sun Nov 22 10:00:00 2026\n\tscrub started on Sun Nov 22 09:00:00 2026\n\t0B repaired, 5.00% done\n";

    fn scan(pool: &str, kind: OperationKind, done: u64) -> OperationSample {
        let (total, unit) = (WHOLE, WorkUnit::BasisPoints);
        let progress = OperationProgress::Done { done, total, unit };
        OperationSample::new(kind, pool.as_bytes(), progress)
    }

    #[test]
    fn running_scrub_and_resilver_have_their_share() {
        let expected = [
            scan("tank", OperationKind::Scrub, 2604),
            scan("vault", OperationKind::Rebuild, 30),
        ];
        assert_eq!(parse_status(STATUS.as_bytes()), expected);
        assert_eq!(parse_status(b"no pools available\n"), []);
    }

    #[test]
    fn share_is_read_with_any_number_of_digits() {
        for (share, expected) in [
            ("7", Some(700)),
            ("7.5", Some(750)),
            ("7.514", Some(751)),
            ("-", None),
            ("NaN", None),
            ("99999999999999999999", None),
        ] {
            let line = format!("0B repaired, {share}% done");
            assert_eq!(done_basis_points(&line), expected, "{share}");
        }
    }

    #[test]
    fn program_is_called_beside_the_samples_and_its_last_answer_stays() {
        let (root, roots) = SysPaths::with_files(&[("proc/spl/kstat/zfs/tank/state", "ONLINE\n")]);
        let program = root.path().join("zpool");
        std::fs::write(root.path().join("status"), STATUS).unwrap();
        let script = format!("#!/bin/sh\ncat {}/status\n", root.path().display());
        std::fs::write(&program, script).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let mut reader = ScanReader {
            program: Some(program.to_string_lossy().into_owned()),
            ..ScanReader::default()
        };
        let sources = OperationSources {
            roots: &roots,
            disks: &[],
            file_systems: &[],
            processes: &[],
        };
        let limit = std::time::Instant::now() + Duration::from_secs(20);
        let mut found = Vec::new();
        while found.is_empty() && std::time::Instant::now() < limit {
            found = reader.operations(&sources, Duration::from_secs(1));
            std::thread::yield_now();
        }
        assert_eq!(found.len(), 2, "{found:?}");
        assert_eq!(found[0].subject, b"tank");
        // The next call is due later.
        assert_eq!(reader.operations(&sources, Duration::from_secs(2)), found);
        assert!(reader.call.is_none());
        std::fs::remove_file(root.path().join("proc/spl/kstat/zfs/tank/state")).unwrap();
        assert_eq!(reader.operations(&sources, Duration::from_secs(3)), []);
    }
}
