//! Words that the text, the page and the screens have in common.

use crate::files::safe_text::SafeText;
use crate::session::compare::{
    BaselineRatio, ChartOverlay, ComparedBenchmark, ComparedMetric, DifferingParameter,
    MissingInterval, UnmatchedMeasurement,
};
use crate::session::document::Severity;
use crate::text::wrap_words;

/// Width of text output in columns.
const TEXT_WIDTH: usize = 80;

/// The word for a severity; more severe ones are in capitals.
#[must_use]
pub fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "WARNING",
        Severity::Invalid => "INVALID",
    }
}

/// Label of a side: A, B, C ... and beyond the alphabet its number.
#[must_use]
pub fn session_letter(side: usize) -> String {
    u8::try_from(side)
        .ok()
        .filter(|side| *side < 26)
        .map_or_else(
            || format!("#{}", side + 1),
            |side| char::from(b'A' + side).to_string(),
        )
}

/// Appends words in lines of at most 80 columns, each after the indent.
pub(super) fn append_wrapped(text: &mut String, indent: &str, words: &str) {
    let lines = wrap_words(words, TEXT_WIDTH - indent.len()).into_iter();
    for line in lines.filter(|line| !line.is_empty()) {
        text.push_str(indent);
        text.push_str(&line);
        text.push('\n');
    }
}

/// Formats a time as `2 January 2026, 03:04 +00:00`; RFC 3339 has a `T` and many decimals.
pub(super) fn time_text(rfc3339: &str) -> String {
    let Ok(time) = rfc3339.parse::<jiff::Timestamp>() else {
        return rfc3339.to_owned();
    };
    let offset = jiff::fmt::strtime::parse("%Y-%m-%dT%H:%M:%S%.f%:z", rfc3339)
        .ok()
        .and_then(|parsed| parsed.offset())
        .unwrap_or(jiff::tz::Offset::UTC);
    let zoned = time.to_zoned(jiff::tz::TimeZone::fixed(offset));
    zoned.strftime("%-d %B %Y, %H:%M %:z").to_string()
}

impl BaselineRatio {
    /// Ratio, its 95 % confidence interval, and the judgement; what is not determined is empty.
    #[must_use]
    pub fn ratio_columns(&self) -> [String; 3] {
        let limits = match (self.low, self.high) {
            (Some(low), Some(high)) => format!("{low:.3}-{high:.3}"),
            _ => String::new(),
        };
        let words = match self.judgement {
            None => "",
            Some(judgement) => judgement.description(),
        };
        [format!("{:.3}", self.ratio), limits, words.to_owned()]
    }
}

/// Labels of several sides, such as `A, C, D`.
#[must_use]
pub fn session_letters(sides: &[usize]) -> String {
    let letters: Vec<String> = sides.iter().map(|side| session_letter(*side)).collect();
    letters.join(", ")
}

impl DifferingParameter {
    /// The value of one side, such as `depth 1`; `None` if it has none.
    #[must_use]
    pub fn value_of(&self, side: usize) -> Option<SafeText> {
        let values = self.values.get(side).filter(|values| !values.is_empty())?;
        let values: Vec<&str> = values.iter().map(parameter_text).collect();
        Some(format!("{} {}", self.parameter, values.join(" and ")).into())
    }

    /// The values with the sides that have them, such as `depth 1 (A, C), 32 (B)`.
    #[must_use]
    pub fn values_text(&self) -> String {
        let mut distinct: Vec<(&Vec<Option<SafeText>>, Vec<usize>)> = Vec::new();
        let known = self.values.iter().enumerate();
        for (side, values) in known.filter(|(_, values)| !values.is_empty()) {
            match distinct.iter_mut().find(|(other, _)| *other == values) {
                Some((_, sides)) => sides.push(side),
                None => distinct.push((values, vec![side])),
            }
        }
        let each = distinct.into_iter().map(|(values, sides)| {
            let values: Vec<&str> = values.iter().map(parameter_text).collect();
            format!("{} ({})", values.join(" and "), session_letters(&sides))
        });
        let each: Vec<String> = each.collect();
        format!("{} {}", self.parameter, each.join(", "))
    }
}

impl ComparedBenchmark {
    /// Why metrics are `not determined`: one sentence for each reason and its sides.
    #[must_use]
    pub fn not_determined_reasons(&self) -> Vec<String> {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for metric in &self.metrics {
            for reason in metric.not_determined_reasons() {
                match reasons.iter_mut().find(|(known, _)| *known == reason) {
                    Some((_, labels)) => labels.push(metric.label()),
                    None => reasons.push((reason, vec![metric.label()])),
                }
            }
        }
        let sentence = |(reason, labels): (String, Vec<String>)| {
            format!("not determined, {reason}: {}", labels.join(", "))
        };
        reasons.into_iter().map(sentence).collect()
    }
}

