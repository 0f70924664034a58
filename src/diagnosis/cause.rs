//! Results of a diagnosis.

use std::time::Duration;

use super::code::{CauseCode, Certainty, Severity};
use super::file_server::AwaitedServer;
use super::measurement::{Measurement, Quantity};
use super::remedy::Remedy;
use crate::files::safe_text::SafeText;
use crate::probe::system::device_health::RaidAction;

/// What was found in a window.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Diagnosis {
    /// End of the window, RFC 3339.
    pub time: SafeText,
    /// Length of the window.
    pub window: Duration,
    /// The causes; the first is the conclusion.
    pub causes: Vec<Cause>,
    /// Causes that were ruled out, with the values that rule them out.
    pub ruled_out: Vec<(CauseCode, Vec<Measurement>)>,
    /// Causes that could not be examined, and why.
    pub not_examined: Vec<(CauseCode, NotExamined)>,
    /// Values of the machine, which prove that nothing is wrong where nothing is.
    pub machine: Vec<Measurement>,
    /// Requests that were traced as proof; `None` where no device was traced.
    pub traced_requests: Option<u64>,
}

impl Diagnosis {
    /// Whether something is wrong: a note alone is no problem.
    #[must_use]
    pub fn is_problem(&self) -> bool {
        self.causes
            .iter()
            .any(|cause| cause.severity >= Severity::Warning)
    }

    /// Removes the measures for one process, where another one may have its number.
    pub fn remove_process_remedies(&mut self) {
        for cause in &mut self.causes {
            cause.remedies.retain(|remedy| !remedy.acts_on_process());
        }
    }

    /// Keeps of the measures what is still right when the diagnosis is read later: another process may have
    /// a number then, and another file system may be mounted in a place.
    pub fn keep_lasting_remedies(&mut self) {
        self.remove_process_remedies();
        for remedy in self.causes.iter_mut().flat_map(|it| &mut it.remedies) {
            if let Remedy::LazyUnmount { mount, .. } = remedy {
                *mount = None;
            }
        }
    }
}

/// Why a cause could not be examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotExamined {
    /// It needs rights that this user does not have.
    NotPermitted,
    /// The kernel does not report it.
    NotReported,
    /// A recording does not contain it.
    NotRecorded,
    /// The window is too short.
    WindowTooShort,
}

/// A process that causes or suffers.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Party {
    /// Process id.
    pub pid: u32,
    /// Command line.
    pub command: SafeText,
    /// Its service, container or session.
    pub unit: Option<SafeText>,
    /// For who causes: share of the traffic or of the requests, 0 to 1. For who suffers: fraction of
    /// the time in which it was blocked.
    pub share: Option<f64>,
}

/// What distinguishes a cause from the others of a diagnosis, and makes it the same one in the next:
/// what it is and where.
pub type CauseKey = (CauseCode, Option<SafeText>);

/// A cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Cause {
    /// What distinguishes it from others with the same code.
    pub detail: CauseDetail,
    /// How serious it is.
    pub severity: Severity,
    /// How it was established.
    pub certainty: Certainty,
    /// The device.
    pub device: Option<SafeText>,
    /// The proof.
    pub evidence: Vec<Measurement>,
    /// Who causes it, the largest share first.
    pub culprits: Vec<Party>,
    /// Who suffers, who waits most first.
    pub victims: Vec<Party>,
    /// When it was first seen, RFC 3339.
    pub since: SafeText,
    /// What helps, safe measures first.
    pub remedies: Vec<Remedy>,
    /// Whether another cause explains it.
    pub consequence_of: Option<CauseCode>,
}

impl Cause {
    /// What distinguishes it from others.
    #[must_use]
    pub fn key(&self) -> CauseKey {
        (self.code(), self.device.clone())
    }

    /// A cause without a device, parties and remedies, seen for the first time at `since`.
    #[must_use]
    pub fn new(detail: CauseDetail, severity: Severity, since: &SafeText) -> Self {
        Self {
            detail,
            severity,
            certainty: Certainty::Probable,
            device: None,
            evidence: Vec::new(),
            culprits: Vec::new(),
            victims: Vec::new(),
            since: since.clone(),
            remedies: Vec::new(),
            consequence_of: None,
        }
    }

