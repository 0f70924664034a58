//! The link to a drive is slower than both ends support.

use crate::files::safe_text::SafeText;
use crate::units;
use crate::why::analysis::Analysis;
use crate::why::cause::{NotExamined, Severity};
use crate::why::evidence::{Evidence, Metric, THROUGHPUT, rate};
use crate::why::remedies::kernel_log;
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "link-degraded",
    explains: &[],
    examine,
};

/// Fraction of the supported speed below which a link is degraded.
const DEGRADED: f64 = 0.75;
/// Fraction of the link's speed from which it is the limit: protocol overhead is the rest.
const LIMITING: f64 = 0.7;
/// Links that are listed where none is degraded.
const MAX_LISTED: usize = 3;
/// Negotiated throughput of the link, and what the drive supports.
const LINK: Metric = rate("link", "link", "/sys/block/*/device");
const SUPPORTED: Metric = rate("link_supported", "supported", "/sys/block/*/device");

fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some((_, facts)) = &analysis.window.facts else {
        return Examination::NotExamined(NotExamined::NotRecorded);
    };
    let devices = facts.devices.iter();
    let links: Vec<_> = devices
        .filter_map(|device| Some((SafeText::from(&device.name), device.link?)))
        .collect();
    if links.is_empty() {
        let reason = NotExamined::NotReported("no drive reports the speed of its link");
        return Examination::NotExamined(reason);
    }
    let mut causes = Vec::new();
    for (name, link) in &links {
        if link.current >= link.supported * DEGRADED {
            continue;
        }
        let used = analysis.device(name).map_or(0.0, |it| it.throughput);
        let severity = if used >= link.current * LIMITING {
            Severity::Warning
        } else {
            Severity::Note
        };
        let mut cause = analysis.cause(RULE.code, severity).confirmed().on(name);
        cause.prove(name, LINK, link.current);
        cause.prove(name, SUPPORTED, link.supported);
        cause.prove(name, THROUGHPUT, used);
        cause.remedies.push(kernel_log());
        cause.headline = format!(
            "{name} is connected at {}, although {} are supported",
            units::format_throughput(link.current),
            units::format_throughput(link.supported)
        );
        cause.sentence = format!("{}.", cause.headline);
        causes.push(cause);
    }
    Examination::of(causes, || {
        let links = links.iter().take(MAX_LISTED);
        links
            .map(|(name, link)| Evidence::of(name, LINK, link.current))
            .collect()
    })
}
