//! Other processes with I/O during a run, where their requests could not be traced: by their counters
//! before and after it, as the live screen reads them.
//!
//! The counters of a process contain those of the children that it has waited for (kernel/exit.c,
//! `wait_task_zombie`). With root the kernel reports each ended thread, and they are told apart; otherwise a
//! process that has waited for children is listed as one whose children may have done it.

use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use super::request_stages::sort_users;
use crate::drive::mounts::split_device_number;
use crate::files::safe_text::SafeText;
use crate::probe::interval::SampleInterval;
use crate::probe::sample::ProcessIo;
use crate::probe::{SampleCollector, SystemSample};
use crate::roots::SysPaths;
use crate::session::document::{Attribution, OtherUser};

/// Processes with fewer bytes are not reported.
const MIN_REPORTED_BYTES: u64 = 64 << 10;

/// The I/O of all processes from the start of a run on.
#[derive(Debug)]
pub struct CompetingProcesses {
    roots: SysPaths,
    collector: SampleCollector,
    at_start: SystemSample,
}

impl CompetingProcesses {
    /// Reads the counters now, as the start. Those of other users' processes are readable only by
    /// root.
    #[must_use]
    pub fn new(roots: &SysPaths) -> Self {
        let mut collector = SampleCollector::new(roots.clone());
        Self {
            roots: roots.clone(),
            at_start: collector.collect(),
            collector,
        }
    }

    /// Processes with I/O since the start. First come those that have one of these block devices or
    /// a file on it open, or some of whose requests were traced there (`seen`), then the others,
    /// each group sorted by bytes, largest first. Without root a process that began and ended in
    /// between is missing, or in the counters of its parent.
    #[must_use]
    pub fn users_since_start(
        &mut self,
        devices: &[(u32, u32)],
        seen: Vec<OtherUser>,
    ) -> Vec<OtherUser> {
        let now = self.collector.collect();
        let pairs = SampleInterval::new(Some(&self.at_start), &now).process_pairs;
        let running = pairs.iter().filter_map(|pair| {
            let identity = &pair.current.identity;
            let directory = self.roots.proc.join(identity.pid.to_string());
            let attribution = if pair.includes_ended_children() {
                Attribution::EndedChildren
            } else if has_device_open(&directory, devices) {
                Attribution::HasOpenDescriptor
            } else {
                Attribution::AnyDrive
            };
            other_user(
                identity.pid,
                &identity.name,
                &pair.io_delta()?.0,
                attribution,
            )
        });
        let ended = now.exit_records.iter();
        let ended = ended.filter_map(|process| {
            other_user(
                process.pid,
                &process.name,
                &process.io,
                Attribution::AnyDrive,
            )
        });
        let mut others: Vec<OtherUser> = running.chain(ended).collect();
        for traced in seen {
            match others.iter_mut().find(|other| other.pid == traced.pid) {
                // Some of its requests were traced. The total is higher, but may have gone to other
                // devices, or be that of its children.
                Some(other) if other.attribution == Attribution::AnyDrive => {
                    other.attribution = Attribution::HasOpenDescriptor;
                }
                Some(_) => {}
                None => others.push(traced),
            }
        }
        sort_users(&mut others);
        others.sort_by_key(|other| {
            let unsure = [Attribution::AnyDrive, Attribution::EndedChildren];
            unsure.contains(&other.attribution)
        });
        others
    }
}

/// `None` for this process, and for one with few bytes.
fn other_user(
    pid: u32,
    name: &[u8],
    io: &ProcessIo,
    attribution: Attribution,
) -> Option<OtherUser> {
    let written_bytes = io.write_bytes.saturating_sub(io.cancelled_write_bytes);
    let is_other = pid != std::process::id();
    let is_much = io.read_bytes + written_bytes >= MIN_REPORTED_BYTES;
    (is_other && is_much).then(|| OtherUser {
        pid,
        command: SafeText::from_bytes(name),
        read_bytes: io.read_bytes,
        written_bytes,
        attribution,
    })
}

/// Whether a process has one of these block devices, or a file on it, open.
fn has_device_open(process: &Path, devices: &[(u32, u32)]) -> bool {
    let descriptors = fs::read_dir(process.join("fd"))
        .into_iter()
        .flatten()
        .flatten();
    descriptors
        .filter_map(|entry| fs::metadata(entry.path()).ok())
        .any(|about| {
            let kind = about.file_type();
            if kind.is_block_device() {
                devices.contains(&split_device_number(about.rdev()))
            } else {
                kind.is_file() && devices.contains(&split_device_number(about.dev()))
            }
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;
    /// After the first sample, on a clock that began with the machine.
    const LATER: u64 = 1 << 50;

    /// A process that began at this tick, has waited for children with these page faults, and has read
    /// these MiB.
    fn write_process(roots: &SysPaths, pid: u32, began: u64, reaped_faults: u64, read_mib: u64) {
        let directory = roots.proc.join(pid.to_string());
        fs::create_dir_all(directory.join("fd")).unwrap();
        let io = format!(
            "rchar: 0\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {}\nwrite_bytes: 0\n\
             cancelled_write_bytes: 0\n",
            read_mib * MIB
        );
        fs::write(directory.join("io"), io).unwrap();
        let zeros = "0 ".repeat(6);
        let stat =
            format!("{pid} (name{pid}) S 1 {zeros}{reaped_faults} 0 0 {zeros}1 0 {began} 0 0 0\n");
        fs::write(directory.join("stat"), stat).unwrap();
    }

    #[test]
    fn processes_with_io_since_start_are_listed() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        for (pid, read) in [(10, 50), (11, 7), (13, 3)] {
            write_process(&roots, pid, 100, 0, read);
        }
        let mut processes = CompetingProcesses::new(&roots);
        write_process(&roots, 11, 100, 0, 8);
        // It has begun since.
        write_process(&roots, 12, LATER, 0, 6);
        // A shell that has waited for a command which read 40 MiB.
        write_process(&roots, 13, 100, 5, 43);
        let file = root.path().join("open");
        fs::write(&file, "x").unwrap();
        for pid in [11, 13] {
            let link = roots.proc.join(format!("{pid}/fd/3"));
            std::os::unix::fs::symlink(&file, link).unwrap();
        }
        let device = split_device_number(fs::metadata(&file).unwrap().dev());
        let gone = OtherUser {
            pid: 99,
            command: "gone".into(),
            read_bytes: 2 * MIB,
            written_bytes: 0,
            attribution: Attribution::TracedRequests,
        };
        let users = processes.users_since_start(&[device], vec![gone]);
        let users: Vec<_> = users
            .iter()
            .map(|it| (it.command.as_str(), it.read_bytes / MIB, it.attribution))
            .collect();
        assert_eq!(
            users,
            [
                ("gone", 2, Attribution::TracedRequests),
                ("name11", 1, Attribution::HasOpenDescriptor),
                ("name13", 40, Attribution::EndedChildren),
                ("name12", 6, Attribution::AnyDrive),
            ]
        );
    }
}
