//! The link to a drive is slower than both ends support.

use super::examination::Examination;
use crate::diagnosis::analysis::Analysis;
use crate::diagnosis::cause::{Cause, CauseDetail, NotExamined};
use crate::diagnosis::code::{Certainty, Severity};
use crate::diagnosis::measurement::{Measurement, Quantity};
use crate::diagnosis::remedy::Remedy;
use crate::files::safe_text::SafeText;

/// Fraction of the supported speed below which a link is degraded.
const DEGRADED: f64 = 0.75;
/// Fraction of the link's speed from which it is the limit: protocol overhead is the rest.
const LIMITING: f64 = 0.7;

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let Some((_, facts)) = &analysis.window.facts else {
        return Examination::NotExamined(NotExamined::NotRecorded);
    };
    let links: Vec<_> = facts
        .devices
        .iter()
        .filter_map(|device| Some((SafeText::from(&device.name), device.link?)))
        .collect();
    if links.is_empty() {
        return Examination::NotExamined(NotExamined::NotReported);
    }
    let causes = links
        .iter()
        .filter(|(_, link)| link.current < link.supported * DEGRADED)
        .map(|(name, link)| {
            let used = analysis
                .device(name)
                .map_or(0.0, |device| device.throughput);
            let severity = match used >= link.current * LIMITING {
                true => Severity::Warning,
                false => Severity::Note,
            };
            let mut cause = Cause::new(CauseDetail::LinkDegraded, severity, analysis.begin());
            cause.certainty = Certainty::Confirmed;
            cause.device = Some(name.clone());
            cause.evidence = vec![
                Measurement::of(name, Quantity::LinkSpeed, link.current),
                Measurement::of(name, Quantity::LinkSupported, link.supported),
                Measurement::of(name, Quantity::Throughput, used),
            ];
            cause.remedies = vec![Remedy::ShowKernelLog];
            cause
        })
        .collect();
    Examination::of(causes, || {
        links
            .iter()
            .map(|(name, link)| Measurement::of(name, Quantity::LinkSpeed, link.current))
            .take(3)
            .collect()
    })
}
