//! Command lines, with the name of the program first.

use std::borrow::Cow;

use crate::snapshot::view::ProcessView;

/// Programs whose first argument is the program that people mean.
const INTERPRETERS: [&str; 9] = [
    "bash", "dash", "node", "perl", "php", "python", "ruby", "sh", "zsh",
];

/// The command line, or whose ended children a line describes.
#[must_use]
pub fn command_text(process: &ProcessView) -> String {
    let command = program_first(&process.command);
    if !process.is_ended_children() {
        return command.into_owned();
    }
    let programs: Vec<String> = process
        .ended_programs
        .iter()
        .map(|program| format!("{} {}", program.count, program.name))
        .collect();
    match programs.is_empty() {
        true => format!("ended children of {command}"),
        false => format!("ended: {} (children of {command})", programs.join(", ")),
    }
}

/// The command line with the name of the program first, and where it is installed as a detail at its
/// end: `borg create /srv (/usr/bin/python3 /usr/bin/borg)`.
#[must_use]
pub fn program_first(command: &str) -> Cow<'_, str> {
    let (words, rest) = program_words(command);
    let name = name_of(words);
    if name == words || name.is_empty() {
        return Cow::Borrowed(command);
    }
    Cow::Owned(format!("{name}{rest} ({words})"))
}

/// The command line without what is in front of the name of its program: the name says more than where
/// it is installed.
#[must_use]
pub fn without_program_directory(command: &str) -> Cow<'_, str> {
    let (words, rest) = program_words(command);
    match name_of(words) {
        "" => Cow::Borrowed(command),
        name => Cow::Owned(format!("{name}{rest}")),
    }
}

/// The name of the program of a command line: `borg`, `cp`, `kworker/0:1` of `[kworker/0:1]`, `bash`
/// of a login shell's `-bash`.
#[must_use]
pub fn program_name(command: &str) -> &str {
    if let Some(name) = command.strip_prefix('[') {
        return name.strip_suffix(']').unwrap_or(name);
    }
    let name = last_component(name_of(program_words(command).0));
    name.strip_prefix('-').unwrap_or(name).trim_end_matches(':')
}

/// The words that name the program, one or with an interpreter two, and the rest with its blank. The
/// name of a kernel thread may contain a slash, but does not begin with one.
fn program_words(command: &str) -> (&str, &str) {
    let first = command.find(' ').unwrap_or(command.len());
    let (word, rest) = command.split_at(first);
    let interpreter =
        last_component(word).trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let script = rest.strip_prefix(' ').unwrap_or_default();
    let is_script = script.starts_with('/') && !script.starts_with("/dev/");
    if !INTERPRETERS.contains(&interpreter) || !is_script {
        return (word, rest);
    }
    let end = script.find(' ').unwrap_or(script.len());
    command.split_at(first + 1 + end)
}

/// The name of the last of these words; a word that is no path is its own name.
fn name_of(words: &str) -> &str {
    let word = words.rsplit(' ').next().unwrap_or(words);
    match word.starts_with('/') || word.starts_with("./") {
        true => last_component(word),
        false => word,
    }
}

fn last_component(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_comes_first_and_its_path_is_a_detail() {
        for (command, first, name) in [
            (
                "/usr/bin/rsync -a /srv /backup",
                "rsync -a /srv /backup (/usr/bin/rsync)",
                "rsync",
            ),
            (
                "/usr/bin/python3.11 /usr/bin/borg create x",
                "borg create x (/usr/bin/python3.11 /usr/bin/borg)",
                "borg",
            ),
            ("python3 -c pass", "python3 -c pass", "python3"),
            (
                "dd if=/dev/sda of=/dev/null",
                "dd if=/dev/sda of=/dev/null",
                "dd",
            ),
            ("[kworker/0:1]", "[kworker/0:1]", "kworker/0:1"),
            ("-bash", "-bash", "bash"),
            (
                "postgres: checkpointer",
                "postgres: checkpointer",
                "postgres",
            ),
            ("bin/tool -x", "bin/tool -x", "tool"),
            ("bash /dev/fd/3", "bash /dev/fd/3", "bash"),
            ("/ x", "/ x", ""),
            ("", "", ""),
        ] {
            assert_eq!(program_first(command), first);
            assert_eq!(program_name(command), name);
        }
    }
}
