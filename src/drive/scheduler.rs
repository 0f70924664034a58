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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadline_scheduler_serves_io_classes_since_5_14() {
        for (scheduler, kernel, expected) in [
            ("bfq", "4.18.0-553.el8.x86_64", Some(true)),
            ("mq-deadline", "5.10.0-28-amd64", Some(false)),
            ("mq-deadline", "5.14.0-427.el9.x86_64", Some(true)),
            ("mq-deadline", "unknown", None),
            ("none", "unknown", Some(false)),
        ] {
            assert_eq!(serves_io_classes(scheduler, kernel.parse().ok()), expected);
        }
    }
}
