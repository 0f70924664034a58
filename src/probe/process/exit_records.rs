//! Records of threads that end, from taskstats (kernel Documentation/accounting/taskstats.rst,
//! "TASKSTATS_CMD_ATTR_REGISTER_CPUMASK").
//!
//! The kernel sends a record for each thread. It goes to listeners in the first network namespace, and only a process
//! of the first user and PID namespaces with CAP_NET_ADMIN may register (kernel/taskstats.c,
//! `add_del_listener`, `send_cpu_listeners`).

use std::collections::BTreeMap;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use super::netlink::{TaskstatsLink, parse_attributes, parse_messages, u16_at, u32_at, u64_at};
use crate::probe::sample::{ExitRecord, ProcessIo};
use crate::probe::text::read_file;
use crate::roots::SysPaths;

/// Bytes of records that the kernel keeps between two samples: some thousand threads.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// Version of struct taskstats since which a record names the process of the thread (Linux 5.19).
const FIRST_VERSION_WITH_PROCESS: u16 = 12;

/// linux/taskstats.h.
mod abi {
    pub(super) const TASKSTATS_CMD_ATTR_REGISTER_CPUMASK: u16 = 3;
    pub(super) const TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK: u16 = 4;
    pub(super) const TASKSTATS_TYPE_STATS: u16 = 3;
    pub(super) const TASKSTATS_TYPE_AGGR_PID: u16 = 4;
    /// `ac_comm`, of 32 bytes.
    pub(super) const NAME_AT: usize = 80;
    pub(super) const NAME_BYTES: usize = 32;
    /// `ac_ppid`.
    pub(super) const PARENT_AT: usize = 132;
    /// `read_char`, before six further counters.
    pub(super) const IO_AT: usize = 216;
    /// `ac_tgid`.
    pub(super) const PROCESS_AT: usize = 368;
    /// Version 15 alone has two further fields of 8 bytes after each of three delays before
    /// `ac_comm`, and after each of three delays behind it.
    pub(super) const VERSION_15_BEFORE_NAME: usize = 48;
    pub(super) const VERSION_15_BEFORE_PROCESS: usize = 96;
}

/// Why there are no exit records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoExitRecords {
    /// The kernel has no taskstats, or refuses the registration for a reason of its own.
    NotSupported,
    /// CAP_NET_ADMIN is missing.
    NotPermitted,
    /// This process is in another user or PID namespace than the first one.
    OtherNamespace,
    /// Records do not arrive: this process is in another network namespace than the first one.
    OtherNetworkNamespace,
    /// Records do not name the process of a thread: a kernel before 5.19.
    ProcessNotNamed,
}

/// A socket that receives the records of all processors.
#[derive(Debug)]
pub struct ExitRecordSocket {
    link: TaskstatsLink,
    processors: Vec<u8>,
}

/// Records since the previous reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ExitRecords {
    /// Sums over the threads of each process, by process id.
    pub records: Vec<ExitRecord>,
    /// Whether the kernel dropped some, because more arrived than it keeps.
    pub lost: bool,
}

impl ExitRecordSocket {
    /// Registers for the records of all processors, and lets a thread end to see that they arrive.
    ///
    /// # Errors
    ///
    /// Why none are available.
    pub fn open(roots: &SysPaths) -> Result<Self, NoExitRecords> {
        let processors = read_file(&roots.sys.join("devices/system/cpu/possible"))
            .ok_or(NoExitRecords::NotSupported)?;
        let mut processors = processors.trim_ascii().to_vec();
        processors.push(0);
        let mut link = TaskstatsLink::open().ok_or(NoExitRecords::NotSupported)?;
        // Without it the limit net.core.rmem_default holds, and more records are lost.
        let _ = set_socket_recv_buffer_size_force(&link.socket, RECEIVE_BUFFER_BYTES);
        link.command(abi::TASKSTATS_CMD_ATTR_REGISTER_CPUMASK, &processors)
            .map_err(|error| match error {
                Errno::PERM | Errno::ACCESS => NoExitRecords::NotPermitted,
                Errno::INVAL => NoExitRecords::OtherNamespace,
                _ => NoExitRecords::NotSupported,
            })?;
        let mut socket = Self { link, processors };
        socket.expect_record_of_own_thread()?;
        Ok(socket)
    }

    /// The kernel sends the record of a thread before joining it returns.
    fn expect_record_of_own_thread(&mut self) -> Result<(), NoExitRecords> {
        let _ = std::thread::spawn(|| {}).join();
        let mut versions = Vec::new();
        let lost = self.receive_all(|datagram, family| {
            versions.extend(thread_stats(datagram, family).filter_map(|stats| u16_at(stats, 0)));
        });
        match versions.first() {
            Some(version) if *version >= FIRST_VERSION_WITH_PROCESS => Ok(()),
            Some(_) => Err(NoExitRecords::ProcessNotNamed),
            None if lost => Ok(()),
            None => Err(NoExitRecords::OtherNetworkNamespace),
        }
    }

    /// Takes the records that have arrived.
    pub fn take(&mut self) -> ExitRecords {
        let mut by_process: BTreeMap<u32, ExitRecord> = BTreeMap::new();
        let lost = self.receive_all(|datagram, family| {
            for record in parse_records(datagram, family) {
                match by_process.get_mut(&record.pid) {
                    Some(process) => process.io = process.io.saturating_add(&record.io),
                    None => {
                        by_process.insert(record.pid, record);
                    }
                }
            }
        });
        ExitRecords {
            records: by_process.into_values().collect(),
            lost,
        }
    }

