//! The figures of the first session and another, and their ratio.

use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::comparison::of_side;
use crate::session::compare::{ComparedFigure, ComparedTest, Judgement, Sample, words::letter};
use crate::session::document::Figure;
use crate::ui::look::{Look, Meaning};
use crate::ui::widgets::text::cut_end;

/// Columns between two of the table's.
const GAP: usize = 2;
/// The column that leaves first: the limits of the ratio.
const LIMITS: usize = 4;
/// Labels are cut before they take more than this.
const LABEL: usize = 26;

/// One line of the table: label, both values, ratio, limits, judgement.
struct Row {
    cells: [String; 6],
    judgement: Meaning,
}

/// The table, headed; one sentence where there is nothing to set against each other.
pub(super) fn lines(
    test: &ComparedTest,
    other: usize,
    look: Look,
    width: u16,
) -> Vec<Line<'static>> {
    let mut rows: Vec<Row> = test
        .figures
        .iter()
        .filter_map(|figure| row(figure, other, look))
        .collect();
    if rows.is_empty() {
        let text = format!("{} has no figure to set against A's", letter(other));
        return vec![Line::styled(text, look.style(Meaning::Faint))];
    }
    let name = letter(other);
    let heading = ["Figures", "A", &name, &format!("{name}/A"), "95 %", ""];
    rows.insert(
        0,
        Row {
            cells: heading.map(str::to_owned),
            judgement: Meaning::Faint,
        },
    );
    let widths = widths(&rows, usize::from(width));
    let drawn = rows.iter().enumerate();
    drawn
        .map(|(place, row)| line(row, place == 0, other, &widths, look))
        .collect()
}

fn row(figure: &ComparedFigure, other: usize, look: Look) -> Option<Row> {
    let of = |side: usize| figure.sides.get(side)?.as_ref();
    let (first, sample) = (of(0)?, of(other)?);
    let value = |sample: &Sample| figure.of(sample).text();
    let against = sample.against_first.as_ref();
    let [ratio, limits, words] = against.map(|it| it.words()).unwrap_or_default();
    let judgement = match against.and_then(|against| against.judgement) {
        Some(Judgement::Faster) => Meaning::Good,
        Some(Judgement::Slower) => Meaning::Waiting,
        Some(Judgement::CannotTell) | None => Meaning::Faint,
    };
    let label = Figure::new(&figure.name, first.value, figure.unit).label();
    Some(Row {
        cells: [
            cut_end(&label, LABEL as u16, look),
            value(first),
            value(sample),
            ratio,
            limits,
            words,
        ],
        judgement,
    })
}

/// How wide each column is; 0 where there is no room for it.
fn widths(rows: &[Row], room: usize) -> [usize; 6] {
    let mut widths = [0; 6];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = (*width).max(cell.width());
        }
    }
    let total: usize = widths.iter().sum::<usize>() + GAP * (widths.len() - 1);
    if total > room {
        widths[LIMITS] = 0;
    }
    widths
}

fn line(row: &Row, heading: bool, other: usize, widths: &[usize; 6], look: Look) -> Line<'static> {
    let mut line = Line::default();
    for (column, (cell, width)) in row.cells.iter().zip(widths).enumerate() {
        if *width == 0 {
            continue;
        }
        let meaning = match (column, heading) {
            (0, true) => Meaning::Title,
            (1, true) => of_side(0),
            (2, true) => of_side(other),
            (_, true) | (0 | LIMITS, false) => Meaning::Faint,
            (5, false) => row.judgement,
            _ => Meaning::Plain,
        };
        let text = match column {
            0 => format!("{cell:width$}"),
            5 => format!("{:GAP$}{cell}", ""),
            _ => format!("{:GAP$}{cell:>width$}", ""),
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
        let lines = lines(&comparison.tests[0], 1, Look::FULL, width);
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn values_ratio_and_judgement_stand_in_columns() {
        assert_eq!(
            table(80),
            [
                "Figures       A       B    B/A            95 %  ",
                "IOPS     100 /s  150 /s  1.500  1.482 to 1.518  faster",
            ]
        );
    }

    #[test]
    fn the_limits_leave_first() {
        assert_eq!(table(50)[1], "IOPS     100 /s  150 /s  1.500  faster");
    }
}
