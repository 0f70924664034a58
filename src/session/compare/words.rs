//! A comparison in words: the same on the screen and in the report.

use super::{
    Against, ComparedFigure, ComparedTest, DifferingParameter, Mismatch, MissingInterval, Overlay,
};
use crate::safe_text::SafeText;

/// What a side goes by: A, B, C ... and beyond the alphabet its number.
#[must_use]
pub fn letter(side: usize) -> String {
    u8::try_from(side)
        .ok()
        .filter(|side| *side < 26)
        .map_or_else(
            || format!("#{}", side + 1),
            |side| char::from(b'A' + side).to_string(),
        )
}

impl Against {
    /// Ratio, its 95 % interval, and the judgement; what is unknown is empty.
    #[must_use]
    pub fn words(&self) -> [String; 3] {
        let limits = match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{low:.3}-{high:.3}"),
            _ => String::new(),
        };
        let words = match self.judgement {
            None => "",
            Some(judgement) => judgement.words(),
        };
        [format!("{:.3}", self.ratio), limits, words.to_owned()]
    }
}

/// Several sides: `A, C, D`.
#[must_use]
pub fn letters(sides: &[usize]) -> String {
    let letters: Vec<String> = sides.iter().map(|side| letter(*side)).collect();
    letters.join(", ")
}

impl DifferingParameter {
    /// The value of one side: `depth 1`; `None` where it has none.
    #[must_use]
    pub fn of(&self, side: usize) -> Option<SafeText> {
        let values = self.values.get(side).filter(|values| !values.is_empty())?;
        let values: Vec<&str> = values.iter().map(value).collect();
        Some(format!("{} {}", self.parameter, values.join(" and ")).into())
    }

    /// The values with the sides that have them: `depth 1 (A, C), 32 (B)`.
    #[must_use]
    pub fn words(&self) -> String {
        let mut distinct: Vec<(&Vec<Option<SafeText>>, Vec<usize>)> = Vec::new();
        let known = self.values.iter().enumerate();
        for (side, values) in known.filter(|(_, values)| !values.is_empty()) {
            match distinct.iter_mut().find(|(other, _)| *other == values) {
                Some((_, sides)) => sides.push(side),
                None => distinct.push((values, vec![side])),
            }
        }
        let each = distinct.into_iter().map(|(values, sides)| {
            let values: Vec<&str> = values.iter().map(value).collect();
            format!("{} ({})", values.join(" and "), letters(&sides))
        });
        let each: Vec<String> = each.collect();
        format!("{} {}", self.parameter, each.join(", "))
    }
}

impl ComparedTest {
    /// Why figures are `not determined`: one sentence for each reason and its sides.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for figure in &self.figures {
            for reason in figure.reasons() {
                match reasons.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, labels)) => labels.push(figure.label()),
                    None => reasons.push((reason, vec![figure.label()])),
                }
            }
        }
        let sentence = |(reason, labels): (String, Vec<String>)| {
            format!("not determined, {reason}: {}", labels.join(", "))
        };
        reasons.into_iter().map(sentence).collect()
    }
}

impl ComparedFigure {
    /// Why ratios of it are not determined, each reason once: `run too short (A, C)`.
    fn reasons(&self) -> Vec<String> {
        let samples = self.sides.iter().flatten();
        let against = samples.filter_map(|sample| sample.against_baseline.as_ref());
        let mut reasons: Vec<(MissingInterval, Vec<usize>)> = Vec::new();
        for it in against.flat_map(|against| &against.not_determined) {
            match reasons.iter_mut().find(|(known, _)| *known == it.reason) {
                Some((_, sides)) if sides.contains(&it.side) => {}
                Some((_, sides)) => sides.push(it.side),
                None => reasons.push((it.reason, vec![it.side])),
            }
        }
        let words = |(reason, sides): (MissingInterval, Vec<usize>)| {
            format!("{} ({})", reason.words(), letters(&sides))
        };
        reasons.into_iter().map(words).collect()
    }
}

/// A parameter's value.
fn value(value: &Option<SafeText>) -> &str {
    value.as_ref().map_or("unset", SafeText::as_str)
}

impl Mismatch {
    /// What was not compared, and why.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (have, lack) = (letters(&self.sides), letters(&self.lacking));
        if self.differences.is_empty() {
            let has = if self.sides.len() == 1 { "has" } else { "have" };
            let lacks = if self.lacking.len() == 1 {
                "has"
            } else {
                "have"
            };
            return format!(
                "{}: {have} {has} it, {lack} {lacks} no run of it",
                self.test
            );
        }
        let differences: Vec<String> = self
            .differences
            .iter()
            .map(|it| {
                let (first, other) = (value(&it.first), value(&it.other));
                format!("{} {first} ({have}) is not {other} ({lack})", it.parameter)
            })
            .collect();
        format!("{}: {}", self.test, differences.join(", "))
    }
}

impl Overlay {
    /// What is drawn against what.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} against {}", self.y.name, self.x.name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Difference, Judgement};
    use super::*;

    #[test]
    fn sides_go_by_letters_then_numbers() {
        assert_eq!([0, 1, 25, 26].map(letter), ["A", "B", "Z", "#27"]);
    }

    #[test]
    fn a_ratio_is_written_with_its_interval_and_judgement() {
        let against = |low, judgement| Against {
            ratio: 1.25,
            low,
            high: Some(1.3),
            judgement,
            not_determined: Vec::new(),
        };
        let words = |low, judgement| against(low, judgement).words();
        assert_eq!(
            words(Some(1.2), Some(Judgement::Faster)),
            ["1.250", "1.200-1.300", "faster"]
        );
        assert_eq!(
            words(None, Some(Judgement::NotDetermined)),
            ["1.250", "", "not determined"]
        );
        assert_eq!(words(None, None), ["1.250", "", ""]);
    }

    #[test]
    fn a_mismatch_names_what_differs() {
        let mut mismatch = Mismatch {
            sides: vec![1],
            lacking: vec![0, 2],
            test: "mixed".into(),
            differences: Vec::new(),
        };
        assert_eq!(
            mismatch.sentence(),
            "mixed: B has it, A, C have no run of it"
        );
        mismatch.differences.push(Difference {
            parameter: "rate".into(),
            first: Some("100/s".into()),
            other: None,
        });
        assert_eq!(
            mismatch.sentence(),
            "mixed: rate 100/s (B) is not unset (A, C)"
        );
    }

    #[test]
    fn a_differing_parameter_is_listed_with_the_values_of_every_side() {
        let some = |values: &[&str]| values.iter().map(|it| Some((*it).into())).collect();
        let depth = DifferingParameter {
            parameter: "depth".into(),
            values: vec![some(&["1"]), some(&["1", "8"]), Vec::new(), some(&["1"])],
        };
        assert_eq!(depth.words(), "depth 1 (A, D), 1 and 8 (B)");
        let rate = DifferingParameter {
            parameter: "rate".into(),
            values: vec![vec![None], some(&["100/s"])],
        };
        assert_eq!(rate.words(), "rate unset (A), 100/s (B)");
    }
}
