//! Processes as text.

use std::borrow::Cow;

use crate::snapshot::view::ProcessView;

/// The command line, or whose ended children a line describes.
#[must_use]
pub fn command_text(process: &ProcessView) -> Cow<'_, str> {
    if !process.is_ended_children() {
        return Cow::Borrowed(&process.command);
    }
    let command = &process.command;
    let programs: Vec<String> = process
        .ended_programs
        .iter()
        .map(|program| format!("{} {}", program.count, program.name))
        .collect();
    Cow::Owned(match programs.is_empty() {
        true => format!("ended children of {command}"),
        false => format!("ended: {} (children of {command})", programs.join(", ")),
    })
}

/// The command line without the directory of its program: the name says more than where it is
/// installed. The name of a kernel thread may contain a slash, but does not begin with one.
#[must_use]
pub fn without_program_directory(command: &str) -> &str {
    let program = command.split(' ').next().unwrap_or_default();
    match program.rsplit_once('/') {
        Some((directory, name)) if program.starts_with('/') && !name.is_empty() => {
            &command[directory.len() + 1..]
        }
        _ => command,
    }
}
