//! What the I/O schedulers of the kernel do.

use procfs::sys::kernel::Version;

/// The first kernel in which mq-deadline serves I/O classes (block/mq-deadline.c).
const MQ_DEADLINE_CLASSES_SINCE: Version = Version {
    major: 5,
    minor: 14,
    patch: 0,
};

/// Whether a scheduler serves requests by their I/O class (kernel Documentation/block/ioprio.rst); `None`
/// where that depends on the kernel, which is not known.
#[must_use]
pub fn serves_io_classes(scheduler: &str, kernel: Option<Version>) -> Option<bool> {
    match scheduler {
        "bfq" => Some(true),
        "mq-deadline" => kernel.map(|kernel| kernel >= MQ_DEADLINE_CLASSES_SINCE),
        _ => Some(false),
    }
}