    /// Passes on each datagram with the number of the family; returns whether some were dropped.
    fn receive_all(&mut self, mut each: impl FnMut(&[u8], u16)) -> bool {
        let family = self.link.family_id();
        let mut lost = false;
        loop {
            match self.link.receive(RecvFlags::DONTWAIT) {
                Ok(datagram) => each(datagram, family),
                // The kernel reports once that its buffer was full, then what was in it.
                Err(Errno::NOBUFS) => lost = true,
                Err(Errno::INTR) => {}
                Err(_) => return lost,
            }
        }
    }
}

impl Drop for ExitRecordSocket {
    fn drop(&mut self) {
        let mut request = Vec::new();
        let attribute = abi::TASKSTATS_CMD_ATTR_DEREGISTER_CPUMASK;
        self.link
            .push_request(&mut request, attribute, &self.processors);
        // Where it fails, the kernel notices at the next record that the socket is closed.
        let _ = self.link.send(&request);
    }
}

/// The records of a datagram, one for each thread that has ended and names its process.
pub fn parse_records(datagram: &[u8], family: u16) -> impl Iterator<Item = ExitRecord> {
    thread_stats(datagram, family).filter_map(parse_thread)
}

/// The struct taskstats of each thread; messages that sum up a process have no I/O and are passed
/// over.
fn thread_stats(datagram: &[u8], family: u16) -> impl Iterator<Item = &[u8]> {
    parse_messages(datagram)
        .filter(move |message| message.kind == family)
        .filter_map(|message| {
            let (_, aggregate) = parse_attributes(message.payload)
                .find(|(kind, _)| *kind == abi::TASKSTATS_TYPE_AGGR_PID)?;
            parse_attributes(aggregate)
                .find(|(kind, _)| *kind == abi::TASKSTATS_TYPE_STATS)
                .map(|(_, stats)| stats)
        })
}

/// Process, name and I/O of a thread.
fn parse_thread(stats: &[u8]) -> Option<ExitRecord> {
    let version = u16_at(stats, 0)?;
    if version < FIRST_VERSION_WITH_PROCESS {
        return None;
    }
    let (moved, moved_process) = match version {
        15 => (abi::VERSION_15_BEFORE_NAME, abi::VERSION_15_BEFORE_PROCESS),
        _ => (0, 0),
    };
    let name_at = abi::NAME_AT + moved;
    let name = stats.get(name_at..name_at + abi::NAME_BYTES)?;
    let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
    let counter = |index: usize| u64_at(stats, abi::IO_AT + moved + 8 * index);
    Some(ExitRecord {
        pid: u32_at(stats, abi::PROCESS_AT + moved_process)?,
        parent_pid: u32_at(stats, abi::PARENT_AT + moved)?,
        name: name.to_vec(),
        io: ProcessIo {
            rchar: counter(0)?,
            wchar: counter(1)?,
            read_calls: counter(2)?,
            write_calls: counter(3)?,
            read_bytes: counter(4)?,
            write_bytes: counter(5)?,
            cancelled_write_bytes: counter(6)?,
        },
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::requirement::{Requirement, skip};

    /// A struct taskstats in which each field holds what its name says.
    fn stats_of_version(version: u16) -> Vec<u8> {
        let (moved, moved_process) = if version == 15 { (48, 96) } else { (0, 0) };
        let mut stats = vec![0; 600];
        let mut put = |at: usize, bytes: &[u8]| stats[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &version.to_ne_bytes());
        put(80 + moved, b"dd");
        put(132 + moved, &50_u32.to_ne_bytes());
        for counter in 0..7_u64 {
            let at = 216 + moved + 8 * counter as usize;
            put(at, &(100 + counter).to_ne_bytes());
        }
        put(368 + moved_process, &60_u32.to_ne_bytes());
        stats
    }

    #[test]
    fn thread_record_names_process_parent_and_io_in_all_versions() {
        for version in [12, 13, 14, 15, 16] {
            let record = parse_thread(&stats_of_version(version)).unwrap();
            assert_eq!((record.pid, record.parent_pid), (60, 50), "{version}");
            assert_eq!(record.name, b"dd");
            assert_eq!(
                (record.io.rchar, record.io.cancelled_write_bytes),
                (100, 106)
            );
        }
        assert_eq!(parse_thread(&stats_of_version(11)), None, "no process id");
        // The whole struct of Linux 6.6.9 (432 bytes) and of 5.15.100 (352 bytes, no process id).
        assert!(parse_thread(&stats_of_version(14)[..432]).is_some());
        assert_eq!(parse_thread(&stats_of_version(10)[..352]), None);
        assert_eq!(parse_thread(&stats_of_version(14)[..370]), None, "cut");
    }

    #[test]
    fn record_of_an_ended_process_arrives_with_its_io() {
        let mut socket = match ExitRecordSocket::open(&SysPaths::default()) {
            Ok(socket) => socket,
            Err(reason) => {
                let reason = format!("exit records of taskstats: {reason:?}");
                return skip(Requirement::Taskstats, &reason);
            }
        };
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![1; 3_000_000]).unwrap();
        let mut child = Command::new("cat")
            .arg(file.path())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let pid = child.id();
        assert!(child.wait().unwrap().success());
        let taken = socket.take();
        let record = taken.records.iter().find(|record| record.pid == pid);
        let record = record.expect("a record of the process");
        assert_eq!(record.name, b"cat");
        assert_eq!(record.parent_pid, std::process::id());
        assert!(record.io.rchar >= 3_000_000, "{record:?}");
    }
}
