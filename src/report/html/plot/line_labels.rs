//! Vertical lines at named values, with their names beside them.

use maud::{Markup, html};

use super::frame::{CHART_WIDTH, LABEL_CHAR_WIDTH, LABEL_ROW_HEIGHT, PLOT_TOP, px, vertical_mark};

/// Distance of a label from its line.
const LABEL_GAP: f64 = 4.0;

/// The label of a line, on the side of the line that has more space.
#[derive(Debug, PartialEq)]
struct LineLabel<'n> {
    name: &'n str,
    position: f64,
    is_left: bool,
    /// Rows down from the upper edge, so that no two labels overlap.
    row: usize,
}

impl LineLabel<'_> {
    /// Left and right end.
    fn extent(&self) -> [f64; 2] {
        let length = self.name.chars().count() as f64 * LABEL_CHAR_WIDTH;
        match self.is_left {
            true => [self.position - LABEL_GAP - length, self.position],
            false => [self.position, self.position + LABEL_GAP + length],
        }
    }

    fn overlaps(&self, other: &Self) -> bool {
        let ([left, right], [other_left, other_right]) = (self.extent(), other.extent());
        self.row == other.row && left < other_right && other_left < right
    }

    fn markup(&self) -> Markup {
        let (anchor, shift) = match self.is_left {
            true => ("end", -LABEL_GAP),
            false => ("start", LABEL_GAP),
        };
        let baseline = PLOT_TOP + 10.0 + self.row as f64 * LABEL_ROW_HEIGHT;
        html! {
            (vertical_mark(self.position, PLOT_TOP))
            text.name x=(px(self.position + shift)) y=(px(baseline)) text-anchor=(anchor) {
                (self.name)
            }
        }
    }
}

/// Each label in the first row where it overlaps no other.
fn place_labels<'n>(lines: impl Iterator<Item = (&'n str, f64)>) -> Vec<LineLabel<'n>> {
    let mut placed: Vec<LineLabel> = Vec::new();
    for (name, position) in lines {
        let mut label = LineLabel {
            name,
            position,
            is_left: position > CHART_WIDTH / 2.0,
            row: 0,
        };
        while placed.iter().any(|other| label.overlaps(other)) {
            label.row += 1;
        }
        placed.push(label);
    }
    placed
}

/// Vertical lines at these positions with their names, and the height of the rows of names.
pub(super) fn labelled_lines<'n>(lines: impl Iterator<Item = (&'n str, f64)>) -> (Markup, f64) {
    let labels = place_labels(lines);
    let rows = labels.iter().map(|label| label.row + 1).max().unwrap_or(0);
    let markup = html! { @for label in &labels { (label.markup()) } };
    (markup, rows as f64 * LABEL_ROW_HEIGHT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_that_would_overlap_are_in_different_rows() {
        let lines = [
            ("optimal queue depth 16", 338.0),
            ("knee queue depth 32", 408.0),
            ("start", 70.0),
        ];
        let rows: Vec<usize> = place_labels(lines.into_iter())
            .iter()
            .map(|label| label.row)
            .collect();
        assert_eq!(rows, [0, 1, 0]);
    }
}
