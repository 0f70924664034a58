//! Block I/O delay by process, from taskstats over generic netlink (kernel
//! Documentation/accounting/taskstats.rst and delay-accounting.rst).
//!
//! Needs CAP_NET_ADMIN. Without it, or on a kernel without CONFIG_TASKSTATS, a request fails and no
//! values are available: the caller uses another source or none.

use std::time::Duration;

use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::netlink::{TaskstatsLink, parse_attributes, parse_messages, u16_at, u32_at, u64_at};

/// Requests per send: the replies to all of them fit the socket's buffer.
const MAX_REQUESTS_PER_SEND: usize = 48;

/// linux/taskstats.h.
mod abi {
    pub(crate) const TASKSTATS_CMD_ATTR_TGID: u16 = 2;
    pub(crate) const TASKSTATS_TYPE_TGID: u16 = 2;
    pub(crate) const TASKSTATS_TYPE_STATS: u16 = 3;
    pub(crate) const TASKSTATS_TYPE_AGGR_TGID: u16 = 5;
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
        let mut request = Vec::with_capacity(MAX_REQUESTS_PER_SEND * 28);
        for batch in pids.chunks(MAX_REQUESTS_PER_SEND) {
            request.clear();
            for pid in batch {
                let value = pid.to_ne_bytes();
                self.link
                    .push_request(&mut request, abi::TASKSTATS_CMD_ATTR_TGID, &value);
            }
            if self.link.send(&request).is_err()
                || self.receive_replies(batch.len(), &mut report).is_err()
            {
                self.discard_late_replies();
                return;
            }
        }
    }

    fn receive_replies(
        &mut self,
        mut answers: usize,
        report: &mut impl FnMut(u32, DelayTotals),
    ) -> Result<(), Errno> {
        while answers > 0 {
            let family = self.link.family_id();
            for reply in parse_replies(self.link.receive(RecvFlags::empty())?, family) {
                answers = answers.saturating_sub(1);
                if let Some((pid, delays)) = reply {
                    report(pid, delays);
                }
            }
        }
        Ok(())
    }

    /// Discards late replies, so that they are not taken for those of another batch.
    fn discard_late_replies(&mut self) {
        while self.link.receive(RecvFlags::DONTWAIT).is_ok() {}
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
    let (_, aggregate) =
        parse_attributes(payload).find(|(kind, _)| *kind == abi::TASKSTATS_TYPE_AGGR_TGID)?;
    let (mut pid, mut stats) = (None, None);
    for (kind, value) in parse_attributes(aggregate) {
        match kind {
            abi::TASKSTATS_TYPE_TGID => pid = u32_at(value, 0),
            abi::TASKSTATS_TYPE_STATS => stats = Some(value),
            _ => {}
        }
    }
    Some((pid?, parse_delays(stats?)?))
}

/// `blkio_delay_total` and `swapin_delay_total` of struct taskstats, in nanoseconds.
///
/// A process that began before accounting was switched on has counts of 0 like one that never
/// waited. So either is known only once something was counted; then 0 of the other is 0.
///
/// Version 15 alone has `cpu_delay_max` and `cpu_delay_min` before them, and the like behind each
/// pair; version 16 moved these to the end, where all versions before had added their fields.
fn parse_delays(stats: &[u8]) -> Option<DelayTotals> {
    let (io_at, swap_at) = match u16_at(stats, 0)? {
        15 => (48, 80),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Requirement, skip};

    /// A reply of the given version whose 64-bit fields after the first 16 bytes count up.
    fn stats_of_version(version: u16) -> Vec<u8> {
        let mut bytes = vec![0; 16];
        bytes[..2].copy_from_slice(&version.to_ne_bytes());
        for field in 1..=20_u64 {
            bytes.extend(field.to_ne_bytes());
        }
        bytes
    }

    #[test]
    fn taskstats_version_15_has_two_extra_fields() {
        // cpu_count 1, cpu_delay_total 2, blkio_count 3, blkio_delay_total 4, swapin_count 5 ...
        let of = |version| {
            let delays = parse_delays(&stats_of_version(version)).unwrap();
            (
                delays.io_delay.unwrap().as_nanos(),
                delays.swap_in_delay.unwrap().as_nanos(),
            )
        };
        assert_eq!((of(8), of(14), of(16)), ((4, 6), (4, 6), (4, 6)));
        // cpu_delay_max 3, cpu_delay_min 4, blkio 5 to 8, swapin 9 to 12
        assert_eq!(of(15), (6, 10));
        assert_eq!(parse_delays(&[0; 20]), None);
        assert_eq!(parse_delays(&[0; 200]), Some(DelayTotals::default()));
    }

    /// Size of struct taskstats, and offsets of `blkio_count` and `swapin_count`, by version: from
    /// include/uapi/linux/taskstats.h of Linux 5.15.100 and 6.6.9, compiled for x86-64.
    const STRUCTS: [(u16, usize, usize, usize); 2] = [(10, 352, 32, 48), (14, 432, 32, 48)];

    #[test]
    fn delays_are_read_from_the_struct_of_kernels_5_15_and_6_6() {
        for (version, size, io_at, swap_at) in STRUCTS {
            let mut stats = vec![0; size];
            let mut put = |at: usize, number: u64| {
                stats[at..at + 8].copy_from_slice(&number.to_ne_bytes());
            };
            put(0, u64::from(version));
            put(io_at, 3);
            put(io_at + 8, 4_000_000);
            put(swap_at, 1);
            put(swap_at + 8, 2_000_000);
            let delays = parse_delays(&stats).unwrap();
            assert_eq!(delays.io_delay, Some(Duration::from_millis(4)), "{version}");
            assert_eq!(delays.swap_in_delay, Some(Duration::from_millis(2)));
        }
    }

    #[test]
    fn taskstats_replies_for_own_process() {
        let Some(mut taskstats) = TaskstatsSocket::open() else {
            skip(
                Requirement::Taskstats,
                "taskstats needs CAP_NET_ADMIN and CONFIG_TASKSTATS",
            );
            return;
        };
        let pids: Vec<u32> = std::iter::repeat_n(std::process::id(), MAX_REQUESTS_PER_SEND + 1)
            .chain([u32::MAX >> 1])
            .collect();
        let mut answers = 0;
        taskstats.query_delays(&pids, |pid, _| {
            assert_eq!(pid, std::process::id());
            answers += 1;
        });
        assert_eq!(answers, MAX_REQUESTS_PER_SEND + 1);
    }
}