    /// Its code.
    #[must_use]
    pub fn code(&self) -> CauseCode {
        self.detail.code()
    }

    /// The first value of a quantity in the proof.
    #[must_use]
    pub fn value(&self, quantity: Quantity) -> Option<f64> {
        let mut evidence = self.evidence.iter();
        evidence
            .find(|it| it.quantity == quantity)
            .map(|it| it.value)
    }
}

/// What distinguishes a cause.
#[derive(Debug, Clone, PartialEq)]
pub enum CauseDetail {
    /// Others wait because one process takes most of the device, or, without a culprit, because
    /// many processes compete for it.
    DeviceSaturated {
        /// Whether it serves one request at a time.
        serial: bool,
    },
    /// The device answers slowly although little is requested.
    DeviceSlow {
        /// Whether the throughput is constant, as at the limit of a virtual disk.
        at_fixed_rate: bool,
    },
    /// A control group reaches its limit on the device.
    CgroupThrottled {
        /// Path of the group.
        group: SafeText,
        /// Its name.
        unit: SafeText,
    },
    /// Writers are throttled.
    DirtyThrottled,
    /// Tasks wait for flushes and commits.
    SyncStorm,
    /// Swapping.
    SwapThrashing,
    /// Refaults.
    CacheThrashing,
    /// A RAID is busy with itself.
    RaidResync {
        /// What it does.
        action: RaidAction,
    },
    /// The kernel logged errors.
    DriveErrors {
        /// The last message.
        message: Option<SafeText>,
    },
    /// The link is slower than the drive supports.
    LinkDegraded,
    /// A task does not get any further.
    HungIo {
        /// Kernel function that it waits in.
        wait_channel: Option<SafeText>,
        /// Its kernel stack, innermost function first.
        stack: Vec<SafeText>,
    },
    /// A file system's server does not answer.
    Stalled {
        /// The server.
        server: AwaitedServer,
    },
    /// A file in many pieces.
    Fragmented {
        /// The file.
        path: SafeText,
    },
    /// One request at a time.
    QueueStarved,
    /// A file system has no space left.
    FileSystemFull {
        /// Where it is mounted.
        mount_point: SafeText,
        /// Whether it is the inodes that are used up.
        inodes: bool,
    },
    /// A maintenance program.
    Maintenance,
    /// A setting.
    SetupUnfit {
        /// What was observed and what it costs.
        reason: SafeText,
    },
    /// Not I/O: the processors, or else the memory.
    NotIo {
        /// Whether it is the memory.
        memory: bool,
    },
}

impl CauseDetail {
    /// The code.
    #[must_use]
    pub fn code(&self) -> CauseCode {
        match self {
            Self::DeviceSaturated { .. } => CauseCode::DeviceSaturated,
            Self::DeviceSlow { .. } => CauseCode::DeviceSlow,
            Self::CgroupThrottled { .. } => CauseCode::CgroupThrottled,
            Self::DirtyThrottled => CauseCode::DirtyThrottled,
            Self::SyncStorm => CauseCode::SyncStorm,
            Self::SwapThrashing => CauseCode::SwapThrashing,
            Self::CacheThrashing => CauseCode::CacheThrashing,
            Self::RaidResync { .. } => CauseCode::RaidResync,
            Self::DriveErrors { .. } => CauseCode::DriveErrors,
            Self::LinkDegraded => CauseCode::LinkDegraded,
            Self::HungIo { .. } => CauseCode::HungIo,
            Self::Stalled { .. } => CauseCode::FuseOrNetworkStalled,
            Self::Fragmented { .. } => CauseCode::Fragmented,
            Self::QueueStarved => CauseCode::QueueStarved,
            Self::FileSystemFull { .. } => CauseCode::FileSystemFull,
            Self::Maintenance => CauseCode::Maintenance,
            Self::SetupUnfit { .. } => CauseCode::SetupUnfit,
            Self::NotIo { .. } => CauseCode::NotIo,
        }
    }
}
