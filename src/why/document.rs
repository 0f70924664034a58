//! A diagnosis as a JSON document.

use serde::Serialize;

use super::cause::{Cause, Diagnosis};
use super::evidence::Evidence;
use crate::files::safe_text::SafeText;

/// Name of the schema.
const SCHEMA: &str = "diskscope-diagnosis";
/// Its version.
const VERSION: u32 = 1;

/// What `why --json` prints.
#[derive(Debug, Serialize)]
pub struct DiagnosisDocument<'d> {
    schema: &'static str,
    version: u32,
    time: &'d SafeText,
    window_ns: u64,
    problem: bool,
    sentence: String,
    evidence: &'d [Evidence],
    causes: &'d [Cause],
    ruled_out: Vec<RuledOut<'d>>,
    not_examined: Vec<NotExaminedCause>,
}

#[derive(Debug, Serialize)]
struct RuledOut<'d> {
    code: &'static str,
    evidence: &'d [Evidence],
}

#[derive(Debug, Serialize)]
struct NotExaminedCause {
    code: &'static str,
    reason: &'static str,
}

impl<'d> DiagnosisDocument<'d> {
    /// The document of a diagnosis.
    #[must_use]
    pub fn new(diagnosis: &'d Diagnosis) -> Self {
        let ruled_out = diagnosis.ruled_out.iter();
        let not_examined = diagnosis.not_examined.iter();
        Self {
            schema: SCHEMA,
            version: VERSION,
            time: &diagnosis.time,
            window_ns: u64::try_from(diagnosis.window.as_nanos()).unwrap_or(u64::MAX),
            problem: diagnosis.is_problem(),
            sentence: diagnosis.conclusion(),
            evidence: &diagnosis.machine,
            causes: &diagnosis.causes,
            ruled_out: ruled_out
                .map(|(code, evidence)| RuledOut { code, evidence })
                .collect(),
            not_examined: not_examined
                .map(|(code, reason)| NotExaminedCause {
                    code,
                    reason: reason.reason(),
                })
                .collect(),
        }
    }
}
