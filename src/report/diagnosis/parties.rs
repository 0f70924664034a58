//! Processes in sentences.

use crate::diagnosis::Party;
use crate::report::processes::without_program_directory;
use crate::safe_text::SafeText;

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

/// Name of the program: the command line up to the first blank, without directories.
pub(super) fn program(party: &Party) -> String {
    let first = party.command.split(' ').next().unwrap_or_default();
    let base = first.rsplit('/').next().filter(|base| !base.is_empty());
    // Programs that set their title end its first word in a colon.
    base.unwrap_or(first).trim_end_matches(':').to_owned()
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
