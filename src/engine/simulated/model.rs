//! What a simulated drive is.

use crate::engine::plan::DataKind;

/// One request to a simulated drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimRequest {
    /// Byte address.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it writes.
    pub is_write: bool,
    /// What it writes: some drives compress.
    pub data: DataKind,
}

/// A request that a simulated drive has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimCompletion {
    /// When, in nanoseconds since the drive was switched on.
    pub completed_at_ns: u64,
    /// The number under which the request was submitted.
    pub id: u64,
    /// Bytes moved, or an error number of the kernel (`libc::EIO`).
    pub result: Result<u32, i32>,
}

/// A simulated drive. It holds its queue itself, so that it may choose what it serves next
/// (native command queuing). Time never runs backwards and goes on from one execution to the
/// next, as a platter does.
pub trait DriveModel: Send {
    /// Takes a request at a time in nanoseconds since the drive was switched on.
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest);

    /// Serves what is queued up to a moment and yields the next request that is done by then;
    /// `None` when none is. No service that begins after that moment may be decided, for other
    /// requests may come until it begins. Completions come in order of time.
    fn advance(&mut self, until_ns: u64) -> Option<SimCompletion>;
}