impl ComparedMetric {
    /// Why ratios of the metric are not determined, each reason once, such as
    /// `run too short (A, C)`.
    fn not_determined_reasons(&self) -> Vec<String> {
        let samples = self.samples.iter().flatten();
        let against = samples.filter_map(|sample| sample.against_baseline.as_ref());
        let mut reasons: Vec<(MissingInterval, Vec<usize>)> = Vec::new();
        for it in against.flat_map(|against| &against.not_determined) {
            match reasons
                .iter_mut()
                .find(|(known, _)| *known == it.missing_interval_of)
            {
                Some((_, sides)) if sides.contains(&it.session) => {}
                Some((_, sides)) => sides.push(it.session),
                None => reasons.push((it.missing_interval_of, vec![it.session])),
            }
        }
        let words = |(reason, sides): (MissingInterval, Vec<usize>)| {
            format!("{} ({})", reason.description(), session_letters(&sides))
        };
        reasons.into_iter().map(words).collect()
    }
}

/// A parameter's value for display.
fn parameter_text(value: &Option<SafeText>) -> &str {
    value.as_ref().map_or("unset", SafeText::as_str)
}

impl UnmatchedMeasurement {
    /// What was not compared, and why.
    #[must_use]
    pub fn sentence(&self) -> String {
        let (have, lack) = (
            session_letters(&self.present_in),
            session_letters(&self.missing_in),
        );
        if self.differences.is_empty() {
            let verb = |sides: &[usize]| if sides.len() == 1 { "has" } else { "have" };
            let (has, lacks) = (verb(&self.present_in), verb(&self.missing_in));
            let benchmark = &self.benchmark;
            return format!("{benchmark}: {have} {has} it, {lack} {lacks} no run of it");
        }
        let differences: Vec<String> = self
            .differences
            .iter()
            .map(|it| {
                let (first, other) = (parameter_text(&it.first), parameter_text(&it.other));
                format!("{} {first} ({have}) is not {other} ({lack})", it.parameter)
            })
            .collect();
        format!("{}: {}", self.benchmark, differences.join(", "))
    }
}

impl ChartOverlay {
    /// Title of the chart: the quantities on its axes.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} against {}", self.y.name, self.x.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::compare::{ParameterDifference, RatioJudgement};

    #[test]
    fn sessions_are_labelled_by_letters_then_numbers() {
        assert_eq!([0, 1, 25, 26].map(session_letter), ["A", "B", "Z", "#27"]);
    }

    #[test]
    fn ratio_text_includes_interval_and_judgement() {
        let against = |low, judgement| BaselineRatio {
            ratio: 1.25,
            low,
            high: Some(1.3),
            judgement,
            not_determined: Vec::new(),
        };
        let words = |low, judgement| against(low, judgement).ratio_columns();
        assert_eq!(
            words(Some(1.2), Some(RatioJudgement::Faster)),
            ["1.250", "1.200-1.300", "better"]
        );
        assert_eq!(
            words(None, Some(RatioJudgement::NotDetermined)),
            ["1.250", "", "not determined"]
        );
        assert_eq!(words(None, None), ["1.250", "", ""]);
    }

    #[test]
    fn mismatch_text_names_differing_parameters() {
        let mut mismatch = UnmatchedMeasurement {
            present_in: vec![1],
            missing_in: vec![0, 2],
            benchmark: "mixed".into(),
            differences: Vec::new(),
        };
        assert_eq!(
            mismatch.sentence(),
            "mixed: B has it, A, C have no run of it"
        );
        mismatch.differences.push(ParameterDifference {
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
    fn differing_parameter_text_lists_values_of_every_session() {
        let some = |values: &[&str]| values.iter().map(|it| Some((*it).into())).collect();
        let depth = DifferingParameter {
            parameter: "depth".into(),
            values: vec![some(&["1"]), some(&["1", "8"]), Vec::new(), some(&["1"])],
        };
        assert_eq!(depth.values_text(), "depth 1 (A, D), 1 and 8 (B)");
        let rate = DifferingParameter {
            parameter: "rate".into(),
            values: vec![vec![None], some(&["100/s"])],
        };
        assert_eq!(rate.values_text(), "rate unset (A), 100/s (B)");
    }
}
