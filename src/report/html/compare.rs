//! A comparison of the sessions of a page: ratios with their limits, and charts with the curves of
//! all sides.

use super::charts::heading;
use super::escape::text;
use super::parts::table;
use super::plot::{Curve, Plot};
use super::{Presentations, moment};
use crate::safe_text::SafeText;
use crate::session::chart::{Chart, Shape};
use crate::session::compare::{
    Against, ComparedFigure, ComparedTest, Comparison, DifferingParameter, Judgement, Mismatch,
    Overlay, Sample,
};

/// The comparison's part of the page, below a title that is escaped already.
pub(super) fn section(
    comparison: &Comparison,
    title: &str,
    presentations: &Presentations<'_>,
) -> String {
    let side = |(index, side): (usize, &crate::session::compare::Side)| {
        format!(
            "<li class=\"c{}\">{} <span>{}, {}</span></li>",
            index % 6,
            text(&side.name),
            text(side.host.as_deref().unwrap_or("unknown host")),
            text(&moment(&side.started)),
        )
    };
    let sides: String = comparison.sides.iter().enumerate().map(side).collect();
    let tests: String = comparison
        .tests
        .iter()
        .map(|test| compared(test, comparison, presentations))
        .collect();
    let mismatches: String = comparison
        .mismatches
        .iter()
        .map(|it| refused(it, comparison))
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

fn compared(
    test: &ComparedTest,
    comparison: &Comparison,
    presentations: &Presentations<'_>,
) -> String {
    let presentation = presentations(&test.test).unwrap_or_default();
    let charts: String = test
        .charts
        .iter()
        .map(|overlay| chart(overlay, comparison, presentation.charts))
        .collect();
    format!(
        "<h2>{}</h2>\n<p class=\"soft\">{}</p>\n{}{}{}<div class=\"charts\">\n{charts}</div>\n",
        text(&test.test),
        text(&test.parameters.join(", ")),
        differing(test, comparison),
        cautions(test, comparison),
        figures(test, comparison),
    )
}

/// The ignored parameters with the values of every side.
fn differing(test: &ComparedTest, comparison: &Comparison) -> String {
    let values = |index: usize, parameter: &DifferingParameter| {
        let side = comparison.sides.get(index)?;
        let value = parameter.of(index)?;
        Some(format!("{value} ({})", side.name))
    };
    test.differing
        .iter()
        .map(|parameter| {
            let sides = 0..comparison.sides.len();
            let values: Vec<String> = sides.filter_map(|side| values(side, parameter)).collect();
            let words = format!("ignored: {}", values.join(", "));
            format!("<p class=\"soft\">{}</p>\n", text(&words))
        })
        .collect()
}

fn cautions(test: &ComparedTest, comparison: &Comparison) -> String {
    let sides = test.measured.iter().zip(&comparison.sides);
    let known = sides.filter_map(|(measured, side)| Some((measured.as_ref()?, side)));
    known
        .flat_map(|(measured, side)| measured.cautions.iter().map(move |caution| (caution, side)))
        .map(|(caution, side)| {
            format!(
                "<div class=\"verdict warning\"><p><b>{}: {}</b> {}</p></div>\n",
                text(&side.name),
                text(&caution.code),
                text(&caution.evidence),
            )
        })
        .collect()
}

fn figures(test: &ComparedTest, comparison: &Comparison) -> String {
    let name =
        |side: &crate::session::compare::Side| format!("<th class=\"n\">{}</th>", text(&side.name));
    let mut head = String::from("<th>figure</th>");
    for (index, side) in comparison.sides.iter().enumerate() {
        head.push_str(&name(side));
        if index > 0 {
            head.push_str("<th class=\"n\">ratio, 95 % CI</th><th></th>");
        }
    }
    let rows: String = test.figures.iter().map(|it| row(it, comparison)).collect();
    let baseline = comparison.sides.get(test.baseline);
    let baseline = baseline.map_or("", |side| side.name.as_str());
    let note = format!("Ratios are to {baseline}, or to the first side that has the figure.");
    format!(
        "{}<p class=\"soft\">{}</p>\n",
        table("Figures", &head, &rows),
        text(&note)
    )
}

fn row(figure: &ComparedFigure, comparison: &Comparison) -> String {
    let cell = |(index, sample): (usize, &Option<Sample>)| {
        let value = sample
            .as_ref()
            .map_or_else(|| "n/a".to_owned(), |it| figure.of(it).text());
        let against = sample
            .as_ref()
            .and_then(|sample| sample.against_baseline.as_ref());
        let ratio = if index == 0 {
            String::new()
        } else {
            ratio(against, comparison)
        };
        format!("<td class=\"n\">{value}</td>{ratio}")
    };
    let cells: String = figure.sides.iter().enumerate().map(cell).collect();
    format!("<tr><td>{}</td>{cells}</tr>", text(&figure.label()))
}

fn ratio(against: Option<&Against>, comparison: &Comparison) -> String {
    let Some(against) = against else {
        return "<td></td><td></td>".to_owned();
    };
    let limits = match (against.low, against.high) {
        (Some(low), Some(high)) => format!(" <span class=\"soft\">{low:.3} to {high:.3}</span>"),
        _ => String::new(),
    };
    let class = match against.judgement {
        Some(Judgement::Faster) => "good",
        Some(Judgement::Slower) => "trouble",
        Some(Judgement::NoSignificantDifference | Judgement::NotDetermined) | None => "soft",
    };
    let mut words = against.judgement.map_or("", Judgement::words).to_owned();
    for it in &against.not_determined {
        let side = comparison.sides.get(it.side);
        let name = side.map_or("", |side| side.name.as_str());
        words.push_str(&format!("; {name}: {}", it.reason.words()));
    }
    format!(
        "<td class=\"n\">{:.3}{limits}</td><td class=\"{class}\">{}</td>",
        against.ratio,
        text(&words)
    )
}

fn chart(overlay: &Overlay, comparison: &Comparison, charts: &[Chart]) -> String {
    let fallback = Chart::new("", Shape::Line, &[]);
    let described = charts
        .iter()
        .find(|chart| chart.series.contains(&overlay.name.as_str()));
    let style = described.unwrap_or(&fallback);
    let title = match described {
        Some(chart) => chart.title.to_owned(),
        None => heading(&overlay.y, &overlay.x),
    };
    // The colour goes by the place among the sides, also where one of them has no such curve.
    let curves = comparison
        .sides
        .iter()
        .enumerate()
        .map(|(index, side)| Curve {
            name: side.name.clone().into(),
            intervals: Vec::new(),
            points: overlay
                .curves
                .iter()
                .find(|curve| curve.side == index)
                .map(|curve| curve.points.clone())
                .unwrap_or_default(),
        });
    Plot {
        title: &title,
        x: &overlay.x,
        y: &overlay.y,
        // Parts that lie one on the other cannot be set beside those of another side.
        shape: if style.shape == Shape::StackedBars {
            Shape::Bars
        } else {
            style.shape
        },
        log_x: style.log_x || overlay.log_x,
        log_y: style.log_y,
        from_zero: style.from_zero,
        curves: curves.collect(),
        marks: Vec::new(),
    }
    .figure()
}

fn refused(mismatch: &Mismatch, comparison: &Comparison) -> String {
    let names = |sides: &[usize]| {
        let known = sides.iter().filter_map(|side| comparison.sides.get(*side));
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
    let lacking = names(&mismatch.lacking);
    let reason = if differences.is_empty() {
        format!("no run of it in {lacking}")
    } else {
        format!("against {lacking}: {}", differences.join(", "))
    };
    let words = format!("{} of {}: {reason}", mismatch.test, names(&mismatch.sides));
    format!("<li>{}</li>", text(&words))
}
