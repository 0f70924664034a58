//! A cause: who waits on what because of whom, the proof, and what helps.

use serde::{Serialize, Serializer};

use super::evidence::{Evidence, Metric};
use crate::files::safe_text::SafeText;
use crate::snapshot::command::{from_program, program_name};

/// Characters of a command line in a sentence.
const COMMAND_CHARACTERS: usize = 40;

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
    /// Critical on a condition, otherwise a warning.
    pub fn critical_if(is_urgent: bool) -> Self {
        if is_urgent {
            Self::Critical
        } else {
            Self::Warning
        }
    }

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

impl Party {
    /// Name of the program, or of the script that it runs, without directories. A long one is cut: its user
    /// can choose it so that a line that is broken within it begins like one of this program.
    pub fn program(&self) -> String {
        let name = SafeText::from(program_name(&self.command));
        name.cut(COMMAND_CHARACTERS).into()
    }

    /// `cp (nightly-backup.service)`: who suffers.
    pub fn name(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.program()),
            None => self.program(),
        }
    }

    /// `cp of nightly-backup.service`, or `cp (pid 4711)`: one that has to be found.
    pub fn identity(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} of {unit}", self.program()),
            None => format!("{} (pid {})", self.program(), self.pid),
        }
    }

    /// `cp --sparse=always /srv/img (pid 4711, nightly-backup.service)`.
    pub fn line(&self) -> String {
        let command = SafeText::from(from_program(&self.command).into_owned());
        let command = command.cut(COMMAND_CHARACTERS);
        match &self.unit {
            Some(unit) => format!("{command} (pid {}, {unit})", self.pid),
            None => format!("{command} (pid {})", self.pid),
        }
    }
}

/// `cp (nightly-backup.service)`; several as `cp and 2 others`. `total` is their number where not all
/// are listed; without any it is `otherwise`.
pub fn names(parties: &[Party], total: usize, otherwise: &str) -> String {
    let first = parties.first().map(Party::name);
    match (first, total.max(parties.len())) {
        (None, _) => otherwise.to_owned(),
        (Some(first), 1) => first,
        (Some(first), 2) => format!("{first} and 1 other"),
        (Some(first), more) => format!("{first} and {} others", more - 1),
    }
}

/// What helps.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Remedy {
    /// What the command does, and what to mind; without a command, what to do.
    pub text: String,
    /// The command line, quoted for a shell; `None` where no command helps, or a name cannot be
    /// written in one.
    pub command: Option<String>,
    /// Whether it acts on one process by its number, which another process has later.
    #[serde(skip)]
    pub is_of_process: bool,
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
            command: Some(command.into()),
            ..Self::advice(text)
        }
    }

    /// A command and what it does, if there is one: a name may not be fit for a command.
    pub fn of(command: Option<String>, text: impl Into<String>) -> Option<Self> {
        command.map(|command| Self::command(command, text))
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
        let known = value.map(|value| Evidence::of(subject, metric, value));
        self.evidence.extend(known);
    }

    /// `probably ` where it is not proven.
    pub fn probably(&self) -> &'static str {
        match self.certainty {
            Certainty::Confirmed => "",
            Certainty::Probable => "probably ",
        }
    }

    /// Who waits first, or this.
    pub fn victim(&self, otherwise: &str) -> String {
        names(self.victims.get(..1).unwrap_or_default(), 0, otherwise)
    }
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
