//! A ring with the best settings that this kernel knows.

use std::io;
use std::os::fd::RawFd;

use io_uring::IoUring;

/// How completions get from the kernel to us, the best first (io_uring_setup(2)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompletionMode {
    /// `IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN`: when we ask (kernel 6.1).
    DeferTaskrun,
    /// `IORING_SETUP_COOP_TASKRUN`: when we enter the kernel anyway (5.19).
    CoopTaskrun,
    /// By interrupting us.
    Interrupt,
}

impl CompletionMode {
    /// All, the best first.
    pub const ALL_MODES: [Self; 3] = [Self::DeferTaskrun, Self::CoopTaskrun, Self::Interrupt];

    /// The words for the list of features.
    #[must_use]
    pub fn features(self) -> &'static [&'static str] {
        match self {
            Self::DeferTaskrun => &["single-issuer", "defer-taskrun"],
            Self::CoopTaskrun => &["coop-taskrun"],
            Self::Interrupt => &[],
        }
    }

    /// A ring for that many requests in flight.
    ///
    /// # Errors
    /// When the kernel does not know this setting or allows no ring at all.
    pub fn build_ring(self, entries: u32) -> io::Result<IoUring> {
        let mut builder = IoUring::builder();
        match self {
            Self::DeferTaskrun => builder.setup_single_issuer().setup_defer_taskrun(),
            Self::CoopTaskrun => builder.setup_coop_taskrun().setup_taskrun_flag(),
            Self::Interrupt => &mut builder,
        };
        builder.build(entries.next_power_of_two())
    }

    /// The best setting that works here.
    ///
    /// # Errors
    /// Why not even a plain ring can be had, or that waiting with a time limit is missing (kernel
    /// before 5.11).
    pub fn probe_best() -> io::Result<Self> {
        let mut last = io::Error::from(io::ErrorKind::Unsupported);
        for setup in Self::ALL_MODES {
            match setup.build_ring(2) {
                Ok(ring) if ring.params().is_feature_ext_arg() => return Ok(setup),
                Ok(_) => return Err(io::ErrorKind::Unsupported.into()),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

/// Registers the one file, so that the kernel need not look it up at each request.
pub fn register_file(ring: &IoUring, file: RawFd) -> bool {
    ring.submitter().register_files(&[file]).is_ok()
}

/// Registers the whole of the buffers' memory as one, so that the kernel need not pin it at each
/// request; the limit RLIMIT_MEMLOCK or the kernel's limit of 1 GiB may forbid it.
///
/// # Safety
/// The memory must stay mapped until the ring is gone.
pub unsafe fn register_buffers(ring: &IoUring, memory: libc::iovec) -> bool {
    // SAFETY: the caller keeps the memory mapped.
    unsafe { ring.submitter().register_buffers(&[memory]) }.is_ok()
}
