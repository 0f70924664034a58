//! A comparison in words: the same on the screen and in the report.

use super::{Against, Mismatch, Overlay};
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
    /// Ratio, its limits, and the judgement; what is unknown is empty.
    #[must_use]
    pub fn words(&self) -> [String; 3] {
        let limits = match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
            _ => String::new(),
        };
        let words = match self.judgement {
            None => "",
            Some(_) if limits.is_empty() => "cannot tell: no limits",
            Some(judgement) => judgement.words(),
        };
        [format!("{:.3}", self.ratio), limits, words.to_owned()]
    }
}

impl Mismatch {
    /// What was not compared, and why.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (has, lacks) = (letter(self.side), letter(self.lacking));
        if self.differences.is_empty() {
            return format!("{}: {has} has it, {lacks} has no run of it", self.test);
        }
        let value = |value: &Option<SafeText>| value.clone().unwrap_or_else(|| "unset".into());
        let differences: Vec<String> = self
            .differences
            .iter()
            .map(|it| {
                let (first, other) = (value(&it.first), value(&it.other));
                format!("{} {first} ({has}) is not {other} ({lacks})", it.parameter)
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
    fn what_has_no_limits_decides_nothing() {
        let against = |low, judgement| Against {
            ratio: 1.25,
            low,
            high: Some(1.3),
            judgement,
        };
        let words = |low, judgement| against(low, judgement).words();
        let faster = Some(Judgement::Faster);
        assert_eq!(
            words(Some(1.2), faster),
            ["1.250", "1.200 to 1.300", "faster"]
        );
        assert_eq!(words(None, faster), ["1.250", "", "cannot tell: no limits"]);
        assert_eq!(words(None, None), ["1.250", "", ""]);
    }

    #[test]
    fn a_mismatch_names_what_differs() {
        let mut mismatch = Mismatch {
            side: 1,
            lacking: 0,
            test: "mixed".into(),
            differences: Vec::new(),
        };
        assert_eq!(mismatch.sentence(), "mixed: B has it, A has no run of it");
        mismatch.differences.push(Difference {
            parameter: "rate".into(),
            first: Some("100/s".into()),
            other: None,
        });
        assert_eq!(
            mismatch.sentence(),
            "mixed: rate 100/s (B) is not unset (A)"
        );
    }
}
