//! Delay times of processes and the I/O of threads that end, from taskstats over generic netlink (kernel
//! Documentation/accounting/taskstats.rst and delay-accounting.rst; the struct in
//! include/uapi/linux/taskstats.h).
//!
//! Both need CAP_NET_ADMIN. Without it, or on a kernel without CONFIG_TASKSTATS, the caller uses another
//! source or none.

use std::time::Duration;

use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::net::sockopt::set_socket_recv_buffer_size_force;

use super::netlink::{TaskstatsLink, parse_attributes, parse_messages, u16_at, u32_at, u64_at};
use crate::probe::sample::{ProbeNotice, ProcessIo};
use crate::probe::text::read_file;
use crate::roots::SysPaths;

/// Requests per send: the replies to all of them fit the socket's buffer.
const MAX_REQUESTS_PER_SEND: usize = 48;
/// Bytes of records that the kernel keeps between two samples: some thousand threads.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;
/// Version of the struct since which a record names the process of the thread (Linux 5.19).
const FIRST_VERSION_WITH_PROCESS: u16 = 12;
/// The version that alone has two further fields of 8 bytes after each delay: those of other versions are
/// at the end, behind everything that is read here.
const VERSION_WITH_SHIFTED_FIELDS: u16 = 15;

/// Attributes of commands and of replies.
mod attribute {
    pub(super) const TGID: u16 = 2;
    pub(super) const REGISTER_CPUMASK: u16 = 3;
    pub(super) const STATS: u16 = 3;
    pub(super) const AGGREGATE_OF_THREAD: u16 = 4;
    pub(super) const AGGREGATE_OF_PROCESS: u16 = 5;
}

/// Delay times of a process, summed over its threads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DelayTotals {
    /// For block I/O.
    pub io_delay: Option<Duration>,
    /// Waiting for swap-in.
    pub swap_in_delay: Option<Duration>,
}

/// A socket to the kernel's taskstats.
#[derive(Debug)]
pub struct TaskstatsSocket {
    link: TaskstatsLink,
}

impl TaskstatsSocket {
    /// Opens the socket and queries this process, which shows whether it is permitted. `None` where
    /// it is not, or the kernel has no taskstats.
    #[must_use]
    pub fn open() -> Option<Self> {
        let mut taskstats = Self {
            link: TaskstatsLink::open()?,
        };
        let mut permitted = false;
        taskstats.query_delays(&[std::process::id()], |_, _| permitted = true);
        permitted.then_some(taskstats)
    }

    /// Queries processes and reports for each the time that all its threads together have waited
    /// for block I/O. The kernel does not distinguish processes that have never waited from those
    /// that began before delay accounting was switched on; both are omitted.
    pub fn query_delays(&mut self, pids: &[u32], mut report: impl FnMut(u32, DelayTotals)) {
        for batch in pids.chunks(MAX_REQUESTS_PER_SEND) {
            if self.query_batch(batch, &mut report).is_err() {
                // Late replies must not be taken for those of another batch.
                while self.link.receive(RecvFlags::DONTWAIT).is_ok() {}
                return;
            }
        }
    }

    fn query_batch(
        &mut self,
        pids: &[u32],
        report: &mut impl FnMut(u32, DelayTotals),
    ) -> Result<(), Errno> {
        let requests = pids
            .iter()
            .map(|pid| self.link.request(attribute::TGID, &pid.to_ne_bytes()));
        self.link.send(&requests.collect::<Vec<_>>().concat())?;
        let family = self.link.family_id;
        let mut answers = pids.len();
        while answers > 0 {
            for reply in parse_replies(self.link.receive(RecvFlags::empty())?, family) {
                answers = answers.saturating_sub(1);
                if let Some((pid, delays)) = reply {
                    report(pid, delays);
                }
            }
        }
        Ok(())
    }
}

/// Process id and delay times from each message of a datagram; `None` for an error, for another
/// family, and for what cannot be read.
pub fn parse_replies(
    datagram: &[u8],
    family: u16,
) -> impl Iterator<Item = Option<(u32, DelayTotals)>> {
    parse_messages(datagram).map(move |message| {
        let payload = (message.kind == family).then_some(message.payload);
        parse_reply(payload?)
    })
}

