//! A medium opened for a plan, with or without its cached pages.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::sync::Arc;

use rustix::fs::Advice;
use rustix::io::ReadWriteFlags;

use super::EngineError;
use super::plan::{CacheMode, Plan, SyncMode};
use super::plan_error::{PlanError, buffer_bytes, describe_buffers};
use super::request_generator::ScheduledRequest;
use super::write_gate::WriteGate;
use crate::drive::memory;
use crate::drive::{OpenMedium, PermittedFile, WritePermit};

/// A medium and its write permit, if any.
#[derive(Debug, Clone)]
pub struct IoTarget {
    /// The medium that requests access.
    pub medium: Arc<OpenMedium>,
    /// Write permit. Without it only reading plans are executed.
    pub write_permit: Option<Arc<WritePermit>>,
    /// Gate that write requests must pass; `None` where no other process can reach the medium.
    pub gate: Option<Arc<WriteGate>>,
}

/// A descriptor of a medium for one plan. Everything that has it has the permit as well: a write that hangs in
/// the kernel keeps others from the device.
#[derive(Debug)]
pub struct PlanFile {
    /// Closed before the permit ends.
    file: PlanDescriptor,
    /// Flags of each write (pwritev2(2)).
    write_flags: ReadWriteFlags,
    _permit: Option<Arc<WritePermit>>,
}

#[derive(Debug)]
enum PlanDescriptor {
    /// Opened for the plan, for reading.
    Reader(OwnedFd),
    /// Of the open file description that holds the target for writing.
    Permitted(PermittedFile),
}

impl PlanFile {
    /// Flags that each write needs.
    pub fn write_flags(&self) -> ReadWriteFlags {
        self.write_flags
    }
}

impl AsFd for PlanFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.file {
            PlanDescriptor::Reader(file) => file.as_fd(),
            PlanDescriptor::Permitted(file) => file.as_fd(),
        }
    }
}

impl AsRawFd for PlanFile {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl IoTarget {
    /// Checks that the plan fits the medium, opens the medium for it, calls `on_open`, and drops its cached
    /// pages if the plan requests that.
    ///
    /// # Errors
    /// [`EngineError::InvalidPlan`] when the plan does not fit or writes without a permit;
    /// [`EngineError::OpenMedium`] when the medium cannot be opened.
    pub fn open(&self, plan: &Plan, on_open: &mut dyn FnMut()) -> Result<PlanFile, EngineError> {
        plan.validate(&self.medium.target)?;
        self.check_memory(plan)?;
        if self.write_permit.is_none() && plan.operation.writes() {
            let target = &self.medium.target.name;
            return Err(EngineError::InvalidPlan(PlanError {
                problem: format!("there is no consent to overwrite {target}"),
                advice: "consent with --overwrite",
            }));
        }
        let direct = plan.cache_mode == CacheMode::Bypass;
        // A target that is held for writing is opened nowhere else, also not for reading.
        let file = match &self.write_permit {
            Some(permit) => PlanDescriptor::Permitted(permit.open(direct)?),
            None => PlanDescriptor::Reader(self.medium.open_reader(direct)?),
        };
        let write_flags = match plan.sync_mode {
            SyncMode::None | SyncMode::Flush => ReadWriteFlags::empty(),
            SyncMode::DataSync => ReadWriteFlags::DSYNC,
            SyncMode::Sync => ReadWriteFlags::SYNC,
        };
        let file = PlanFile {
            file,
            write_flags,
            _permit: self.write_permit.clone(),
        };
        on_open();
        if plan.cache_mode == CacheMode::Drop {
            self.drop_cached_pages(&file);
        }
        Ok(file)
    }

    /// The kernel kills a program whose buffers exceed the limit of its control group.
    fn check_memory(&self, plan: &Plan) -> Result<(), EngineError> {
        match memory::exceeded_limit(self.medium.roots(), buffer_bytes(plan)) {
            None => Ok(()),
            Some(limit) => Err(EngineError::InvalidPlan(PlanError::new(format!(
                "{} for buffers, but {limit}: use a smaller value for one of them",
                describe_buffers(plan)
            )))),
        }
    }

    /// Asks the kernel to drop the cached pages of the target. Not by BLKFLSBUF: a RAM disk of kernels
    /// before 5.10 drops its content with them. The check `served-from-cache` reports what stays cached.
    fn drop_cached_pages(&self, file: &PlanFile) {
        let _ = rustix::fs::fdatasync(file);
        let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    }
}

/// Interprets the kernel's result of a request: the bytes transferred, or the error.
///
/// # Errors
/// [`EngineError::RequestFailed`], also when nothing was transferred: the target is then shorter
/// than at the start.
#[inline(always)]
pub fn transferred_bytes(
    target: &str,
    request: &ScheduledRequest,
    answer: i32,
) -> Result<u32, EngineError> {
    match u32::try_from(answer) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(request_error(target, request, answer)),
    }
}

#[cold]
fn request_error(target: &str, request: &ScheduledRequest, answer: i32) -> EngineError {
    let source = match answer {
        0 => std::io::Error::new(
            std::io::ErrorKind::UnexpectedEof,
            "the target has become shorter",
        ),
        _ => std::io::Error::from_raw_os_error(-answer),
    };
    EngineError::RequestFailed {
        operation: if request.request.writes {
            "write"
        } else {
            "read"
        },
        target: target.to_owned(),
        address: request.request.offset,
        bytes: request.request.length,
        source,
    }
}
