//! Completed requests summed by process and device.

use std::collections::HashMap;

use super::request::{RequestOperation, TracedRequest};
use crate::probe::process::thread_owner::ThreadOwner;
use crate::trace::events::event::{DeviceNumber, ThreadName};

/// Requests of one process on one device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceIoCounts {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
}

impl DeviceIoCounts {
    fn add(&mut self, operation: RequestOperation, bytes: u64) {
        match operation {
            RequestOperation::Read => {
                self.read_bytes += bytes;
                self.reads += 1;
            }
            RequestOperation::Write => {
                self.written_bytes += bytes;
                self.writes += 1;
            }
            _ => {}
        }
    }
}

/// I/O of a process in an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedProcess {
    /// Name of a thread that did it.
    pub name: ThreadName,
    /// By device, each layer of a stack on its own.
    pub devices: HashMap<DeviceNumber, DeviceIoCounts>,
    /// Reads and writes at the devices that it used itself, without the layers below these.
    pub own: DeviceIoCounts,
}

/// Requests that completed in an interval, by who is charged for them: the thread that dirtied the
/// pages, otherwise the one that submitted the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TracedIo {
    /// By process id.
    pub processes: HashMap<u32, TracedProcess>,
    /// Charged to the kernel itself, or to nobody.
    pub unattributed: HashMap<DeviceNumber, DeviceIoCounts>,
    /// Trace events that were lost since the trace began.
    pub events_lost: u64,
    /// Why no further requests are traced.
    pub end_reason: Option<String>,
}

impl TracedIo {
    /// Adds a completed request; failed ones moved nothing. `drives` has the drive of each
    /// partition, `owner_of` finds the process of a thread.
    pub fn add(
        &mut self,
        request: &TracedRequest,
        drives: &HashMap<DeviceNumber, DeviceNumber>,
        owner_of: impl FnOnce(u32) -> ThreadOwner,
    ) {
        if request.error != 0 {
            return;
        }
        let (operation, bytes) = (request.operation, request.bytes);
        let actor = request.charged_actor();
        let owner = actor.map_or(ThreadOwner::Kernel, |actor| owner_of(actor.pid));
        let pid = match (owner, actor) {
            (ThreadOwner::Process(pid), _) => pid,
            // It has ended: most processes have one thread, with the id of the process.
            (ThreadOwner::Ended, Some(actor)) => actor.pid,
            (ThreadOwner::Kernel | ThreadOwner::Ended, _) => {
                let counts = self.unattributed.entry(request.device).or_default();
                counts.add(operation, bytes);
                return;
            }
        };
        let process = self.processes.entry(pid).or_default();
        if let Some(actor) = actor {
            process.name = actor.name;
        }
        let counts = process.devices.entry(request.device).or_default();
        counts.add(operation, bytes);
        let is_lower_layer = request.remapped_from.is_some_and(|(upper, _)| {
            drives.get(&upper).copied().unwrap_or(upper) != request.device
        });
        if !is_lower_layer {
            process.own.add(operation, bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::requests::RequestActor;

    const DISK: DeviceNumber = (8, 0);

    fn request(pid: u32) -> TracedRequest {
        TracedRequest {
            submitter: Some(RequestActor {
                pid,
                name: ThreadName::from_field(b"db"),
            }),
            ..TracedRequest::block_read()
        }
    }

    /// Threads 11 and 12 of process 10; 2 and 9 are the kernel's; 77 has ended.
    fn owner_of(tid: u32) -> ThreadOwner {
        match tid {
            10..=12 => ThreadOwner::Process(10),
            77 => ThreadOwner::Ended,
            _ => ThreadOwner::Kernel,
        }
    }

    fn sum(requests: &[TracedRequest]) -> TracedIo {
        let drives = HashMap::from([((8, 1), DISK)]);
        let mut traced = TracedIo::default();
        for request in requests {
            traced.add(request, &drives, owner_of);
        }
        traced
    }

    #[test]
    fn writeback_is_charged_to_who_dirtied_the_pages_and_the_kernels_own_to_nobody() {
        let mut ended = request(77);
        ended.operation = RequestOperation::Write;
        let mut failed = request(10);
        failed.error = -5;
        let mut writeback = TracedRequest::writeback_write();
        writeback.dirtied_by = request(11).submitter;
        let mut journal = TracedRequest::writeback_write();
        journal.dirtied_by = None;
        let unknown = TracedRequest::block_read();
        let traced = sum(&[ended, failed, writeback, journal, unknown]);
        assert_eq!(traced.processes[&77].devices[&DISK].written_bytes, 4096);
        let own = traced.processes[&10].devices[&DISK];
        assert_eq!((own.read_bytes, own.written_bytes), (0, 4096));
        let rest = traced.unattributed[&DISK];
        assert_eq!((rest.read_bytes, rest.written_bytes), (4096, 4096));
    }
}
