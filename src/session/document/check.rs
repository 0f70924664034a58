//! Validity checks, and the verdict of one that did not pass.

use std::borrow::Cow;

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::severity::Severity;
use crate::files::safe_text;
use crate::files::safe_text::SafeText;

/// A validity check. The text of its verdicts is made where its condition is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// Stable identifier, such as `served-from-cache`.
    pub code: &'static str,
    /// How strongly it affects the validity of the metrics.
    pub severity: Severity,
    /// What it means, as a sentence.
    pub meaning: &'static str,
}

/// Why a check did not pass.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// The measured values, by name, in the units of the document.
    pub facts: Map<String, Value>,
    /// The same as a sentence without period.
    pub sentence: String,
    /// What to do about it, as a sentence without period.
    pub advice: Cow<'static, str>,
}

impl Found {
    /// `facts` is a JSON object, or null where nothing was measured.
    #[must_use]
    pub fn new(
        sentence: impl Into<String>,
        advice: impl Into<Cow<'static, str>>,
        facts: Value,
    ) -> Self {
        let facts = match facts {
            Value::Object(facts) => facts,
            _ => Map::new(),
        };
        Self {
            facts,
            sentence: sentence.into(),
            advice: advice.into(),
        }
    }
}

impl Check {
    /// A check that gives additional information.
    #[must_use]
    pub const fn note(code: &'static str, meaning: &'static str) -> Self {
        Self {
            code,
            severity: Severity::Note,
            meaning,
        }
    }

    /// A check for metrics that are probably misleading.
    #[must_use]
    pub const fn warning(code: &'static str, meaning: &'static str) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::note(code, meaning)
        }
    }

    /// A check for metrics that do not measure what the benchmark is for.
    #[must_use]
    pub const fn invalid(code: &'static str, meaning: &'static str) -> Self {
        Self {
            severity: Severity::Invalid,
            ..Self::note(code, meaning)
        }
    }

    /// The verdict of this check.
    #[must_use]
    pub fn verdict(self, found: Found) -> Verdict {
        let mut facts = found.facts;
        facts.insert("check".to_owned(), self.code.into());
        Verdict {
            code: self.code.into(),
            severity: self.severity,
            evidence: found.sentence.into(),
            advice: found.advice.into(),
            facts,
        }
    }

    /// The verdict of this check with that text, see [`Found::new`].
    #[must_use]
    pub fn found(
        self,
        sentence: impl Into<String>,
        advice: impl Into<Cow<'static, str>>,
        facts: Value,
    ) -> Verdict {
        self.verdict(Found::new(sentence, advice, facts))
    }
}

/// The result of a validity check that did not pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Verdict {
    /// Stable identifier, such as `served-from-cache`; for a nested benchmark with its name in front,
    /// such as `random-read/rate-not-reached`.
    #[serde(deserialize_with = "safe_text::name")]
    pub code: SafeText,
    /// How strongly it affects the validity of the metrics.
    pub severity: Severity,
    /// The measured values that triggered it, as a sentence.
    pub evidence: SafeText,
    /// What to do about it, as a sentence.
    pub advice: SafeText,
    /// The measured values that triggered it; the keys depend on the check.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[serde(deserialize_with = "object")]
    pub facts: Map<String, Value>,
}

impl Verdict {
    /// Whether it is about a nested benchmark.
    #[must_use]
    pub fn is_nested(&self) -> bool {
        self.code.contains('/')
    }

    /// Whether it is of this check, for the run itself or a nested benchmark.
    #[must_use]
    pub fn is_of(&self, check: Check) -> bool {
        self.code.rsplit('/').next() == Some(check.code)
    }

    /// The same verdict on a nested benchmark.
    #[must_use]
    pub fn nested_in(mut self, benchmark: &str) -> Self {
        self.code = format!("{benchmark}/{}", self.code).into();
        self
    }
}

/// Reads the facts of a verdict; none if they are no object. The verdict keeps its sentences.
fn object<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Map<String, Value>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(value.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: Check = Check::warning("rate-not-reached", "Fewer requests than arrived.");

    #[test]
    fn verdict_is_read_as_written() {
        let verdict = CHECK.found(
            "slow",
            "wait",
            serde_json::json!({ "arrived_per_s": 1000.0 }),
        );
        let nested = verdict.clone().nested_in("random-read").nested_in("survey");
        assert!(!verdict.is_nested() && nested.is_nested());
        assert!(verdict.is_of(CHECK) && nested.is_of(CHECK));
        let json = serde_json::to_value(&nested).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "code": "survey/random-read/rate-not-reached", "severity": "warning",
                "evidence": "slow", "advice": "wait",
                "facts": { "check": "rate-not-reached", "arrived_per_s": 1000.0 }
            })
        );
        assert_eq!(serde_json::from_value::<Verdict>(json).unwrap(), nested);
    }

    #[test]
    fn verdict_of_another_program_keeps_its_sentences() {
        for facts in ["", r#","facts":null"#, r#","facts":7"#] {
            let text = format!(
                r#"{{"code":"a\u001b/new","severity":"note","evidence":"e","advice":"a"{facts}}}"#
            );
            let verdict: Verdict = serde_json::from_str(&text).unwrap();
            assert_eq!((&*verdict.code, &*verdict.evidence), ("a\\x1b/new", "e"));
            assert!(verdict.facts.is_empty(), "{facts}");
        }
    }
}
