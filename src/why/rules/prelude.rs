//! The words of the rules: what each of them uses.

pub(super) use crate::files::safe_text::SafeText;
pub(super) use crate::files::shell;
pub(super) use crate::stats::sorting::SortList as _;
pub(super) use crate::units;
pub(super) use crate::why::analysis::{
    Analysis, DeviceSummary, ProcessInstance, ProcessSummary, Waiter,
};
pub(super) use crate::why::blame::{SUFFERING, blame, parties, suffer};
pub(super) use crate::why::cause::{Cause, NotExamined, Party, Remedy, Severity, names};
pub(super) use crate::why::evidence::*;
pub(super) use crate::why::load::{
    SATURATED_TIME, burst_text, busiest, busiest_evidence, is_overloaded, latency_text, lowest,
    prove_load, saturated_time,
};
pub(super) use crate::why::remedies::{
    against, continue_process, exact_path, health_of, kernel_log, memory_users, pause_of,
    trace_requests,
};
pub(super) use crate::why::wait_kind::{AT_DEVICE, FUSE, WaitKind, client_of_file_system};

/// What a rule finds.
pub(super) type Found = Result<Vec<Cause>, NotExamined>;

/// No values: nothing that could be measured rules the cause out.
pub(super) fn no_evidence(_: &Analysis<'_>) -> Vec<Evidence> {
    Vec::new()
}
