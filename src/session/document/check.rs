//! A validity check, and what it found.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::severity::Severity;
use super::verdict::Verdict;

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
