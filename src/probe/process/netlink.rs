//! Generic netlink to the kernel's taskstats: the socket and its messages (kernel
//! Documentation/accounting/taskstats.rst, linux/netlink.h, linux/genetlink.h).

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::netlink::{GENERIC, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};

/// The kernel replies within the send; the timeout covers a kernel that does not reply at all.
const REPLY_TIMEOUT: Duration = Duration::from_millis(100);

/// struct nlmsghdr and struct genlmsghdr.
const HEADER_BYTES: usize = 16 + 4;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLMSG_ERROR: u16 = 2;
const GENL_ID_CTRL: u16 = 16;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
/// The only command of taskstats, with different attributes.
const TASKSTATS_CMD_GET: u8 = 1;

/// A socket of the family of taskstats.
#[derive(Debug)]
pub(super) struct TaskstatsLink {
    pub(super) socket: OwnedFd,
    /// Number of the family `TASKSTATS`.
    pub(super) family_id: u16,
    buffer: Vec<u8>,
}

impl TaskstatsLink {
    /// Opens the socket; `None` where the kernel has no taskstats.
    pub(super) fn open() -> Option<Self> {
        let (raw, flags) = (SocketType::RAW, SocketFlags::CLOEXEC);
        let socket = socket_with(AddressFamily::NETLINK, raw, flags, Some(GENERIC)).ok()?;
        set_socket_timeout(&socket, Timeout::Recv, Some(REPLY_TIMEOUT)).ok()?;
        let mut link = Self {
            socket,
            family_id: GENL_ID_CTRL,
            buffer: vec![0; 64 * 1024],
        };
        let header = (GENL_ID_CTRL, NLM_F_REQUEST, CTRL_CMD_GETFAMILY);
        link.send(&message(header, CTRL_ATTR_FAMILY_NAME, b"TASKSTATS\0"))
            .ok()?;
        let reply = link.receive(RecvFlags::empty()).ok()?;
        let family_id = parse_messages(reply)
            .flat_map(|it| parse_attributes(it.payload))
            .find(|(kind, _)| *kind == CTRL_ATTR_FAMILY_ID)
            .and_then(|(_, id)| u16_at(id, 0));
        link.family_id = family_id?;
        Some(link)
    }

    /// A request with one attribute.
    pub(super) fn request(&self, attribute: u16, value: &[u8]) -> Vec<u8> {
        let header = (self.family_id, NLM_F_REQUEST, TASKSTATS_CMD_GET);
        message(header, attribute, value)
    }

    /// Sends a request and waits for the acknowledgement.
    pub(super) fn command(&mut self, attribute: u16, value: &[u8]) -> Result<(), Errno> {
        let header = (self.family_id, NLM_F_REQUEST | NLM_F_ACK, TASKSTATS_CMD_GET);
        self.send(&message(header, attribute, value))?;
        let reply = self.receive(RecvFlags::empty())?;
        match parse_messages(reply).find_map(|message| message.error) {
            Some(0) => Ok(()),
            Some(code) => Err(Errno::from_raw_os_error(code.saturating_neg())),
            None => Err(Errno::BADMSG),
        }
    }

    pub(super) fn send(&self, request: &[u8]) -> Result<(), Errno> {
        let kernel = SocketAddrNetlink::new(0, 0);
        sendto(&self.socket, request, SendFlags::empty(), &kernel).map(|_| ())
    }

    /// The next datagram.
    pub(super) fn receive(&mut self, flags: RecvFlags) -> Result<&[u8], Errno> {
        let (_, length) = recv(&self.socket, &mut self.buffer[..], flags)?;
        Ok(&self.buffer[..length.min(self.buffer.len())])
    }
}

/// A message: family, flags and command, and one attribute.
fn message(header: (u16, u16, u8), attribute: u16, value: &[u8]) -> Vec<u8> {
    let (family, flags, command) = header;
    let attribute_length = 4 + value.len();
    let length = HEADER_BYTES + attribute_length.next_multiple_of(4);
    let mut message = Vec::with_capacity(length);
    message.extend((length as u32).to_ne_bytes());
    message.extend(family.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]); // sequence number and port: answers name their process themselves
    message.extend([command, 1, 0, 0]);
    message.extend((attribute_length as u16).to_ne_bytes());
    message.extend(attribute.to_ne_bytes());
    message.extend(value);
    message.resize(length, 0);
    message
}

/// One netlink message without its headers.
pub(super) struct NetlinkMessage<'a> {
    pub(super) kind: u16,
    pub(super) payload: &'a [u8],
    /// The error code of an error message, negative; 0 acknowledges.
    error: Option<i32>,
}

/// Splits a datagram into messages; an error message has no payload.
pub(super) fn parse_messages(mut datagram: &[u8]) -> impl Iterator<Item = NetlinkMessage<'_>> {
    std::iter::from_fn(move || {
        let length = usize::try_from(u32_at(datagram, 0)?).ok()?;
        let kind = u16_at(datagram, 4)?;
        let whole = datagram.get(..length).filter(|whole| whole.len() >= 16)?;
        datagram = datagram
            .get(length.next_multiple_of(4)..)
            .unwrap_or_default();
        let is_error = kind == NLMSG_ERROR;
        let payload = whole.get(HEADER_BYTES..).filter(|_| !is_error);
        let error = u32_at(whole, 16).filter(|_| is_error);
        Some(NetlinkMessage {
            kind,
            payload: payload.unwrap_or_default(),
            error: error.map(u32::cast_signed),
        })
    })
}

/// Splits a payload into attributes.
pub(super) fn parse_attributes(mut payload: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
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

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_netlink_messages_end_parsing() {
        assert_eq!(parse_messages(&[0; 64]).count(), 0);
        assert_eq!(parse_messages(&[255; 64]).count(), 0);
        assert_eq!(parse_attributes(&[0; 64]).count(), 0);
        assert_eq!(parse_attributes(&[8, 0, 1, 0, 5, 0, 0, 0]).count(), 1);
    }
}
