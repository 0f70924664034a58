//! The link to a drive is slower than both ends support.

use super::prelude::*;
use crate::probe::system::device_health::LinkSpeed;

pub(super) use super::prelude::no_evidence as evidence;

/// Fraction of the supported speed below which a link is degraded.
const DEGRADED: f64 = 0.75;
/// Fraction of the link's speed from which it is the limit: protocol overhead is the rest.
const LIMITING: f64 = 0.7;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    let facts = analysis.facts().ok_or(NotExamined::NotRecorded)?;
    let devices = facts.devices.iter();
    let links = devices.filter_map(|it| Some((SafeText::from(&it.name), it.link?)));
    let links: Vec<(SafeText, LinkSpeed)> = links.collect();
    if links.is_empty() {
        let reason = "no drive reports the speed of its link";
        return Err(NotExamined::NotReported(reason));
    }
    let slow = links.iter();
    let slow = slow.filter(|(_, link)| link.current < link.supported * DEGRADED);
    Ok(slow.map(|it| cause(analysis, it)).collect())
}

fn cause(analysis: &Analysis<'_>, (name, link): &(SafeText, LinkSpeed)) -> Cause {
    let used = analysis.device(name).map_or(0.0, |it| it.throughput);
    let severity = Severity::warning_if(used >= link.current * LIMITING);
    let mut cause = analysis.proven(severity).on(name);
    cause.prove(name, LINK, link.current);
    cause.prove(name, LINK_SUPPORTED, link.supported);
    cause.prove(name, THROUGHPUT, used);
    cause.remedies.push(kernel_log());
    let advice = "a drive that is seated anew, another cable or another slot";
    cause.remedies.push(Remedy::advice(advice));
    let [now, best] = [link.current, link.supported].map(units::format_throughput);
    cause.sentence = format!("{name} is connected at {now}, although {best} are supported.");
    cause
}
