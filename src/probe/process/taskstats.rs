//! Block I/O delay by process, from taskstats over generic netlink (kernel
//! Documentation/accounting/taskstats.rst and delay-accounting.rst).
//!
//! Needs CAP_NET_ADMIN. Without it, or on a kernel without CONFIG_TASKSTATS, a request fails and no
//! values are available: the caller uses another source or none.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// Requests per send: the replies to all of them fit the socket's buffer.
const MAX_REQUESTS_PER_SEND: usize = 48;
/// The kernel replies within the send; the timeout covers a kernel that does not reply at all.
const REPLY_TIMEOUT: Duration = Duration::from_millis(100);

/// linux/netlink.h, linux/genetlink.h, linux/taskstats.h.
mod abi {
    pub(crate) const NLM_F_REQUEST: u16 = 1;
    pub(crate) const NLMSG_ERROR: u16 = 2;
    pub(crate) const GENL_ID_CTRL: u16 = 16;
    pub(crate) const CTRL_CMD_GETFAMILY: u8 = 3;
    pub(crate) const CTRL_ATTR_FAMILY_ID: u16 = 1;
    pub(crate) const CTRL_ATTR_FAMILY_NAME: u16 = 2;
    pub(crate) const TASKSTATS_CMD_GET: u8 = 1;
    pub(crate) const TASKSTATS_CMD_ATTR_TGID: u16 = 2;
    pub(crate) const TASKSTATS_TYPE_TGID: u16 = 2;
    pub(crate) const TASKSTATS_TYPE_STATS: u16 = 3;
    pub(crate) const TASKSTATS_TYPE_AGGR_TGID: u16 = 5;
    /// struct nlmsghdr and struct genlmsghdr.
    pub(crate) const HEADER_BYTES: usize = 16 + 4;
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
    socket: OwnedFd,
    family_id: u16,
    buffer: Vec<u8>,
}

impl TaskstatsSocket {
    /// Opens the socket and queries this process, which shows whether it is permitted. `None` where
    /// it is not, or the kernel has no taskstats.
    #[must_use]
    pub fn open() -> Option<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            Some(GENERIC),
        )
        .ok()?;
        set_socket_timeout(&socket, Timeout::Recv, Some(REPLY_TIMEOUT)).ok()?;
        let mut taskstats = Self {
            socket,
            family_id: abi::GENL_ID_CTRL,
            buffer: vec![0; 64 * 1024],
        };
        taskstats.family_id = taskstats.resolve_family().ok()??;
        let mut permitted = false;
        taskstats.query_delays(&[std::process::id()], |_, _| permitted = true);
        permitted.then_some(taskstats)
    }

    /// Requests the number of the family from the controller.
    fn resolve_family(&mut self) -> Result<Option<u16>, Errno> {
        let mut request = Vec::new();
        let name = b"TASKSTATS\0";
        let command = abi::CTRL_CMD_GETFAMILY;
        push_request(
            &mut request,
            self.family_id,
            command,
            abi::CTRL_ATTR_FAMILY_NAME,
            name,
        );
        self.send_request(&request)?;
        let (_, length) = recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
        let found = parse_messages(&self.buffer[..length])
            .flat_map(|message| parse_attributes(message.payload))
            .find(|(kind, _)| *kind == abi::CTRL_ATTR_FAMILY_ID)
            .and_then(|(_, value)| u16_at(value, 0));
        Ok(found)
    }

    /// Queries processes and reports for each the time that all its threads together have waited
    /// for block I/O. The kernel does not distinguish processes that have never waited from those
    /// that began before delay accounting was switched on; both are omitted.
    pub fn query_delays(&mut self, pids: &[u32], mut report: impl FnMut(u32, DelayTotals)) {
        let mut request = Vec::with_capacity(MAX_REQUESTS_PER_SEND * 28);
        for batch in pids.chunks(MAX_REQUESTS_PER_SEND) {
            request.clear();
            for pid in batch {
                let command = abi::TASKSTATS_CMD_GET;
                let value = pid.to_ne_bytes();
                push_request(
                    &mut request,
                    self.family_id,
                    command,
                    abi::TASKSTATS_CMD_ATTR_TGID,
                    &value,
                );
            }
            if self.send_request(&request).is_err()
                || self.receive_replies(batch.len(), &mut report).is_err()
            {
                self.discard_late_replies();
                return;
            }
        }
    }

    fn send_request(&self, request: &[u8]) -> Result<(), Errno> {
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, request, SendFlags::empty(), &kernel).map(|_| ())
    }

    fn receive_replies(
        &mut self,
        mut answers: usize,
        report: &mut impl FnMut(u32, DelayTotals),
    ) -> Result<(), Errno> {
        while answers > 0 {
            let (_, length) = recv(&self.socket, &mut self.buffer[..], RecvFlags::empty())?;
            for message in parse_messages(&self.buffer[..length]) {
                answers = answers.saturating_sub(1);
                if message.kind == self.family_id
                    && let Some((pid, delays)) = parse_reply(message.payload)
                {
                    report(pid, delays);
                }
            }
        }
        Ok(())
    }

    /// Discards late replies, so that they are not taken for those of another batch.
    fn discard_late_replies(&mut self) {
        while recv(&self.socket, &mut self.buffer[..], RecvFlags::DONTWAIT).is_ok() {}
    }
}

fn push_request(request: &mut Vec<u8>, family: u16, command: u8, attribute: u16, value: &[u8]) {
    let attribute_length = 4 + value.len();
    let length = abi::HEADER_BYTES + attribute_length.next_multiple_of(4);
    let start = request.len();
    request.extend((length as u32).to_ne_bytes());
    request.extend(family.to_ne_bytes());
    request.extend(abi::NLM_F_REQUEST.to_ne_bytes());
    request.extend([0; 8]); // sequence number and port: answers name their process themselves
    request.extend([command, 1, 0, 0]);
    request.extend((attribute_length as u16).to_ne_bytes());
    request.extend(attribute.to_ne_bytes());
    request.extend(value);
    request.resize(start + length, 0);
}

/// One netlink message without its headers.
struct NetlinkMessage<'a> {
    kind: u16,
    payload: &'a [u8],
}

/// Splits a datagram into messages; an error message has no payload.
fn parse_messages(mut datagram: &[u8]) -> impl Iterator<Item = NetlinkMessage<'_>> {
    std::iter::from_fn(move || {
        let length = usize::try_from(u32_at(datagram, 0)?).ok()?;
        let kind = u16_at(datagram, 4)?;
        let whole = datagram.get(..length).filter(|whole| whole.len() >= 16)?;
        datagram = datagram
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
        let payload = match kind {
            abi::NLMSG_ERROR => &[],
            _ => whole.get(abi::HEADER_BYTES..).unwrap_or_default(),
        };
        Some(NetlinkMessage { kind, payload })
    })
}

/// Splits a payload into attributes.
fn parse_attributes(mut payload: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16_at(payload, 0)?);
        let kind = u16_at(payload, 2)? & 0x3fff; // the upper bits are flags
        let value = payload.get(4..length)?;
        payload = payload
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
        Some((kind, value))
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

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
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

    #[test]
    fn damaged_netlink_messages_end_parsing() {
        assert_eq!(parse_messages(&[0; 64]).count(), 0);
        assert_eq!(parse_messages(&[255; 64]).count(), 0);
        assert_eq!(parse_attributes(&[0; 64]).count(), 0);
        assert_eq!(parse_attributes(&[8, 0, 1, 0, 5, 0, 0, 0]).count(), 1);
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
