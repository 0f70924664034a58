//! A comparison of the page's sessions: ratios with confidence intervals, and charts with the
//! curves of all sides.

use super::charts::chart_heading;
use super::escape::escape_html;
use super::parts::html_table;
use super::plot::{HtmlCurve, HtmlPlot};
use super::{PresentationLookup, format_timestamp};
use crate::safe_text::SafeText;
use crate::session::chart::{ChartShape, ChartSpec};
use crate::session::compare::{
    BaselineRatio, ChartOverlay, ComparedBenchmark, ComparedMetric, Comparison, DifferingParameter,
    MetricSample, RatioJudgement, UnmatchedMeasurement,
};

/// The comparison's section of the page, below a title that is already escaped.
pub(super) fn comparison_section(
    comparison: &Comparison,
    title: &str,
    presentations: &PresentationLookup<'_>,
) -> String {
    let side = |(index, side): (usize, &crate::session::compare::ComparedSession)| {
        format!(
            "<li class=\"c{}\">{} <span>{}, {}</span></li>",
            index % 6,
            escape_html(&side.name),
            escape_html(side.host.as_deref().unwrap_or("unknown host")),
            escape_html(&format_timestamp(&side.started)),
        )
    };
    let sides: String = comparison.sessions.iter().enumerate().map(side).collect();
    let tests: String = comparison
        .benchmarks
        .iter()
        .map(|test| benchmark_section(test, comparison, presentations))
        .collect();
    let mismatches: String = comparison
        .mismatches
        .iter()
        .map(|it| mismatch_notice(it, comparison))
        .collect();
    let refused = if mismatches.is_empty() {
        mismatches
    } else {
        format!("<h3>Not compared</h3><ul>{mismatches}</ul>\n")
    };
    format!(
        "<section class=\"run\"><header class=\"session\"><h1>{title}</h1>\
         <ul class=\"legend sides\">{sides}</ul></header>\n{tests}{refused}</section>\n"
    )
}

fn benchmark_section(
    test: &ComparedBenchmark,
    comparison: &Comparison,
    presentations: &PresentationLookup<'_>,
) -> String {
    let presentation = presentations(&test.benchmark).unwrap_or_default();
    let charts: String = test
        .charts
        .iter()
        .map(|overlay| overlay_chart(overlay, comparison, presentation.charts))
        .collect();
    format!(
        "<h2>{}</h2>\n<p class=\"soft\">{}</p>\n{}{}{}<div class=\"charts\">\n{charts}</div>\n",
        escape_html(&test.benchmark),
        escape_html(&test.parameters.join(", ")),
        differing_parameters(test, comparison),
        cautions_section(test, comparison),
        metrics_table(test, comparison),
    )
}

/// The ignored parameters with the values of every side.
fn differing_parameters(test: &ComparedBenchmark, comparison: &Comparison) -> String {
    let values = |index: usize, parameter: &DifferingParameter| {
        let side = comparison.sessions.get(index)?;
        let value = parameter.value_of(index)?;
        Some(format!("{value} ({})", side.name))
    };
    test.differing
        .iter()
        .map(|parameter| {
            let sides = 0..comparison.sessions.len();
            let values: Vec<String> = sides.filter_map(|side| values(side, parameter)).collect();
            let words = format!("ignored: {}", values.join(", "));
            format!("<p class=\"soft\">{}</p>\n", escape_html(&words))
        })
        .collect()
}

fn cautions_section(test: &ComparedBenchmark, comparison: &Comparison) -> String {
    let sides = test.targets.iter().zip(&comparison.sessions);
    let known = sides.filter_map(|(measured, side)| Some((measured.as_ref()?, side)));
    known
        .flat_map(|(measured, side)| measured.cautions.iter().map(move |caution| (caution, side)))
        .map(|(caution, side)| {
            format!(
                "<div class=\"verdict warning\"><p><b>{}: {}</b> {}</p></div>\n",
                escape_html(&side.name),
                escape_html(&caution.code.to_string()),
                escape_html(&caution.evidence),
            )
        })
        .collect()
}

fn metrics_table(test: &ComparedBenchmark, comparison: &Comparison) -> String {
    let name = |side: &crate::session::compare::ComparedSession| {
        format!("<th class=\"n\">{}</th>", escape_html(&side.name))
    };
    let mut head = String::from("<th>figure</th>");
    for (index, side) in comparison.sessions.iter().enumerate() {
        head.push_str(&name(side));
        if index > 0 {
            head.push_str("<th class=\"n\">ratio, 95 % CI</th><th></th>");
        }
    }
    let rows: String = test
        .metrics
        .iter()
        .map(|it| metric_row(it, comparison))
        .collect();
    let baseline = comparison.sessions.get(test.baseline);
    let baseline = baseline.map_or("", |side| side.name.as_str());
    let note = format!("Ratios are to {baseline}, or to the first side that has the figure.");
    format!(
        "{}<p class=\"soft\">{}</p>\n",
        html_table("Figures", &head, &rows),
        escape_html(&note)
    )
}

