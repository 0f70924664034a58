//! Processes in sentences.

use super::cause::{Cause, Party};
use crate::files::safe_text::SafeText;

/// Characters of a command line in a sentence.
const COMMAND_CHARACTERS: usize = 40;
/// Programs that run a script, by the beginning of their names.
const INTERPRETERS: [&str; 7] = ["python", "perl", "ruby", "bash", "sh", "dash", "node"];

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
    let shown = from_program(command);
    // Programs that set their title end its first word in a colon.
    let first = shown.split(' ').next().unwrap_or_default();
    SafeText::from(first.trim_end_matches(':'))
        .cut(COMMAND_CHARACTERS)
        .into()
}

/// `cp --sparse=always /srv/img (pid 4711, nightly-backup.service)`.
pub fn line(party: &Party) -> String {
    let command = SafeText::from(from_program(&party.command)).cut(COMMAND_CHARACTERS);
    match &party.unit {
        Some(unit) => format!("{command} (pid {}, {unit})", party.pid),
        None => format!("{command} (pid {})", party.pid),
    }
}

/// The command line from the name of the program on: without its directory, and without an interpreter
/// before a script. The name of a kernel thread may contain a slash, but does not begin with one.
fn from_program(command: &str) -> &str {
    let named = without_directory(command);
    let Some((interpreter, rest)) = named.split_once(' ') else {
        return named;
    };
    let is_version = |rest: &str| rest.chars().all(|it| it.is_ascii_digit() || it == '.');
    let mut names = INTERPRETERS.iter();
    let runs_script = names.any(|name| interpreter.strip_prefix(name).is_some_and(is_version));
    if runs_script && !rest.starts_with('-') && !rest.is_empty() {
        without_directory(rest)
    } else {
        named
    }
}

fn without_directory(command: &str) -> &str {
    let program = command.split(' ').next().unwrap_or_default();
    match program.rsplit_once('/') {
        Some((directory, name)) if program.starts_with('/') && !name.is_empty() => {
            &command[directory.len() + 1..]
        }
        _ => command,
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
    fn program_stands_first_and_is_cut() {
        for (command, expected) in [
            ("/usr/bin/cp -a x y", "cp"),
            ("nginx: worker", "nginx"),
            ("/usr/bin/python3.11 /opt/bin/backup.py --all", "backup.py"),
            ("sh -c true", "sh"),
            ("kworker/0:1", "kworker/0:1"),
        ] {
            assert_eq!(program(command), expected);
        }
        assert_eq!(program(&"x".repeat(200)).len(), COMMAND_CHARACTERS);
    }
}
