//! The medium as a plan wants it: opened, with or without its cached pages.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::Advice;

use super::EngineError;
use super::feeder::Assigned;
use super::plan::{CacheMode, Plan, SyncMode};
use super::write_gate::WriteGate;
use crate::drive::{Access, Durability, Medium, Mode, TargetKind, WritePermit, ioctl};
use crate::memory;
use crate::units::{block_size, exact_size};

/// A medium, and the permission to write it where there is one.
#[derive(Debug, Clone)]
pub struct Source {
    /// What requests go to.
    pub medium: Arc<Medium>,
    /// Without it only reading plans are executed.
    pub permit: Option<Arc<WritePermit>>,
    /// What writing requests have to pass; `None` for what nobody else can reach.
    pub gate: Option<Arc<WriteGate>>,
}

impl Source {
    /// Checks that the plan fits, opens the medium for it and drops its cached pages if the plan
    /// asks for that.
    ///
    /// # Errors
    /// [`EngineError::Plan`] when the plan does not fit or writes without a permit;
    /// [`EngineError::Drive`] when the medium cannot be opened.
    pub fn open(&self, plan: &Plan) -> Result<OwnedFd, EngineError> {
        plan.validate(&self.medium.target)?;
        self.check_memory(plan)?;
        let mode = match (&self.permit, plan.operation.writes()) {
            (_, false) => Mode::Read,
            (Some(permit), true) => Mode::Write(permit),
            (None, true) => {
                return Err(EngineError::Plan(format!(
                    "nobody has consented to {} being overwritten",
                    self.medium.target.name
                )));
            }
        };
        let file = self.medium.open(Access {
            mode,
            direct: plan.cache == CacheMode::Bypass,
            durability: match plan.sync {
                SyncMode::None => Durability::None,
                SyncMode::DataSync => Durability::Data,
                SyncMode::Sync => Durability::Everything,
            },
        })?;
        if plan.cache == CacheMode::Drop {
            self.drop_cache(&file);
        }
        Ok(file)
    }

    /// Buffers that a control group does not allow would have the kernel kill the program.
    fn check_memory(&self, plan: &Plan) -> Result<(), EngineError> {
        let bytes = plan.buffers_per_worker() * u64::from(plan.workers);
        match memory::obstacle(self.medium.roots(), bytes) {
            None => Ok(()),
            Some(obstacle) => Err(EngineError::Plan(format!(
                "--depth {} x --workers {} x --block-size {} need {} for buffers, but {obstacle}: \
                 make one of them smaller",
                plan.depth,
                plan.workers,
                exact_size(u64::from(plan.block_size.largest())),
                block_size(bytes as f64),
            ))),
        }
    }

    /// Has the kernel forget the pages of the target. Only a wish: who asks for less than root has
    /// may be refused, and the verdict `served-from-cache` then says so.
    fn drop_cache(&self, file: &OwnedFd) {
        let _ = rustix::fs::fdatasync(file);
        if self.medium.target.kind == TargetKind::BlockDevice {
            let _ = ioctl::drop_cache(file);
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
pub fn moved(target: &str, request: &Assigned, answer: i32) -> Result<u32, EngineError> {
    match u32::try_from(answer) {
        Ok(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(failure(target, request, answer)),
    }
}

#[cold]
fn failure(target: &str, request: &Assigned, answer: i32) -> EngineError {
    let source = match answer {
        0 => std::io::Error::new(
            std::io::ErrorKind::UnexpectedEof,
            "the target has become shorter",
        ),
        _ => std::io::Error::from_raw_os_error(-answer),
    };
    EngineError::Request {
        operation: if request.job.writes { "write" } else { "read" },
        target: target.to_owned(),
        address: request.job.address,
        bytes: request.job.bytes,
        source,
    }
}
