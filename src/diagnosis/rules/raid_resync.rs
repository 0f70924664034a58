//! A software RAID is rebuilt or checked.

use super::examination::Examination;
use crate::diagnosis::analysis::Analysis;
use crate::diagnosis::blame::{SUFFERING, parties};
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::safe_text::SafeText;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some((_, facts)) = &analysis.window.facts else {
        return Examination::NotExamined(NotExamined::NotRecorded);
    };
    let causes = facts
        .devices
        .iter()
        .filter_map(|raid| {
            let name = SafeText::from(&raid.name);
            let waiting: Vec<_> = analysis.waiters_on(&name, SUFFERING).collect();
            let severity = if waiting.is_empty() {
                Severity::Note
            } else {
                Severity::Warning
            };
            let detail = CauseDetail::RaidResync {
                action: raid.raid_action?,
            };
            let mut cause = Cause::new(detail, severity, analysis.begin());
            cause.certainty = Certainty::Confirmed;
            let members = analysis
                .device(&name)
                .map(|it| it.underlying.clone())
                .unwrap_or_default();
            for member in members
                .iter()
                .filter_map(|member| analysis.device(member))
                .take(2)
            {
                cause.evidence.push(Measurement::of(
                    &member.name,
                    Quantity::Throughput,
                    member.throughput,
                ));
                cause.evidence.push(Measurement::of(
                    &member.name,
                    Quantity::Utilization,
                    member.busy,
                ));
            }
            if let Some(waiter) = waiting.first() {
                cause.evidence.push(Measurement::of(
                    &waiter.command,
                    Quantity::BlockedTime,
                    waiter.blocked,
                ));
            }
            cause.victims = parties(&waiting);
            cause.remedies = vec![Remedy::SlowResync {
                device: name.clone(),
            }];
            cause.device = Some(name);
            Some(cause)
        })
        .collect();
    Examination::of(causes, Vec::new)
}
