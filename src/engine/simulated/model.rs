//! Interface of a simulated drive.

use crate::engine::plan::DataKind;

/// One request to a simulated drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimRequest {
    /// Byte address.
    pub address: u64,
    /// Length in bytes.
    pub bytes: u32,
    /// Whether it is a write.
    pub is_write: bool,
    /// The data to write: some drives compress.
    pub data: DataKind,
}

/// A completed request of a simulated drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimCompletion {
    /// Completion time in nanoseconds since power-on.
    pub completed_at_ns: u64,
    /// The id that the request was submitted with.
    pub id: u64,
    /// Bytes transferred, or an error number of the kernel (`libc::EIO`).
    pub result: Result<u32, i32>,
}

/// A simulated drive. It contains its own queue and can therefore reorder requests (native command
/// queuing). Time is monotonic and continues from one execution to the next, like the rotation of a
/// platter.
pub trait DriveModel: Send {
    /// Receives a request at a time in nanoseconds since power-on.
    fn submit(&mut self, now_ns: u64, id: u64, request: SimRequest);

    /// Serves the queue up to a time and returns the next request that completes by then; `None`
    /// when there is none. A service that begins after that time must not be decided yet, because
    /// more requests may arrive before. Completions are returned in order of time.
    fn advance(&mut self, until_ns: u64) -> Option<SimCompletion>;
}
