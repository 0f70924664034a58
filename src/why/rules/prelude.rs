//! The words of the rules: what each of them uses.

pub(super) use crate::files::safe_text::SafeText;
pub(super) use crate::files::shell;
pub(super) use crate::stats::sorting::SortList as _;
pub(super) use crate::units;
pub(super) use crate::why::analysis::{Analysis, DeviceSummary, ProcessSummary, Waiter};
pub(super) use crate::why::blame::{Blame, SUFFERING, blame, parties, suffer};
pub(super) use crate::why::cause::{
    Cause, Certainty, NotExamined, Party, Remedy, RemedyReach, Severity,
};
pub(super) use crate::why::device_load::{
    SATURATED_TIME, burst_text, busiest, busiest_evidence, is_overloaded, is_risen, latency_text,
    prove_load, saturated_time, severity,
};
pub(super) use crate::why::evidence::*;
pub(super) use crate::why::parties::{culprit, name, names, program, victim};
pub(super) use crate::why::remedies::{
    against, continue_process, exact_path, health_of, kernel_log, memory_users, pause_of,
    trace_requests,
};
pub(super) use crate::why::rule::Examination;
pub(super) use crate::why::wait_kind::{FUSE, WaitKind, client_of_file_system};