fn metric_row(figure: &ComparedMetric, comparison: &Comparison) -> String {
    let cell = |(index, sample): (usize, &Option<MetricSample>)| {
        let value = sample
            .as_ref()
            .map_or_else(|| "n/a".to_owned(), |it| figure.metric_of(it).value_text());
        let against = sample
            .as_ref()
            .and_then(|sample| sample.against_baseline.as_ref());
        let ratio = if index == 0 {
            String::new()
        } else {
            ratio_cell(against, comparison)
        };
        format!("<td class=\"n\">{value}</td>{ratio}")
    };
    let cells: String = figure.samples.iter().enumerate().map(cell).collect();
    format!("<tr><td>{}</td>{cells}</tr>", escape_html(&figure.label()))
}

fn ratio_cell(against: Option<&BaselineRatio>, comparison: &Comparison) -> String {
    let Some(against) = against else {
        return "<td></td><td></td>".to_owned();
    };
    let limits = match (against.low, against.high) {
        (Some(low), Some(high)) => format!(" <span class=\"soft\">{low:.3} to {high:.3}</span>"),
        _ => String::new(),
    };
    let class = match against.judgement {
        Some(RatioJudgement::Faster) => "good",
        Some(RatioJudgement::Slower) => "trouble",
        Some(RatioJudgement::NoSignificantDifference | RatioJudgement::NotDetermined) | None => {
            "soft"
        }
    };
    let mut words = against
        .judgement
        .map_or("", RatioJudgement::description)
        .to_owned();
    for it in &against.not_determined {
        let side = comparison.sessions.get(it.session);
        let name = side.map_or("", |side| side.name.as_str());
        words.push_str(&format!(
            "; {name}: {}",
            it.missing_interval_of.description()
        ));
    }
    format!(
        "<td class=\"n\">{:.3}{limits}</td><td class=\"{class}\">{}</td>",
        against.ratio,
        escape_html(&words)
    )
}

fn overlay_chart(overlay: &ChartOverlay, comparison: &Comparison, charts: &[ChartSpec]) -> String {
    let fallback = ChartSpec::new("", ChartShape::Line, &[]);
    let described = charts
        .iter()
        .find(|chart| chart.series.contains(&overlay.name.as_str()));
    let style = described.unwrap_or(&fallback);
    let title = match described {
        Some(chart) => chart.title.to_owned(),
        None => chart_heading(&overlay.y, &overlay.x),
    };
    // The colour depends on the index of the side, even if one side has no such curve.
    let curves = comparison
        .sessions
        .iter()
        .enumerate()
        .map(|(index, side)| HtmlCurve {
            name: side.name.clone().into(),
            intervals: Vec::new(),
            points: overlay
                .curves
                .iter()
                .find(|curve| curve.session == index)
                .map(|curve| curve.points.clone())
                .unwrap_or_default(),
        });
    HtmlPlot {
        title: &title,
        x: &overlay.x,
        y: &overlay.y,
        // Stacked bars of several sides cannot be drawn next to each other.
        shape: if style.shape == ChartShape::StackedBars {
            ChartShape::Bars
        } else {
            style.shape
        },
        log_x: style.log_x || overlay.log_x,
        log_y: style.log_y,
        from_zero: style.from_zero,
        curves: curves.collect(),
        marked_values: Vec::new(),
    }
    .render_figure()
}

fn mismatch_notice(mismatch: &UnmatchedMeasurement, comparison: &Comparison) -> String {
    let names = |sides: &[usize]| {
        let known = sides
            .iter()
            .filter_map(|side| comparison.sessions.get(*side));
        let names: Vec<&str> = known.map(|side| side.name.as_str()).collect();
        names.join(", ")
    };
    let value = |value: &Option<SafeText>| value.clone().unwrap_or_else(|| "unset".into());
    let differences: Vec<String> = mismatch
        .differences
        .iter()
        .map(|it| {
            let (first, other) = (value(&it.first), value(&it.other));
            format!("{} is {first}, not {other}", it.parameter)
        })
        .collect();
    let lacking = names(&mismatch.missing_in);
    let reason = if differences.is_empty() {
        format!("no run of it in {lacking}")
    } else {
        format!("against {lacking}: {}", differences.join(", "))
    };
    let words = format!(
        "{} of {}: {reason}",
        mismatch.benchmark,
        names(&mismatch.present_in)
    );
    format!("<li>{}</li>", escape_html(&words))
}
