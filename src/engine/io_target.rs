//! The medium as a plan wants it: opened, with or without its cached pages.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::Advice;

use super::EngineError;
use super::plan::{CacheMode, Plan, SyncMode};
use super::request_generator::ScheduledRequest;
use super::write_gate::WriteGate;
use crate::drive::{
    MediumAccess, OpenMedium, TargetKind, WriteDurability, WriteMode, WritePermit, ioctl,
};
use crate::memory;
use crate::units::{format_block_size, format_exact_size};

/// A medium, and the permission to write it where there is one.
#[derive(Debug, Clone)]
pub struct IoTarget {
    /// What requests go to.
    pub medium: Arc<OpenMedium>,
    /// Without it only reading plans are executed.
    pub write_permit: Option<Arc<WritePermit>>,
    /// What writing requests have to pass; `None` for what nobody else can reach.
    pub gate: Option<Arc<WriteGate>>,
}

impl IoTarget {
    /// Checks that the plan fits, opens the medium for it and drops its cached pages if the plan
    /// asks for that.
    ///
    /// # Errors
    /// [`EngineError::Plan`] when the plan does not fit or writes without a permit;
    /// [`EngineError::Drive`] when the medium cannot be opened.
    pub fn open(&self, plan: &Plan) -> Result<OwnedFd, EngineError> {
        plan.validate(&self.medium.target)?;
        self.check_memory(plan)?;
        let mode = match (&self.write_permit, plan.operation.writes()) {
            (_, false) => WriteMode::Read,
            (Some(permit), true) => WriteMode::Write(permit),
            (None, true) => {
                return Err(EngineError::InvalidPlan(format!(
                    "nobody has consented to {} being overwritten",
                    self.medium.target.name
                )));
            }
        };
        let file = self.medium.open(MediumAccess {
            mode,
            direct: plan.cache_mode == CacheMode::Bypass,
            durability: match plan.sync_mode {
                SyncMode::None => WriteDurability::None,
                SyncMode::DataSync => WriteDurability::Dsync,
                SyncMode::Sync => WriteDurability::Sync,
            },
        })?;
        if plan.cache_mode == CacheMode::Drop {
            self.drop_cached_pages(&file);
        }
        Ok(file)
    }

    /// Buffers that a control group does not allow would have the kernel kill the program.
    fn check_memory(&self, plan: &Plan) -> Result<(), EngineError> {
        let bytes = plan.buffers_per_worker() * u64::from(plan.workers);
        match memory::exceeded_limit(self.medium.roots(), bytes) {
            None => Ok(()),
            Some(obstacle) => Err(EngineError::InvalidPlan(format!(
                "--depth {} x --workers {} x --block-size {} need {} for buffers, but {obstacle}: \
                 make one of them smaller",
                plan.depth,
                plan.workers,
                format_exact_size(u64::from(plan.block_size.max_bytes())),
                format_block_size(bytes as f64),
            ))),
        }
    }

    /// Has the kernel forget the pages of the target. Only a wish: who asks for less than root has
    /// may be refused, and the verdict `served-from-cache` then says so.
    fn drop_cached_pages(&self, file: &OwnedFd) {
        let _ = rustix::fs::fdatasync(file);
        if self.medium.target.kind == TargetKind::BlockDevice {
            let _ = ioctl::flush_buffer_cache(file);
        }
        let _ = rustix::fs::fadvise(file, 0, None, Advice::DontNeed);
    }
}

/// What to make of the kernel's answer to a request: the bytes that it moved, or why it failed.
///
/// # Errors
/// [`EngineError::Request`]; also when nothing was moved, for then the target ends before the
/// place where it ended at the start.
#[inline]
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