/// Process id and delay times from a reply.
fn parse_reply(payload: &[u8]) -> Option<(u32, DelayTotals)> {
    let aggregate = attribute_of(payload, attribute::AGGREGATE_OF_PROCESS)?;
    let pid = u32_at(attribute_of(aggregate, attribute::TGID)?, 0)?;
    let delays = parse_delays(attribute_of(aggregate, attribute::STATS)?)?;
    Some((pid, delays))
}

fn attribute_of(payload: &[u8], wanted: u16) -> Option<&[u8]> {
    let mut attributes = parse_attributes(payload);
    Some(attributes.find(|(kind, _)| *kind == wanted)?.1)
}

/// `blkio_delay_total` and `swapin_delay_total`, in nanoseconds.
///
/// A process that began before accounting was switched on has counts of 0 like one that never
/// waited. So either is known only once something was counted; then 0 of the other is 0.
fn parse_delays(stats: &[u8]) -> Option<DelayTotals> {
    let (io_at, swap_at) = match u16_at(stats, 0)? {
        VERSION_WITH_SHIFTED_FIELDS => (48, 80),
        _ => (32, 48),
    };
    let (io_count, swap_count) = (u64_at(stats, io_at)?, u64_at(stats, swap_at)?);
    let counted = io_count > 0 || swap_count > 0;
    let total = |at: usize| u64_at(stats, at + 8).map(Duration::from_nanos);
    Some(DelayTotals {
        io_delay: total(io_at).filter(|_| counted),
        swap_in_delay: total(swap_at).filter(|_| counted),
    })
}

/// A thread that has ended, as the kernel reports it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ThreadExit {
    /// Process id.
    pub pid: u32,
    /// Thread id.
    pub tid: u32,
    /// Process id of the parent of the process.
    pub parent_pid: u32,
    /// Name of the thread, at most 15 bytes.
    pub name: Vec<u8>,
    /// Its I/O counters, without those of ended children.
    pub io: ProcessIo,
}

/// A socket that receives a record of each thread that ends. Records go to listeners in the first network
/// namespace, and only a process of the first user and PID namespaces may register (kernel/taskstats.c,
/// `add_del_listener`, `send_cpu_listeners`).
#[derive(Debug)]
pub struct ExitRecordSocket {
    link: TaskstatsLink,
}

impl ExitRecordSocket {
    /// Registers for the records of all processors, and lets a thread end to see that they arrive.
    ///
    /// # Errors
    ///
    /// What is to be said about it: nothing without the right, where the notice about the I/O of other users
    /// says it, and on a kernel without them.
    pub fn open(roots: &SysPaths) -> Result<Self, Option<ProbeNotice>> {
        let processors = read_file(&roots.sys.join("devices/system/cpu/possible")).ok_or(None)?;
        let processors = [processors.trim_ascii(), b"\0"].concat();
        let mut link = TaskstatsLink::open().ok_or(None)?;
        // Without it the limit net.core.rmem_default holds, and more records are lost.
        let _ = set_socket_recv_buffer_size_force(&link.socket, RECEIVE_BUFFER_BYTES);
        let registered = link.command(attribute::REGISTER_CPUMASK, &processors);
        let other_namespace = Some(ProbeNotice::ExitRecordsOtherNamespace);
        registered.map_err(|error| other_namespace.filter(|_| error == Errno::INVAL))?;
        let mut socket = Self { link };
        // The kernel sends the record of a thread before joining it returns.
        let _ = std::thread::spawn(|| {}).join();
        let mut version = None;
        let lost = socket.receive_all(|datagram, family| {
            let first = thread_stats(datagram, family).next();
            version = version.or(first.and_then(|stats| u16_at(stats, 0)));
        });
        match version {
            // The records do not name the process of a thread.
            Some(version) if version < FIRST_VERSION_WITH_PROCESS => Err(None),
            // They arrive in the first network namespace only.
            None if !lost => Err(other_namespace),
            _ => Ok(socket),
        }
    }

    /// Takes the records that have arrived; also whether the kernel dropped some, because more arrived
    /// than it keeps.
    pub fn take(&mut self) -> (Vec<ThreadExit>, bool) {
        let mut threads = Vec::new();
        let lost = self.receive_all(|datagram, family| {
            threads.extend(parse_thread_exits(datagram, family));
        });
        (threads, lost)
    }

