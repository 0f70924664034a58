//! A diagnosis as a JSON document.

use serde::Serialize;

use super::remedies::remedy_text;
use super::sentences::{cause_sentence, conclusion, not_examined_reason};
use crate::diagnosis::remedy::Remedy;
use crate::diagnosis::{Cause, CauseCode, Certainty, Diagnosis, Measurement, Party, Severity};
use crate::files::safe_text::SafeText;

/// Name of the schema.
const SCHEMA: &str = "diskscope-diagnosis";
/// Its version.
const VERSION: u32 = 1;

/// What `why --json` prints.
#[derive(Debug, Serialize)]
pub struct DiagnosisDocument {
    schema: &'static str,
    version: u32,
    time: SafeText,
    window_ns: u64,
    problem: bool,
    sentence: SafeText,
    evidence: Vec<EvidenceEntry>,
    causes: Vec<CauseEntry>,
    ruled_out: Vec<RuledOutEntry>,
    not_examined: Vec<NotExaminedEntry>,
}

#[derive(Debug, Serialize)]
struct CauseEntry {
    code: CauseCode,
    severity: Severity,
    certainty: Certainty,
    sentence: SafeText,
    evidence: Vec<EvidenceEntry>,
    who: Vec<PartyEntry>,
    victims: Vec<PartyEntry>,
    device: Option<SafeText>,
    file: Option<SafeText>,
    since: SafeText,
    consequence_of: Option<CauseCode>,
    advice: Vec<SafeText>,
}

#[derive(Debug, Serialize)]
struct EvidenceEntry {
    name: &'static str,
    subject: Option<SafeText>,
    value: f64,
    unit: &'static str,
    source: &'static str,
}

#[derive(Debug, Serialize)]
struct PartyEntry {
    pid: u32,
    command: SafeText,
    unit: Option<SafeText>,
    share: Option<f64>,
}

#[derive(Debug, Serialize)]
struct RuledOutEntry {
    code: CauseCode,
    evidence: Vec<EvidenceEntry>,
}

#[derive(Debug, Serialize)]
struct NotExaminedEntry {
    code: CauseCode,
    reason: &'static str,
}

impl DiagnosisDocument {
    /// The document of a diagnosis.
    #[must_use]
    pub fn new(diagnosis: &Diagnosis) -> Self {
        Self {
            schema: SCHEMA,
            version: VERSION,
            time: diagnosis.time.clone(),
            window_ns: u64::try_from(diagnosis.window.as_nanos()).unwrap_or(u64::MAX),
            problem: diagnosis.is_problem(),
            sentence: conclusion(diagnosis).into(),
            evidence: evidence(&diagnosis.machine),
            causes: diagnosis.causes.iter().map(cause_entry).collect(),
            ruled_out: diagnosis
                .ruled_out
                .iter()
                .map(|(code, values)| RuledOutEntry {
                    code: *code,
                    evidence: evidence(values),
                })
                .collect(),
            not_examined: diagnosis
                .not_examined
                .iter()
                .map(|(code, reason)| NotExaminedEntry {
                    code: *code,
                    reason: not_examined_reason(*code, *reason),
                })
                .collect(),
        }
    }
}

fn cause_entry(cause: &Cause) -> CauseEntry {
    CauseEntry {
        code: cause.code(),
        severity: cause.severity,
        certainty: cause.certainty,
        sentence: cause_sentence(cause).into(),
        evidence: evidence(&cause.evidence),
        who: parties(&cause.culprits),
        victims: parties(&cause.victims),
        device: cause.device.clone(),
        file: None,
        since: cause.since.clone(),
        consequence_of: cause.consequence_of,
        advice: cause.remedies.iter().flat_map(advice).collect(),
    }
}

/// What a command does, and the command as an element of its own.
fn advice(remedy: &Remedy) -> impl Iterator<Item = SafeText> {
    let text = remedy_text(remedy);
    let sentence = text.sentence();
    let lines = std::iter::once(sentence).chain(text.command);
    lines.map(SafeText::from)
}

fn evidence(values: &[Measurement]) -> Vec<EvidenceEntry> {
    values
        .iter()
        .filter(|measurement| measurement.value.is_finite())
        .map(|measurement| EvidenceEntry {
            name: measurement.quantity.name(),
            subject: measurement.subject.clone(),
            value: measurement.value,
            unit: measurement.quantity.unit().symbol(),
            source: measurement.quantity.source(),
        })
        .collect()
}

fn parties(parties: &[Party]) -> Vec<PartyEntry> {
    parties
        .iter()
        .map(|party| PartyEntry {
            pid: party.pid,
            command: party.command.clone(),
            unit: party.unit.clone(),
            share: party.share,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::remedy::ProcessInstance;

    #[test]
    fn command_is_an_element_of_its_own() {
        let process = ProcessInstance {
            pid: 7,
            start_ticks: 1234,
        };
        let elements: Vec<String> = advice(&Remedy::Pause { process })
            .map(|element| element.to_string())
            .collect();
        assert_eq!(
            elements,
            [
                "pauses it, until kill -CONT 7 continues it:",
                r"grep -qE '\) .( \S+){18} 1234 ' /proc/7/stat && kill -STOP 7"
            ]
        );
        assert_eq!(advice(&Remedy::GroupCommits).count(), 1);
    }
}
