//! The name of the program in a command line.

use std::borrow::Cow;

/// Programs whose first argument is the program that people mean.
const INTERPRETERS: [&str; 9] = [
    "bash", "dash", "node", "perl", "php", "python", "ruby", "sh", "zsh",
];

/// The command line with the name of the program first, and where it is installed as a detail at its
/// end: `borg create /srv (/usr/bin/python3 /usr/bin/borg)`.
#[must_use]
pub fn program_first(command: &str) -> Cow<'_, str> {
    let (words, name, rest) = parts(command);
    if name == words || name.is_empty() {
        return Cow::Borrowed(command);
    }
    Cow::Owned(format!("{name}{rest} ({words})"))
}

/// The command line from the name of the program on: the name says more than where it is installed.
#[must_use]
pub fn from_program(command: &str) -> Cow<'_, str> {
    match parts(command) {
        (_, "", _) => Cow::Borrowed(command),
        (_, name, rest) => Cow::Owned(format!("{name}{rest}")),
    }
}

/// The name of the program of a command line: `borg`, `cp`, `kworker/0:1` of `[kworker/0:1]`, `bash`
/// of a login shell's `-bash`, `nginx` of the title `nginx: worker`.
#[must_use]
pub fn program_name(command: &str) -> &str {
    if let Some(name) = command.strip_prefix('[') {
        return name.strip_suffix(']').unwrap_or(name);
    }
    let (_, name, _) = parts(command);
    name.strip_prefix('-').unwrap_or(name).trim_end_matches(':')
}

/// The words that name the program, one or with an interpreter two, its name, and the rest with its blank.
fn parts(command: &str) -> (&str, &str, &str) {
    let first = command.find(' ').unwrap_or(command.len());
    let (word, rest) = command.split_at(first);
    let interpreter =
        last_component(word).trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let script = rest.split(' ').nth(1).unwrap_or_default();
    let is_script = !script.is_empty() && !script.starts_with('-') && !script.starts_with("/dev/");
    if INTERPRETERS.contains(&interpreter) && is_script {
        let (words, rest) = command.split_at(first + 1 + script.len());
        return (words, last_component(script), rest);
    }
    // The name of a kernel thread may contain a slash, but does not begin with one.
    let is_path = word.starts_with('/') || word.starts_with('.');
    let name = if is_path { last_component(word) } else { word };
    (word, name, rest)
}

fn last_component(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_comes_first_and_its_path_is_a_detail() {
        let rsync = "/usr/bin/rsync -a /srv";
        let borg = "/usr/bin/python3.11 /usr/bin/borg create x";
        let relative = "python3 jobs/backup.py --all";
        for (command, first, from, name) in [
            (
                rsync,
                "rsync -a /srv (/usr/bin/rsync)",
                "rsync -a /srv",
                "rsync",
            ),
            (
                borg,
                "borg create x (/usr/bin/python3.11 /usr/bin/borg)",
                "borg create x",
                "borg",
            ),
            (
                relative,
                "backup.py --all (python3 jobs/backup.py)",
                "backup.py --all",
                "backup.py",
            ),
            ("./tool -x", "tool -x (./tool)", "tool -x", "tool"),
            (
                "python3 -c pass",
                "python3 -c pass",
                "python3 -c pass",
                "python3",
            ),
            ("dd if=/dev/sda", "dd if=/dev/sda", "dd if=/dev/sda", "dd"),
            (
                "[kworker/0:1]",
                "[kworker/0:1]",
                "[kworker/0:1]",
                "kworker/0:1",
            ),
            ("kworker/0:1", "kworker/0:1", "kworker/0:1", "kworker/0:1"),
            ("-bash", "-bash", "-bash", "bash"),
            ("nginx: worker", "nginx: worker", "nginx: worker", "nginx"),
            ("bash /dev/fd/3", "bash /dev/fd/3", "bash /dev/fd/3", "bash"),
            ("/ x", "/ x", "/ x", ""),
            ("", "", "", ""),
        ] {
            assert_eq!(program_first(command), first);
            assert_eq!(from_program(command), from);
            assert_eq!(program_name(command), name);
        }
    }
}
