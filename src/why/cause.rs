//! Results of a diagnosis.

use std::time::Duration;

use serde::{Serialize, Serializer};

use super::evidence::{Evidence, Metric};
use crate::files::safe_text::SafeText;

/// How serious a cause is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    #[default]
    Note,
    /// Somebody waits longer than necessary.
    Warning,
    /// Somebody does not get any further, or data are at risk.
    Critical,
}

impl Severity {
    /// A warning on a condition, otherwise a note.
    pub fn warning_if(is_harmful: bool) -> Self {
        if is_harmful {
            Self::Warning
        } else {
            Self::Note
        }
    }
}

/// How a cause was established.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certainty {
    /// From requests, limits or messages that belong to it.
    Confirmed,
    /// From what happened at the same time.
    #[default]
    Probable,
}

/// Why a cause could not be examined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NotExamined {
    /// It needs rights that this user does not have.
    NotPermitted,
    /// The kernel does not report it: what exactly.
    NotReported(&'static str),
    /// A recording does not contain it.
    NotRecorded,
    /// The window is too short.
    WindowTooShort,
}

impl NotExamined {
    /// The reason in a few words.
    pub fn text(self) -> &'static str {
        match self {
            Self::NotPermitted => "not permitted: root",
            Self::NotReported(what) => what,
            Self::NotRecorded => "not part of a recording",
            Self::WindowTooShort => "needs --duration 10s or more",
        }
    }
}

impl Serialize for NotExamined {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.text())
    }
}

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

/// A process that causes or suffers.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Party {
    /// Process id.
    pub pid: u32,
    /// Command line.
    pub command: SafeText,
    /// Its service, container or session.
    pub unit: Option<SafeText>,
    /// For who causes: share of the traffic or of the requests, 0 to 1. For who suffers: fraction of
    /// the time in which it was blocked.
    pub share: Option<f64>,
}

/// How long a measure stays right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RemedyReach {
    /// As long as the cause.
    #[default]
    Lasting,
    /// It acts on one process by its number, which another process has later.
    Process,
    /// Its command names a mount, whose place another one may have later.
    Mount,
}

/// What helps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// What the command does, and what to mind; without a command, what to do.
    pub text: String,
    /// The command line, quoted for a shell; `None` where no command helps, or a name cannot be
    /// written in one.
    pub command: Option<String>,
    /// How long it stays right.
    #[serde(skip)]
    pub reach: RemedyReach,
}

impl Remedy {
    /// A measure without a command.
    pub fn advice(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A command and what it does.
    pub fn command(command: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            command: Some(command.into()),
            reach: RemedyReach::Lasting,
        }
    }

    /// The command and what it does, or else the advice: a name may not be fit for a command.
    pub fn command_or(
        command: Option<String>,
        text: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        match command {
            Some(command) => Self::command(command, text),
            None => Self::advice(advice),
        }
    }

    /// The sentence before the command. It is no comment behind it: a shell may take the words of a
    /// comment as arguments (zshoptions(1), `INTERACTIVE_COMMENTS`).
    pub fn sentence(&self) -> String {
        match &self.command {
            Some(_) => format!("{}:", self.text),
            None => self.text.clone(),
        }
    }
}

/// What distinguishes a cause from the others of a diagnosis, and makes it the same one in the next:
/// what it is and where.
pub type CauseKey = (&'static str, Option<SafeText>);

/// A cause, as the document has it.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Cause {
    /// Stable identifier, such as `device-saturated`.
    pub code: &'static str,
    /// How serious it is.
    pub severity: Severity,
    /// How it was established.
    pub certainty: Certainty,
    /// Who waits on what because of whom, with a full stop.
    pub sentence: String,
    /// The proof.
    pub evidence: Vec<Evidence>,
    /// Who causes it, the largest share first.
    #[serde(rename = "who")]
    pub culprits: Vec<Party>,
    /// Who suffers, who waits most first.
    pub victims: Vec<Party>,
    /// The device.
    pub device: Option<SafeText>,
    /// The file, where it is one.
    pub file: Option<SafeText>,
    /// When it was first seen, RFC 3339.
    pub since: SafeText,
    /// Code of the cause that explains it.
    pub consequence_of: Option<&'static str>,
    /// Functions of the kernel in which a task hangs, innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stack: Vec<SafeText>,
    /// What helps, safe measures first.
    pub remedies: Vec<Remedy>,
}

impl Cause {
    /// A cause without sentence, device, parties and remedies, seen for the first time at `since`.
    pub fn new(code: &'static str, severity: Severity, since: &SafeText) -> Self {
        Self {
            code,
            severity,
            since: since.clone(),
            ..Self::default()
        }
    }

    /// The cause, as one that is proven.
    pub fn confirmed(self) -> Self {
        self.confirmed_if(true)
    }

    /// The cause, as one that is proven on a condition.
    pub fn confirmed_if(mut self, is_proven: bool) -> Self {
        if is_proven {
            self.certainty = Certainty::Confirmed;
        }
        self
    }

    /// The cause, as one of this device.
    pub fn on(mut self, device: &SafeText) -> Self {
        self.device = Some(device.clone());
        self
    }

    /// The sentence up to its first semicolon, for one line: who waits comes first.
    pub fn headline(&self) -> &str {
        let first = self.sentence.split(';').next().unwrap_or_default();
        first.trim_end_matches('.')
    }

    /// What distinguishes it from others.
    pub fn key(&self) -> CauseKey {
        (self.code, self.device.clone())
    }

    /// Adds a value of a device, process or control group to the proof, if it is known.
    pub fn prove(&mut self, subject: &SafeText, metric: Metric, value: impl Into<Option<f64>>) {
        let value = value.into().filter(|value| value.is_finite());
        self.evidence
            .extend(value.map(|value| Evidence::of(subject, metric, value)));
    }

    /// Adds a value of the machine to the proof, if it is known.
    pub fn prove_of_machine(&mut self, metric: Metric, value: impl Into<Option<f64>>) {
        let value = value.into().filter(|value| value.is_finite());
        self.evidence
            .extend(value.map(|value| Evidence::of_machine(metric, value)));
    }
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
    /// Whether a device had requests enough to be traced.
    #[serde(skip)]
    pub had_queue: bool,
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

    /// Removes the measures for one process, where another one may have its number.
    pub fn remove_process_remedies(&mut self) {
        for cause in &mut self.causes {
            let remedies = &mut cause.remedies;
            remedies.retain(|remedy| remedy.reach != RemedyReach::Process);
        }
    }

    /// Keeps of the measures what is still right when the diagnosis is read later.
    pub fn keep_lasting_remedies(&mut self) {
        self.remove_process_remedies();
        let remedies = self.causes.iter_mut().flat_map(|it| &mut it.remedies);
        for remedy in remedies.filter(|it| it.reach == RemedyReach::Mount) {
            remedy.command = None;
        }
    }
}
