//! Which other processes moved bytes during a run, where their requests were not seen one by one.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::strangers::{command, sort};
use crate::drive::mounts::split_number;
use crate::probe::process;
use crate::probe::text::read;
use crate::roots::Roots;
use crate::session::document::{OtherUser, Witness};

/// Less than this is not worth a name.
const LEAST_BYTES: u64 = 64 << 10;

/// What a process had moved, and since when it lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Account {
    began: u64,
    read: u64,
    written: u64,
}

/// The accounts of all processes at the start of a run.
#[derive(Debug)]
pub struct Neighbours {
    roots: Roots,
    at_start: HashMap<u32, Account>,
}

impl Neighbours {
    /// Takes the accounts of this moment as the start. Those of others' processes are root's to see.
    #[must_use]
    pub fn new(roots: &Roots) -> Self {
        Self {
            roots: roots.clone(),
            at_start: accounts(roots),
        }
    }

    /// Who moved bytes since the start: first those that have one of these block devices or a file on
    /// it open, or some of whose requests were `seen` there, then the others, the greediest first. A
    /// process that began and ended meanwhile and was not seen is missing.
    #[must_use]
    pub fn since_start(&self, devices: &[(u32, u32)], seen: Vec<OtherUser>) -> Vec<OtherUser> {
        let moved = |(pid, now): (u32, Account)| {
            let before = self.at_start.get(&pid).filter(|it| it.began == now.began);
            let since = |now: u64, before: Option<u64>| now.saturating_sub(before.unwrap_or(0));
            let read_bytes = since(now.read, before.map(|it| it.read));
            let written_bytes = since(now.written, before.map(|it| it.written));
            (read_bytes + written_bytes >= LEAST_BYTES).then(|| OtherUser {
                pid,
                command: command(&self.roots.proc, pid).unwrap_or_default().into(),
                read_bytes,
                written_bytes,
                witness: match has_open(&self.roots.proc.join(pid.to_string()), devices) {
                    true => Witness::HasItOpen,
                    false => Witness::SomeDrive,
                },
            })
        };
        let now = accounts(&self.roots);
        let mut others: Vec<OtherUser> = now.into_iter().filter_map(moved).collect();
        for stranger in seen {
            match others.iter_mut().find(|other| other.pid == stranger.pid) {
                // A part was seen: all of it is more, but may have gone elsewhere.
                Some(other) => other.witness = Witness::HasItOpen,
                None => others.push(stranger),
            }
        }
        sort(&mut others);
        others.sort_by_key(|other| other.witness == Witness::SomeDrive);
        others
    }
}

fn accounts(roots: &Roots) -> HashMap<u32, Account> {
    let own = std::process::id();
    fs::read_dir(&roots.proc)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
        .filter(|pid| *pid != own)
        .filter_map(|pid| Some((pid, account(&roots.proc.join(pid.to_string()))?)))
        .collect()
}

fn account(process: &Path) -> Option<Account> {
    let io = process::io(&read(&process.join("io"))?)?;
    let began = process::stat(&read(&process.join("stat"))?)?.start_ticks;
    Some(Account {
        began,
        read: io.read,
        written: io.written.saturating_sub(io.cancelled),
    })
}

/// Whether a process has one of these block devices, or a file on it, open.
fn has_open(process: &Path, devices: &[(u32, u32)]) -> bool {
    let descriptors = fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .flatten();
    descriptors
        .filter_map(|entry| fs::metadata(entry.path()).ok())
        .any(|about| {
            let kind = about.file_type();
            let number = match kind.is_block_device() {
                true => about.rdev(),
                false if kind.is_file() => about.dev(),
                false => return false,
            };
            devices.contains(&split_number(number))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(roots: &Roots, pid: u32, began: u64, read: u64, written: u64) {
        let directory = roots.proc.join(pid.to_string());
        fs::create_dir_all(directory.join("fd")).unwrap();
        let io = format!(
            "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {read}\nwrite_bytes: {written}\n\
             cancelled_write_bytes: 0\n"
        );
        fs::write(directory.join("io"), io).unwrap();
        let zeros = "0 ".repeat(17);
        let stat = format!("{pid} (x) S 1 {zeros}{began} 0 0 0\n");
        fs::write(directory.join("stat"), stat).unwrap();
        fs::write(directory.join("comm"), format!("name{pid}\n")).unwrap();
    }

    #[test]
    fn who_moved_bytes_since_the_start_is_named() {
        let root = tempfile::tempdir().unwrap();
        let roots = Roots::below(root.path());
        let mib = 1 << 20;
        process(&roots, 10, 100, 50 * mib, 0);
        process(&roots, 11, 100, 7 * mib, 0);
        process(&roots, 12, 100, 9 * mib, 0);
        let neighbours = Neighbours::new(&roots);
        process(&roots, 10, 100, 50 * mib, 1000);
        process(&roots, 11, 100, 8 * mib, 2 * mib);
        // Another process under a number that was free again.
        process(&roots, 12, 500, 6 * mib, 0);
        let file = root.path().join("open");
        fs::write(&file, "x").unwrap();
        std::os::unix::fs::symlink(&file, roots.proc.join("11/fd/3")).unwrap();
        let device = split_number(fs::metadata(&file).unwrap().dev());
        let gone = OtherUser {
            pid: 99,
            command: "gone".into(),
            read_bytes: 2 * mib,
            written_bytes: 0,
            witness: Witness::Traced,
        };
        let told: Vec<_> = neighbours
            .since_start(&[device], vec![gone])
            .into_iter()
            .map(|it| {
                (
                    it.command,
                    it.read_bytes / mib,
                    it.written_bytes / mib,
                    it.witness,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                ("name11".into(), 1, 2, Witness::HasItOpen),
                ("gone".into(), 2, 0, Witness::Traced),
                ("name12".into(), 6, 0, Witness::SomeDrive),
            ]
        );
    }
}
