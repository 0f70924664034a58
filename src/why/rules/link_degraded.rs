//! The link to a drive is slower than both ends support.

use super::prelude::*;
use crate::probe::system::device_health::LinkSpeed;

/// Fraction of the supported speed below which a link is degraded.
const DEGRADED: f64 = 0.75;
/// Fraction of the link's speed from which it is the limit: protocol overhead is the rest.
const LIMITING: f64 = 0.7;

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    if analysis.facts().is_none() {
        return Err(NotExamined::NotRecorded);
    }
    let links = links(analysis);
    if links.is_empty() {
        return Err(NotExamined::NotReported(
            "no drive reports the speed of its link",
        ));
    }
    let degraded = links
        .iter()
        .filter(|(_, link)| link.current < link.supported * DEGRADED);
    let causes = degraded.map(|(name, link)| {
        let used = analysis.device(name).map_or(0.0, |it| it.throughput);
        let severity = Severity::warning_if(used >= link.current * LIMITING);
        let mut cause = analysis.proven(severity).on(name);
        cause.prove(name, LINK, link.current);
        cause.prove(name, LINK_SUPPORTED, link.supported);
        cause.prove(name, THROUGHPUT, used);
        cause.remedies.push(kernel_log());
        cause.sentence = format!(
            "{name} is connected at {}, although {} are supported.",
            units::format_throughput(link.current),
            units::format_throughput(link.supported)
        );
        cause
    });
    Ok(causes.collect())
}

pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let links = links(analysis).into_iter().take(1);
    let current = links.map(|(name, link)| Evidence::of(&name, LINK, link.current));
    current.collect()
}

fn links(analysis: &Analysis<'_>) -> Vec<(SafeText, LinkSpeed)> {
    let devices = analysis.facts().into_iter().flat_map(|it| &it.devices);
    let links = devices.filter_map(|device| Some((SafeText::from(&device.name), device.link?)));
    links.collect()
}
