//! Processes in sentences.

use crate::columns::command::without_program_directory;
use crate::diagnosis::Party;
use crate::files::safe_text::SafeText;

/// Characters of a command line in a sentence.
const COMMAND_CHARACTERS: usize = 40;

/// `cp (nightly-backup.service)`; several as `cp and 2 others`. `total` is their number where not all
/// are listed.
pub(super) fn names(parties: &[Party], total: Option<f64>) -> Option<String> {
    let first = name(parties.first()?);
    let total = total.map_or(0, |total| total as usize).max(parties.len());
    Some(match total {
        1 => first,
        2 => format!("{first} and 1 other"),
        more => format!("{first} and {} others", more - 1),
    })
}

/// The program, and its unit where it has one.
pub(super) fn name(party: &Party) -> String {
    let program = program(party);
    match &party.unit {
        Some(unit) => format!("{program} ({unit})"),
        None => program,
    }
}

/// Name of the program: the command line up to the first blank, without directories. A longer one is
/// cut: its user can choose it so that a line that is broken within it begins like one of this program.
pub(super) fn program(party: &Party) -> String {
    let first = party.command.split(' ').next().unwrap_or_default();
    let base = first.rsplit('/').next().filter(|base| !base.is_empty());
    // Programs that set their title end its first word in a colon.
    let name = base.unwrap_or(first).trim_end_matches(':');
    SafeText::from(name).cut(COMMAND_CHARACTERS).into()
}

/// `cp --sparse=always /srv/img (pid 4711, nightly-backup.service)`.
pub(super) fn line(party: &Party) -> String {
    let command = without_program_directory(&party.command);
    let command = SafeText::from(command).cut(COMMAND_CHARACTERS);
    match &party.unit {
        Some(unit) => format!("{command} (pid {}, {unit})", party.pid),
        None => format!("{command} (pid {})", party.pid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_with_a_long_name_is_cut() {
        let party = |command: &str| Party {
            pid: 1,
            command: command.into(),
            unit: None,
            share: None,
        };
        assert_eq!(program(&party("/usr/bin/cp -a x y")), "cp");
        assert_eq!(program(&party("nginx: worker")), "nginx");
        let long = program(&party(&"x".repeat(200)));
        assert_eq!(long.len(), COMMAND_CHARACTERS, "{long}");
    }
}
