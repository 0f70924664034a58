//! The figures of two sessions and their ratio.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::comparison::of_side;
use crate::session::compare::{ComparedFigure, ComparedTest, Judgement, Sample, words::letter};
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::text::cut_end;

/// Columns between two of the table's, where there is room.
const GAP: usize = 2;
/// The column that leaves first: the 95 % interval of the ratio.
const INTERVAL: usize = 4;
/// Labels are cut before they take more than this.
const LABEL: usize = 26;

/// One line of the table: label, both values, ratio, its interval, judgement.
struct Row {
    cells: [String; 6],
    judgement: Meaning,
}

/// The table of a pair of sides, headed.
pub(super) fn lines(
    test: &ComparedTest,
    pair: Option<(usize, usize)>,
    look: Look,
    width: u16,
) -> Vec<Line<'static>> {
    let Some(pair) = pair else {
        let text = "no figure is on two sides: nothing to compare";
        return vec![Line::styled(text, look.style(Meaning::Faint))];
    };
    let mut rows: Vec<Row> = test
        .figures
        .iter()
        .filter_map(|figure| row(figure, pair, look))
        .collect();
    let (baseline, other) = (letter(pair.0), letter(pair.1));
    let ratio = format!("{other}/{baseline}");
    let heading = ["Figures", &baseline, &other, &ratio, "95 % CI", ""];
    rows.insert(
        0,
        Row {
            cells: heading.map(str::to_owned),
            judgement: Meaning::Faint,
        },
    );
    let layout = layout(&rows, usize::from(width));
    let drawn = rows.iter().enumerate();
    drawn
        .map(|(place, row)| line(row, place == 0, pair, &layout, look))
        .collect()
}

fn row(figure: &ComparedFigure, (baseline, other): (usize, usize), look: Look) -> Option<Row> {
    if figure.baseline != baseline {
        return None;
    }
    let of = |side: usize| figure.sides.get(side)?.as_ref();
    let (first, sample) = (of(baseline)?, of(other)?);
    let value = |sample: &Sample| figure.of(sample).text();
    let against = sample.against_baseline.as_ref();
    let [ratio, interval, words] = against.map(|it| it.words()).unwrap_or_default();
    let judgement = match against.and_then(|against| against.judgement) {
        Some(Judgement::Faster) => Meaning::Good,
        Some(Judgement::Slower) => Meaning::Waiting,
        Some(Judgement::NoSignificantDifference | Judgement::NotDetermined) | None => {
            Meaning::Faint
        }
    };
    Some(Row {
        cells: [
            cut_end(&figure.label(), LABEL as u16, look),
            value(first),
            value(sample),
            ratio,
            interval,
            words,
        ],
        judgement,
    })
}

/// How the columns are laid out.
struct ColumnLayout {
    /// How wide each is; 0 where there is no room for it.
    widths: [usize; 6],
    /// Columns between two of them.
    gap: usize,
}

/// Where room is short the gaps shrink first, then the interval leaves.
fn layout(rows: &[Row], room: usize) -> ColumnLayout {
    let mut widths = [0; 6];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.width());
        }
    }
    let gaps = widths.len() - 1;
    let fits = |widths: &[usize], gap: usize| widths.iter().sum::<usize>() + gap * gaps <= room;
    let gap = if fits(&widths, GAP) { GAP } else { 1 };
    if !fits(&widths, gap) {
        widths[INTERVAL] = 0;
    }
    let gap = if fits(&widths, GAP) { GAP } else { 1 };
    ColumnLayout { widths, gap }
}

fn line(
    row: &Row,
    heading: bool,
    (baseline, other): (usize, usize),
    layout: &ColumnLayout,
    look: Look,
) -> Line<'static> {
    let mut line = Line::default();
    let gap = layout.gap;
    for (column, (cell, width)) in row.cells.iter().zip(&layout.widths).enumerate() {
        if *width == 0 {
            continue;
        }
        let meaning = match (column, heading) {
            (0, true) => Meaning::Title,
            (1, true) => of_side(baseline),
            (2, true) => of_side(other),
            (_, true) | (0 | INTERVAL, false) => Meaning::Faint,
            (5, false) => row.judgement,
            _ => Meaning::Plain,
        };
        let text = match column {
            0 => format!("{cell:width$}"),
            5 => format!("{:gap$}{cell}", ""),
            _ => format!("{:gap$}{cell:>width$}", ""),
        };
        line.push_span(Span::styled(text, look.style(meaning)));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::sample::{run, session};
    use crate::session::compare::{Input, compare};

    fn table(width: u16) -> Vec<String> {
        let sessions = [("iops", 100.0), ("iops", 150.0)]
            .map(|(name, value)| session("web-07", vec![run(name, value, 1.0)]));
        let [first, other] = sessions.each_ref().map(|session| Input {
            name: "one",
            session,
        });
        let comparison = compare(&[first, other], &[]);
        let lines = lines(&comparison.tests[0], Some((0, 1)), Look::FULL, width);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn values_ratio_and_judgement_stand_in_columns() {
        assert_eq!(
            table(80),
            [
                "Figures       A       B    B/A      95 % CI  ",
                "IOPS     100 /s  150 /s  1.500  1.482-1.518  faster",
            ]
        );
    }

    #[test]
    fn the_gaps_shrink_first_and_then_the_interval_leaves() {
        let row = |width| table(width)[1].clone();
        assert_eq!(
            row(51),
            "IOPS     100 /s  150 /s  1.500  1.482-1.518  faster"
        );
        assert_eq!(row(50), "IOPS    100 /s 150 /s 1.500 1.482-1.518 faster");
        assert_eq!(row(44), "IOPS     100 /s  150 /s  1.500  faster");
    }
}
