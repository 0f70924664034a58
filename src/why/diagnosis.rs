//! What was found in a window: the causes in their order, and what was ruled out or not examined.

use std::time::Duration;

use serde::Serialize;

use super::analysis::Analysis;
use super::cause::{Cause, NotExamined, Party, Severity};
use super::evidence::{CPU_BUSY, Evidence, IO_PRESSURE, MEMORY_PRESSURE, known_values};
use super::load::busiest;
use super::rules::{RULES, Rule};
use super::window::EvidenceWindow;
use crate::files::safe_text::SafeText;
use crate::probe::process::numbers::ProcessNumbers;
use crate::stats::sorting::SortList as _;
use crate::units;

/// Codes of the notes about what limits work: who is named by a cause before needs none.
const LIMITS: [&str; 2] = ["queue-starved", "at-limit"];

/// A cause that was ruled out.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RuledOut {
    /// Its code.
    pub code: &'static str,
    /// The values that rule it out.
    pub evidence: Vec<Evidence>,
}

/// A cause that could not be examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unexamined {
    /// Its code.
    pub code: &'static str,
    /// Why.
    pub reason: NotExamined,
}

/// What was found in a window.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Diagnosis {
    /// End of the window, RFC 3339.
    pub time: SafeText,
    /// Length of the window.
    #[serde(skip)]
    pub window: Duration,
    /// Values of the machine, which prove that nothing is wrong where nothing is.
    #[serde(rename = "evidence")]
    pub machine: Vec<Evidence>,
    /// The causes; the first is the conclusion.
    pub causes: Vec<Cause>,
    /// Causes that were ruled out.
    pub ruled_out: Vec<RuledOut>,
    /// Causes that could not be examined.
    pub not_examined: Vec<Unexamined>,
    /// What the busiest device does, in words; `None` where all are idle.
    #[serde(skip)]
    pub busiest: Option<String>,
    /// Requests that were traced as proof; `None` where no device was traced.
    #[serde(skip)]
    pub traced_requests: Option<u64>,
}

/// What `why --json` prints.
#[derive(Debug, Serialize)]
pub struct DiagnosisDocument<'d> {
    schema: &'static str,
    version: u32,
    window_ns: u64,
    problem: bool,
    sentence: String,
    #[serde(flatten)]
    diagnosis: &'d Diagnosis,
}

impl<'d> DiagnosisDocument<'d> {
    /// The document of a diagnosis.
    pub fn new(diagnosis: &'d Diagnosis) -> Self {
        Self {
            schema: "diskscope-diagnosis",
            version: 1,
            window_ns: u64::try_from(diagnosis.window.as_nanos()).unwrap_or(u64::MAX),
            problem: diagnosis.is_problem(),
            sentence: diagnosis.conclusion(),
            diagnosis,
        }
    }
}

impl Diagnosis {
    /// Whether something is wrong: a note alone is no problem.
    pub fn is_problem(&self) -> bool {
        let mut causes = self.causes.iter();
        causes.any(|cause| cause.severity >= Severity::Warning)
    }

    /// Whether a problem was found, in two words.
    pub fn verdict(&self) -> &'static str {
        if self.is_problem() {
            "problem found"
        } else {
            "no problem"
        }
    }

    /// The first cause in one sentence, or that nothing is wrong.
    pub fn conclusion(&self) -> String {
        let nothing = self.nothing_wrong();
        match (self.causes.first(), &self.busiest) {
            (Some(cause), _) if self.is_problem() => cause.sentence.clone(),
            (Some(cause), _) => format!("{nothing}: {}", cause.sentence),
            (None, Some(busiest)) => format!("{nothing}: {busiest}."),
            (None, None) => format!("{nothing}."),
        }
    }

    /// That nothing is wrong, as far as it could be seen.
    fn nothing_wrong(&self) -> &'static str {
        let lacks = |lack| self.not_examined.iter().any(|it| it.reason == lack);
        if lacks(NotExamined::NotRecorded) {
            "What was recorded shows nothing wrong with I/O"
        } else if lacks(NotExamined::NotPermitted) {
            "What can be seen without root shows nothing wrong with I/O"
        } else {
            "Nothing is wrong with I/O"
        }
    }

    /// Removes the measures for one process, where another one may have its number: later, or in another
    /// PID namespace.
    pub fn remove_process_remedies(&mut self) {
        for cause in &mut self.causes {
            cause.remedies.retain(|remedy| !remedy.is_of_process);
        }
    }
}