    /// Passes on each datagram with the number of the family; returns whether some were dropped.
    fn receive_all(&mut self, mut each: impl FnMut(&[u8], u16)) -> bool {
        let family = self.link.family_id;
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

/// The records of a datagram, one for each thread that has ended and names its process.
pub fn parse_thread_exits(datagram: &[u8], family: u16) -> impl Iterator<Item = ThreadExit> {
    thread_stats(datagram, family).filter_map(parse_thread)
}

/// The struct taskstats of each thread; messages that sum up a process have no I/O and are passed
/// over.
fn thread_stats(datagram: &[u8], family: u16) -> impl Iterator<Item = &[u8]> {
    let messages = parse_messages(datagram).filter(move |message| message.kind == family);
    messages.filter_map(|message| {
        let aggregate = attribute_of(message.payload, attribute::AGGREGATE_OF_THREAD)?;
        attribute_of(aggregate, attribute::STATS)
    })
}

/// `ac_comm` of 32 bytes, `ac_pid`, `ac_ppid`, the counters from `read_char` on, `ac_tgid`.
fn parse_thread(stats: &[u8]) -> Option<ThreadExit> {
    // Three delays precede the name, and three more the process.
    let (shift, process_shift) = match u16_at(stats, 0)? {
        version if version < FIRST_VERSION_WITH_PROCESS => return None,
        VERSION_WITH_SHIFTED_FIELDS => (48, 96),
        _ => (0, 0),
    };
    let name = stats.get(80 + shift..112 + shift)?;
    let counter = |index: usize| u64_at(stats, 216 + shift + 8 * index);
    Some(ThreadExit {
        pid: u32_at(stats, 368 + process_shift)?,
        tid: u32_at(stats, 128 + shift)?,
        parent_pid: u32_at(stats, 132 + shift)?,
        name: name.split(|byte| *byte == 0).next()?.to_vec(),
        io: ProcessIo::from_counters(std::array::from_fn(counter))?,
    })
}

#[cfg(test)]
mod tests {

    use super::*;

    /// A struct taskstats of a version, cut to that many bytes, in which each field holds what its name says.
    fn stats_of_version(version: u16, size: usize) -> Vec<u8> {
        let is_shifted = version == VERSION_WITH_SHIFTED_FIELDS;
        let (delays, moved, moved_process) = if is_shifted {
            ([48, 80], 48, 96)
        } else {
            ([32, 48], 0, 0)
        };
        let mut stats = vec![0; 600];
        let mut put = |at: usize, bytes: &[u8]| stats[at..at + bytes.len()].copy_from_slice(bytes);
        put(0, &version.to_ne_bytes());
        for (at, total) in delays.into_iter().zip([4_000_000_u64, 2_000_000]) {
            put(at, &3_u64.to_ne_bytes());
            put(at + 8, &total.to_ne_bytes());
        }
        put(80 + moved, b"dd");
        put(128 + moved, &61_u32.to_ne_bytes());
        put(132 + moved, &50_u32.to_ne_bytes());
        for counter in 0..7_u64 {
            put(
                216 + moved + 8 * counter as usize,
                &(100 + counter).to_ne_bytes(),
            );
        }
        put(368 + moved_process, &60_u32.to_ne_bytes());
        stats.truncate(size);
        stats
    }

    /// Of Linux 5.15.100 the struct has 352 bytes, of 6.6.9 it has 432.
    #[test]
    fn fields_are_found_in_all_versions() {
        for version in [8, 10, 12, 13, 14, 15, 16] {
            let stats = stats_of_version(version, 600);
            let delays = parse_delays(&stats).unwrap();
            assert_eq!(delays.io_delay, Some(Duration::from_millis(4)), "{version}");
            assert_eq!(
                delays.swap_in_delay,
                Some(Duration::from_millis(2)),
                "{version}"
            );
            let Some(thread) = parse_thread(&stats) else {
                assert!(version < 12, "no process id: {version}");
                continue;
            };
            assert_eq!(
                (thread.pid, thread.tid, thread.parent_pid),
                (60, 61, 50),
                "{version}"
            );
            assert_eq!(thread.name, b"dd");
            let io = thread.io;
            assert_eq!(
                (io.rchar, io.cancelled_write_bytes),
                (100, 106),
                "{version}"
            );
        }
        assert_eq!(parse_delays(&[0; 20]), None);
        assert_eq!(parse_delays(&[0; 200]), Some(DelayTotals::default()));
        assert!(parse_delays(&stats_of_version(10, 352)).is_some());
        assert!(parse_thread(&stats_of_version(14, 432)).is_some());
        assert_eq!(parse_thread(&stats_of_version(14, 370)), None, "cut");
    }
}
