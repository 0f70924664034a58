//! Creates a ring with the best settings that the kernel supports.

use std::io;
use std::os::fd::RawFd;

use io_uring::IoUring;

use crate::engine::wait::WaitMode;

/// How the kernel delivers completions, best mode first (io_uring_setup(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionMode {
    /// `IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN`: on request (kernel 6.1).
    DeferTaskrun,
    /// `IORING_SETUP_COOP_TASKRUN`: at the next system call (5.19).
    CoopTaskrun,
    /// By an inter-processor interrupt.
    Interrupt,
}

impl CompletionMode {
    /// All modes, best first.
    pub const ALL_MODES: [Self; 3] = [Self::DeferTaskrun, Self::CoopTaskrun, Self::Interrupt];

    /// Names for the list of features.
    #[must_use]
    pub fn features(self) -> &'static [&'static str] {
        match self {
            Self::DeferTaskrun => &["single-issuer", "defer-taskrun"],
            Self::CoopTaskrun => &["coop-taskrun"],
            Self::Interrupt => &[],
        }
    }

    /// Creates a ring for that many requests in flight, whose completions are waited for in this way.
    ///
    /// # Errors
    /// When the kernel does not support this mode or allows no ring.
    pub fn build_ring(self, entries: u32, wait: WaitMode) -> io::Result<IoUring> {
        let mut builder = IoUring::builder();
        match self {
            Self::DeferTaskrun => builder.setup_single_issuer().setup_defer_taskrun(),
            Self::CoopTaskrun => builder.setup_coop_taskrun().setup_taskrun_flag(),
            Self::Interrupt => &mut builder,
        };
        if self == Self::DeferTaskrun && wait != WaitMode::Sleep {
            builder.setup_taskrun_flag();
        }
        builder.build(entries.next_power_of_two())
    }

    /// The best mode that works on this system.
    ///
    /// # Errors
    /// Why not even a plain ring can be created, or that waiting with a timeout is unsupported
    /// (kernel before 5.11).
    pub fn probe_best() -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::Unsupported);
        for setup in Self::ALL_MODES {
            match setup.build_ring(2, WaitMode::Sleep) {
                Ok(ring) if ring.params().is_feature_ext_arg() => return Ok(setup),
                Ok(_) => return Err(io::ErrorKind::Unsupported.into()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Registers the file of a plan, which the kernel does not look up for each request then.
pub fn register_file(ring: &IoUring, file: RawFd) -> bool {
    ring.submitter().register_files(&[file]).is_ok()
}

/// Registers the memory of all buffers as one, so that the kernel does not pin it for each request.
/// RLIMIT_MEMLOCK or the kernel's limit of 1 GiB may forbid it.
///
/// # Safety
/// The memory must stay mapped until the ring is destroyed.
pub unsafe fn register_buffers(ring: &IoUring, memory: libc::iovec) -> bool {
    // SAFETY: the caller keeps the memory mapped.
    unsafe { ring.submitter().register_buffers(&[memory]) }.is_ok()
}
