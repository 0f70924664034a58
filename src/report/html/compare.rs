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
    Against, ComparedFigure, ComparedTest, Comparison, Judgement, Mismatch, Overlay, Sample,
};
use crate::session::document::Figure;

/// The comparison's part of the page.
pub(super) fn section(comparison: &Comparison, presentations: &Presentations<'_>) -> String {
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
        "<section class=\"run\"><header class=\"session\"><h1>Comparison</h1>\
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
        "<h2>{}</h2>\n<p class=\"soft\">{}</p>\n{}{}<div class=\"charts\">\n{charts}</div>\n",
        text(&test.test),
        text(&test.parameters.join(", ")),
        cautions(test, comparison),
        figures(test, comparison),
    )
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
            head.push_str("<th class=\"n\">ratio to the first</th><th></th>");
        }
    }
    let rows: String = test.figures.iter().map(row).collect();
    table("Figures", &head, &rows)
}

fn row(figure: &ComparedFigure) -> String {
    let cell = |(index, sample): (usize, &Option<Sample>)| {
        let value = sample
            .as_ref()
            .map_or_else(|| "n/a".to_owned(), |it| figure.of(it).text());
        let against = sample
            .as_ref()
            .and_then(|sample| sample.against_first.as_ref());
        let ratio = if index == 0 {
            String::new()
        } else {
            ratio(against)
        };
        format!("<td class=\"n\">{value}</td>{ratio}")
    };
    let cells: String = figure.sides.iter().enumerate().map(cell).collect();
    let label = Figure::new(&figure.name, 0.0, figure.unit).label();
    format!("<tr><td>{}</td>{cells}</tr>", text(&label))
}

fn ratio(against: Option<&Against>) -> String {
    let Some(against) = against else {
        return "<td></td><td></td>".to_owned();
    };
    let limits = match (against.low, against.high) {
        (Some(low), Some(high)) => format!(" <span class=\"soft\">{low:.3} to {high:.3}</span>"),
        _ => String::new(),
    };
    let (class, words) = match against.judgement {
        Some(Judgement::Faster) => ("good", "faster"),
        Some(Judgement::Slower) => ("trouble", "slower"),
        Some(Judgement::CannotTell) => ("soft", "cannot tell"),
        None => ("soft", ""),
    };
    format!(
        "<td class=\"n\">{:.3}{limits}</td><td class=\"{class}\">{words}</td>",
        against.ratio
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
    let side = |index: usize| {
        comparison
            .sides
            .get(index)
            .map_or("", |side| side.name.as_str())
    };
    let differences: Vec<String> = mismatch
        .differences
        .iter()
        .map(|it| {
            let value = |value: &Option<SafeText>| value.clone().unwrap_or_else(|| "unset".into());
            format!(
                "{} is {}, not {}",
                it.parameter,
                value(&it.first),
                value(&it.other)
            )
        })
        .collect();
    let reason = if differences.is_empty() {
        format!("{} has no run of it", side(mismatch.lacking))
    } else {
        format!(
            "against {}: {}",
            side(mismatch.lacking),
            differences.join(", ")
        )
    };
    let words = format!("{} of {}: {reason}", mismatch.test, side(mismatch.side));
    format!("<li>{}</li>", text(&words))
}
