//! Reasons why writing is refused.

use std::io;

use crate::drive::error_kind::ErrorKind;
use crate::drive::guard::conflicts::use_conflict::{UnresolvedUse, UseConflict};
use crate::drive::guard::medium_change::MediumChange;
use crate::drive::guard::obstacle::Obstacle;
use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::text;

/// Reason why writing is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// No consent was given.
    #[error("this test would overwrite {name}")]
    NoConsent {
        /// The target.
        name: String,
    },
    /// The consent names another target.
    #[error("the consent names {given}, but the target is {name}")]
    ConsentPathMismatch {
        /// The target.
        name: String,
        /// The target that the consent names.
        given: String,
    },
    /// The medium has changed since consent was given.
    #[error("{name} has changed since it was opened: {change}")]
    MediumChanged {
        /// The target.
        name: String,
        /// The difference.
        change: MediumChange,
    },
    /// The medium has changed since writing was permitted.
    #[error("{name} has changed while it was written: {change}")]
    MediumChangedWhileWriting {
        /// The target.
        name: String,
        /// The difference.
        change: MediumChange,
    },
    /// The consent does not cover file systems or other formats on it.
    #[error("{name} holds {}", .found.join("; "))]
    SignaturesNotIncluded {
        /// The target.
        name: String,
        /// What would be destroyed; never empty.
        found: Vec<String>,
    },
    /// Another user can redirect the name.
    #[error("{name} is not overwritten: {reason}")]
    Untrusted {
        /// The target.
        name: String,
        /// Who can redirect it, and how.
        reason: String,
    },
    /// Opening a file of a lower directory for writing copies it, and there is not enough free
    /// space for the copy.
    #[error(
        "{name} is in a lower directory of an overlay: writing copies all {size} of it, and {free} \
         are free of which {reserve} must stay free",
        size = crate::units::format_capacity(*.size as f64),
        free = crate::units::format_capacity(*.free as f64),
        reserve = crate::units::format_capacity(*.reserve as f64)
    )]
    NoRoomForCopy {
        /// The target.
        name: String,
        /// Its size in bytes.
        size: u64,
        /// Free bytes of the upper directory.
        free: u64,
        /// Bytes that must stay free.
        reserve: u64,
    },
    /// The target is in use.
    #[error("{name} is in use: {}", conflicts_text(.conflicts))]
    InUse {
        /// The target.
        name: String,
        /// Its users, the most relevant first; never empty.
        conflicts: Vec<UseConflict>,
    },
    /// The target cannot be written at all.
    #[error("{name} {obstacle}")]
    NotWritable {
        /// The target.
        name: String,
        /// The reason.
        obstacle: Obstacle,
    },
    /// Some uses cannot be determined, which counts as in use.
    #[error("cannot determine whether {name} is in use: {}", unresolved_text(.unresolved))]
    Unresolved {
        /// The target.
        name: String,
        /// What could not be determined; never empty.
        unresolved: Vec<UnresolvedUse>,
    },
    /// Its users cannot be determined.
    #[error("cannot determine the users of {name}: {tried}: {source}")]
    UseUnknown {
        /// The target.
        name: String,
        /// The operation.
        tried: &'static str,
        /// The error of the kernel.
        source: io::Error,
    },
}

/// Joins the descriptions of the conflicts.
pub(super) fn conflicts_text(conflicts: &[UseConflict]) -> String {
    let words: Vec<String> = conflicts.iter().map(ToString::to_string).collect();
    words.join("; ")
}

/// Joins the descriptions of the unresolved uses.
pub(super) fn unresolved_text(unresolved: &[UnresolvedUse]) -> String {
    let words: Vec<String> = unresolved.iter().map(ToString::to_string).collect();
    words.join("; ")
}

/// The option that names this target, to be pasted; of a target whose name is only known as it is
/// displayed, in words.
fn overwrite_option(name: &str) -> String {
    let name = SafeText::from(name);
    let option = name
        .original()
        .and_then(|name| match name.starts_with('-') {
            true => shell::quote_word(format!("--overwrite={name}")),
            false => shell::command_line(["--overwrite", name]),
        });
    let option = option.map(shell::for_terminal);
    option.unwrap_or_else(|| "--overwrite with the name of the target".to_owned())
}

impl Refusal {
    /// A refusal always maps to the class `Refused`.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Refused
    }

    /// Advice on how to resolve the refusal, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::NoConsent { name } => format!(
                "all data on it would be lost; to overwrite it, add {}, or name a directory: a scratch file is created there",
                overwrite_option(name)
            ),
            Self::ConsentPathMismatch { name, .. } => {
                format!(
                    "--overwrite must name the target itself: {}",
                    overwrite_option(name)
                )
            }
            Self::MediumChanged { .. } => {
                "nothing was written; check what the target contains now, then start again".to_owned()
            }
            Self::MediumChangedWhileWriting { .. } => {
                "writing was stopped; what was written within half a second after the change is on what is there now: check what it contains"
                    .to_owned()
            }
            Self::SignaturesNotIncluded { name, .. } => format!(
                "all of that would be lost; to overwrite it, add --overwrite-signatures to {}",
                overwrite_option(name)
            ),
            Self::Untrusted { .. } => {
                "name the target by its real path, without links of other users".to_owned()
            }
            Self::NoRoomForCopy { .. } => {
                "free some space on the file system of the upper directory, or name another file"
                    .to_owned()
            }
            Self::InUse { .. } => "unmount it, swapoff, or stop its users, if its content may be lost; no option overrides this"
                .to_owned(),
            Self::NotWritable { obstacle, .. } => obstacle.advice().to_owned(),
            Self::Unresolved { .. } => text::root_advice(
                " on the host, with /proc and /sys mounted, or name a directory: a scratch file is created there",
                "run it on the host, with /proc and /sys mounted, or name a directory: a scratch file is created there",
            ),
            Self::UseUnknown { .. } => text::root_advice(
                ", with /proc and /sys mounted",
                "mount /proc and /sys, then start again",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_quotes_the_name_of_the_target() {
        for (name, option) in [
            ("/dev/sdb", "--overwrite /dev/sdb"),
            ("/srv/q;touch pwned;#", "--overwrite '/srv/q;touch pwned;#'"),
            (
                "v --overwrite-signatures",
                "--overwrite 'v --overwrite-signatures'",
            ),
            ("-v", "--overwrite=-v"),
            ("a\\nb", "--overwrite with the name of the target"),
        ] {
            let name = name.to_owned();
            let refusals = [
                Refusal::NoConsent { name: name.clone() },
                Refusal::ConsentPathMismatch {
                    name: name.clone(),
                    given: String::new(),
                },
                Refusal::SignaturesNotIncluded {
                    name,
                    found: Vec::new(),
                },
            ];
            for refusal in refusals {
                let advice = refusal.advice();
                assert!(advice.contains(option), "{advice}");
            }
        }
    }
}