/// Examines a window; `None` if it has no snapshot with rates.
pub fn diagnose(window: &EvidenceWindow) -> Option<Diagnosis> {
    let analysis = Analysis::new(window)?;
    let busiest = busiest(&analysis);
    let mut diagnosis = Diagnosis {
        time: analysis.last.time.clone(),
        window: Duration::from_secs_f64(analysis.seconds),
        machine: known_values([
            (IO_PRESSURE, analysis.io_pressure),
            (CPU_BUSY, analysis.mean(|host| host.cpu_busy)),
            (MEMORY_PRESSURE, analysis.memory_pressure),
        ]),
        busiest: busiest.map(|device| {
            let rate = units::format_throughput(device.throughput);
            let name = &device.name;
            format!("nobody waits long for it, and the busiest device, {name}, moves {rate}")
        }),
        traced_requests: window.requests.as_ref().map(|requests| requests.requests),
        ..Diagnosis::default()
    };
    for rule in RULES {
        diagnosis.add(&analysis, rule);
    }
    if window.process_numbers == ProcessNumbers::Other {
        diagnosis.remove_process_remedies();
    }
    mark_consequences(&analysis, &mut diagnosis.causes);
    sort(&mut diagnosis.causes);
    Some(diagnosis)
}

impl Diagnosis {
    /// Adds what a rule says: causes, that there are none, or that it could not be examined.
    fn add(&mut self, analysis: &Analysis<'_>, rule: &Rule) {
        let code = rule.code;
        let mut causes = match (rule.examine)(analysis) {
            Ok(causes) => causes,
            Err(reason) => return self.not_examined.push(Unexamined { code, reason }),
        };
        if LIMITS.contains(&code) {
            causes.retain(|note| !self.causes.iter().any(|cause| tells(cause, note)));
        }
        if causes.is_empty() {
            let evidence = (rule.evidence)(analysis);
            self.ruled_out.push(RuledOut { code, evidence });
        }
        let causes = causes.into_iter();
        self.causes
            .extend(causes.map(|cause| Cause { code, ..cause }));
    }
}

/// Whether a cause tells of a process or a device of which a note says what limits it.
fn tells(cause: &Cause, note: &Cause) -> bool {
    let parties = |cause: &Cause| -> Vec<Party> { [&cause.victims[..], &cause.culprits].concat() };
    let known = parties(cause);
    let is_known = |party: &Party| known.iter().any(|it| it.pid == party.pid);
    let same_device = cause.device.is_some() && cause.device == note.device;
    same_device && cause.severity >= Severity::Warning || parties(note).iter().any(is_known)
}

/// Whether a cause explains another one: on the same device, for the same process, or where both are
/// of the machine as a whole.
fn explains(analysis: &Analysis<'_>, cause: &Cause, other: &Cause) -> bool {
    let rule = RULES.iter().find(|rule| rule.code == cause.code);
    let is_listed = rule.is_some_and(|rule| rule.explains.split(' ').any(|it| it == other.code));
    if !is_listed || cause.severity < other.severity.min(Severity::Warning) {
        return false;
    }
    let is_same_place = match (&cause.device, &other.device) {
        (Some(own), Some(others)) => analysis.lies_on(own, others) || analysis.lies_on(others, own),
        (None, None) => true,
        _ => false,
    };
    let suffers = |pid| cause.victims.iter().any(|it| it.pid == pid);
    is_same_place || other.victims.iter().any(|it| suffers(it.pid))
}

fn mark_consequences(analysis: &Analysis<'_>, causes: &mut [Cause]) {
    for index in 0..causes.len() {
        let mut others = causes.iter();
        let explained_by = others.find(|cause| explains(analysis, cause, &causes[index]));
        causes[index].consequence_of = explained_by.map(|cause| cause.code);
    }
}

/// Causes before their consequences, the severe ones first, then in the order of the rules, then
/// where somebody waits longer.
fn sort(causes: &mut [Cause]) {
    let rank = |cause: &Cause| RULES.iter().position(|rule| rule.code == cause.code);
    let waiting = |cause: &Cause| cause.victims.first().and_then(|it| it.share).unwrap_or(0.0);
    causes.sort_list_by(|a, b| {
        let consequence = a.consequence_of.is_some().cmp(&b.consequence_of.is_some());
        let severity = b.severity.cmp(&a.severity);
        let waits = waiting(b).total_cmp(&waiting(a));
        consequence
            .then(severity)
            .then(rank(a).cmp(&rank(b)))
            .then(waits)
    });
}
