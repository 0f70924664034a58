//! Processes in sentences.

use super::cause::{Cause, Party};
use crate::files::safe_text::SafeText;
use crate::snapshot::command::{from_program, program_name};

/// Characters of a command line in a sentence.
const COMMAND_CHARACTERS: usize = 40;

/// `cp (nightly-backup.service)`; several as `cp and 2 others`. `total` is their number where not all
/// are listed.
pub fn names(parties: &[Party], total: usize) -> Option<String> {
    let first = name(parties.first()?);
    Some(match total.max(parties.len()) {
        1 => first,
        2 => format!("{first} and 1 other"),
        more => format!("{first} and {} others", more - 1),
    })
}

/// The program, and its unit where it has one.
pub fn name(party: &Party) -> String {
    let program = program(&party.command);
    match &party.unit {
        Some(unit) => format!("{program} ({unit})"),
        None => program,
    }
}

/// Name of the program, or of the script that it runs, without directories. A long one is cut: its user
/// can choose it so that a line that is broken within it begins like one of this program.
pub fn program(command: &str) -> String {
    let name = SafeText::from(program_name(command));
    name.cut(COMMAND_CHARACTERS).into()
}

/// `cp --sparse=always /srv/img (pid 4711, nightly-backup.service)`.
pub fn line(party: &Party) -> String {
    let command = SafeText::from(from_program(&party.command).into_owned());
    let command = command.cut(COMMAND_CHARACTERS);
    match &party.unit {
        Some(unit) => format!("{command} (pid {}, {unit})", party.pid),
        None => format!("{command} (pid {})", party.pid),
    }
}

/// Who waits first, or this.
pub fn victim(cause: &Cause, otherwise: &str) -> String {
    let first = cause.victims.first();
    first.map_or_else(|| otherwise.to_owned(), name)
}

/// `cp of nightly-backup.service`, or with its process id.
pub fn culprit(party: &Party) -> String {
    let program = program(&party.command);
    match &party.unit {
        Some(unit) => format!("{program} of {unit}"),
        None => format!("{program} (pid {})", party.pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_name_of_a_program_is_cut() {
        assert_eq!(program("/usr/bin/cp -a x y"), "cp");
        assert_eq!(program(&"x".repeat(200)).len(), COMMAND_CHARACTERS);
    }
}
