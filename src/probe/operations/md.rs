//! Resync, check and reshape of Linux software RAID (kernel Documentation/admin-guide/md.rst,
//! `sync_action`, `sync_completed`).

use super::operation::{OperationKind, OperationProgress, OperationSample, SECTOR};
use crate::probe::sample::DiskCounters;
use crate::probe::text::{parse_number, read_word};
use crate::roots::SysPaths;

/// The arrays that are being synchronised.
pub(super) fn operations(roots: &SysPaths, disks: &[DiskCounters]) -> Vec<OperationSample> {
    let arrays = disks.iter().filter(|disk| disk.name.starts_with("md"));
    arrays
        .filter_map(|disk| {
            let directory = roots.sys.join("class/block").join(&disk.name).join("md");
            let kind = parse_action(&read_word(&directory.join("sync_action"))?)?;
            let completed = read_word(&directory.join("sync_completed"));
            let limit = read_word(&directory.join("sync_speed_max"));
            let progress = parse_completed(completed.as_deref()?)?;
            Some(OperationSample {
                device: Some(disk.device_number),
                limit_bytes_per_s: limit.as_deref().and_then(parse_speed_limit),
                ..OperationSample::new(kind, disk.name.as_bytes(), progress)
            })
        })
        .collect()
}

/// `sync_action`; `None` while nothing runs.
fn parse_action(word: &str) -> Option<OperationKind> {
    Some(match word {
        "resync" => OperationKind::Resync,
        "recover" => OperationKind::Rebuild,
        "check" => OperationKind::Check,
        "repair" => OperationKind::Repair,
        "reshape" => OperationKind::Reshape,
        _ => return None,
    })
}

/// `sync_completed`: sectors done and in total, or `delayed` while another array on the same disks
/// is synchronised; `none` shortly before and after.
#[must_use]
pub fn parse_completed(text: &str) -> Option<OperationProgress> {
    if text == "delayed" {
        return Some(OperationProgress::Waiting);
    }
    let (done, total) = text.split_once(" / ")?;
    let bytes = |sectors: &str| parse_number(sectors.as_bytes())?.checked_mul(SECTOR);
    Some(OperationProgress::bytes(bytes(done)?, bytes(total)?))
}

/// `sync_speed_max` in bytes per second, such as `200000 (system)` KiB.
#[must_use]
pub fn parse_speed_limit(text: &str) -> Option<u64> {
    let number = text.split(' ').next()?;
    parse_number(number.as_bytes())?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(files: &[(&str, &str)]) -> Vec<OperationSample> {
        let root = tempfile::tempdir().unwrap();
        let directory = root.path().join("sys/class/block/md127/md");
        std::fs::create_dir_all(&directory).unwrap();
        for (name, text) in files {
            std::fs::write(directory.join(name), format!("{text}\n")).unwrap();
        }
        let disk = |name: &str| DiskCounters {
            name: name.to_owned(),
            device_number: (9, 127),
            ..DiskCounters::default()
        };
        // A partition of an array has no directory `md`.
        let disks = [disk("sda"), disk("md127"), disk("md127p1")];
        operations(&SysPaths::under_root(root.path()), &disks)
    }

    #[test]
    fn check_of_an_array_has_its_position_and_limit() {
        let found = array(&[
            ("sync_action", "check"),
            ("sync_completed", "5632 / 1046528"),
            ("sync_speed_max", "200000 (system)"),
        ]);
        let expected = OperationSample {
            kind: OperationKind::Check,
            subject: b"md127".to_vec(),
            pid: None,
            device: Some((9, 127)),
            progress: OperationProgress::Done {
                done: 5632 * 512,
                total: 1_046_528 * 512,
                unit: crate::probe::operations::WorkUnit::Bytes,
            },
            limit_bytes_per_s: Some(204_800_000),
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn idle_array_and_array_without_redundancy_have_no_operation() {
        let idle = [("sync_action", "idle"), ("sync_completed", "none")];
        assert_eq!(array(&idle), []);
        assert_eq!(array(&[("level", "raid0")]), []);
        assert_eq!(array(&[("sync_action", "frozen")]), []);
    }

    #[test]
    fn array_waits_for_another_one_on_the_same_disks() {
        let found = array(&[("sync_action", "resync"), ("sync_completed", "delayed")]);
        assert_eq!(found[0].progress, OperationProgress::Waiting);
        assert_eq!(found[0].limit_bytes_per_s, None);
    }

    #[test]
    fn damaged_files_of_an_array_are_ignored() {
        for text in ["", "1 /", "1/2", "x / y", "18446744073709551615 / 1"] {
            assert_eq!(parse_completed(text), None, "{text:?}");
        }
    }
}
