//! The link to a drive is slower than both ends support.

use super::prelude::*;

/// Fraction of the supported speed below which a link is degraded.
const DEGRADED: f64 = 0.75;
/// Fraction of the link's speed from which it is the limit: protocol overhead is the rest.
const LIMITING: f64 = 0.7;
/// Links that are listed where none is degraded.
const MAX_LISTED: usize = 3;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some(facts) = analysis.facts() else {
        return Examination::NotExamined(NotExamined::NotRecorded);
    };
    let devices = facts.devices.iter();
    let links = devices.filter_map(|device| Some((SafeText::from(&device.name), device.link?)));
    let links: Vec<_> = links.collect();
    if links.is_empty() {
        let reason = NotExamined::NotReported("no drive reports the speed of its link");
        return Examination::NotExamined(reason);
    }
    let degraded = links
        .iter()
        .filter(|(_, link)| link.current < link.supported * DEGRADED);
    let causes = degraded.map(|(name, link)| {
        let used = analysis.device(name).map_or(0.0, |it| it.throughput);
        let severity = Severity::warning_if(used >= link.current * LIMITING);
        let mut cause = analysis.cause(severity).confirmed().on(name);
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
    Examination::of(causes.collect(), || {
        let listed = links.iter().take(MAX_LISTED);
        listed
            .map(|(name, link)| Evidence::of(name, LINK, link.current))
            .collect()
    })
}
