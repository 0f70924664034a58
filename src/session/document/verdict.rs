//! The result of a validity check.

#[cfg(test)]
use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use super::check::{CheckCode, CheckEvidence, CheckId};
use super::severity::Severity;
use crate::files::safe_text::SafeText;

/// Maximum size in bytes of the evidence of one check in a file.
const MAX_FACTS_BYTES: usize = 64 << 10;

/// The result of a validity check that did not pass.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Verdict {
    /// Stable identifier, such as `served-from-cache`; for a nested benchmark with its name in front,
    /// such as `random-read/rate-not-reached`.
    pub code: CheckCode,
    /// How strongly it affects the validity of the metrics.
    pub severity: Severity,
    // Both sentences are empty until `report::checks` writes them.
    /// The measured values that triggered it, as a sentence.
    pub evidence: SafeText,
    /// What to do about it, as a sentence.
    pub advice: SafeText,
    /// The measured values that triggered it; absent for a check that this version does not know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(deserialize_with = "known_facts")]
    pub facts: Option<CheckEvidence>,
}

impl Verdict {
    /// The check that this verdict is about; `None` for a check that this version does not know.
    #[must_use]
    pub fn id(&self) -> Option<CheckId> {
        self.code.id()
    }
}

impl From<CheckEvidence> for Verdict {
    /// The verdict of a check of the run itself, without sentences.
    fn from(facts: CheckEvidence) -> Self {
        Self {
            code: facts.id().into(),
            severity: facts.severity(),
            evidence: SafeText::new(),
            advice: SafeText::new(),
            facts: Some(facts),
        }
    }
}

/// Reads the evidence of a check. Evidence of another version is not an error: the verdict keeps its
/// sentences.
fn known_facts<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<CheckEvidence>, D::Error> {
    let Some(raw) = Option::<Box<RawValue>>::deserialize(deserializer)? else {
        return Ok(None);
    };
    if raw.get().len() > MAX_FACTS_BYTES {
        return Err(D::Error::custom(format_args!(
            "the facts of a verdict are larger than {MAX_FACTS_BYTES} bytes"
        )));
    }
    Ok(serde_json::from_str(raw.get()).ok())
}

#[cfg(test)]
mod tests {
    use super::super::check::RateShortfall;
    use super::*;

    fn rate_verdict() -> Verdict {
        let mut verdict = Verdict::from(CheckEvidence::RateNotReached(RateShortfall {
            arrived_per_s: 1000.0,
            completed_per_s: 800.0,
        }));
        verdict.evidence = "stored evidence".into();
        verdict.advice = "stored advice".into();
        verdict
    }

    #[test]
    fn verdict_keeps_contract_keys_and_adds_facts() {
        let json = serde_json::to_value(rate_verdict()).unwrap();
        assert_eq!(
            json,
            serde_json::json!({
                "code": "rate-not-reached", "severity": "warning",
                "evidence": "stored evidence", "advice": "stored advice",
                "facts": { "check": "rate-not-reached", "arrived_per_s": 1000.0, "completed_per_s": 800.0 }
            })
        );
        assert_eq!(
            serde_json::from_value::<Verdict>(json).unwrap(),
            rate_verdict()
        );
    }

    #[test]
    fn verdict_without_or_with_unknown_facts_keeps_its_sentences() {
        let read = |facts: &str| {
            let text = format!(
                r#"{{"code":"a/new-check","severity":"note","evidence":"e","advice":"a"{facts}}}"#
            );
            serde_json::from_str::<Verdict>(&text)
        };
        for facts in [
            "",
            r#","facts":null"#,
            r#","facts":{"check":"new-check","x":[1]}"#,
            r#","facts":7"#,
        ] {
            let verdict = read(facts).unwrap();
            assert_eq!((verdict.id(), verdict.facts), (None, None), "{facts}");
            assert_eq!(verdict.evidence, "e");
        }
        let large = format!(r#","facts":"{}""#, "x".repeat(MAX_FACTS_BYTES));
        assert!(
            read(&large)
                .unwrap_err()
                .to_string()
                .contains("larger than")
        );
    }
}
