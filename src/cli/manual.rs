//! `diskscope manual`: the manual page, written from what the program knows of itself.

use clap::{Arg, ArgMatches, Command};
use roff::{Inline, Roff, bold, italic, roman};

use super::{Exit, Result, print};
use crate::bench::TESTS;

/// What ends with which status; the words for [`Exit`].
const STATUS: &[(&str, &str)] = &[
    ("0", "everything was done"),
    (
        "1",
        "it failed; what was measured until then is saved and printed",
    ),
    ("2", "the command line cannot be understood or does not fit"),
    ("3", "refused for safety"),
    ("4", "done, but a goal was missed"),
    (
        "130",
        "interrupted; the partial result is saved and printed",
    ),
];

const FILES: &[(&str, &str)] = &[
    (
        "$XDG_STATE_HOME/diskscope/sessions",
        "every run, as a JSON document; while it goes on, and after a kill, as a journal that show \
         reads too",
    ),
    (
        "/run/diskscope/settings",
        "the old values of system settings that a test has changed, as long as they are changed, \
         and a lock for each; of users other than root below $XDG_RUNTIME_DIR, else \
         $XDG_STATE_HOME",
    ),
    (
        "/run/diskscope/tracing",
        "names of the trace buffers in use, so that the next start removes what a kill left",
    ),
];

const ENVIRONMENT: &[(&str, &str)] = &[
    (
        "XDG_STATE_HOME",
        "where sessions are kept; ~/.local/state when it is not set",
    ),
    (
        "NO_COLOR",
        "set to anything, the interface draws without colours",
    ),
];

const EXAMPLES: &[(&str, &str)] = &[
    ("diskscope", "what the disks of this machine are doing"),
    (
        "diskscope run random-read /srv --depth 32",
        "IOPS of the drive under /srv, in a scratch file that is gone afterwards",
    ),
    (
        "diskscope run sequential-read /dev/sda --json out.json",
        "the whole drive from its beginning to its end",
    ),
    (
        "diskscope compare before.json after.json",
        "faster, slower, no significant difference, or not determined",
    ),
];

pub(super) fn command() -> Command {
    Command::new("manual")
        .about("Print the manual page, for man(1)")
        .after_help("To read it: diskscope manual | man -l -")
}

pub(super) fn run(_: &ArgMatches) -> Result {
    print(&page())?;
    Ok(Exit::Done)
}

/// The page in the language of troff.
fn page() -> String {
    let whole = super::command();
    let mut page = Roff::new();
    let version = format!("diskscope {}", clap::crate_version!());
    page.control(
        "TH",
        ["DISKSCOPE", "1", "", version.as_str(), "User Commands"],
    );
    section(&mut page, "NAME");
    page.text([roman(format!("diskscope - {}", about(&whole)))]);
    section(&mut page, "SYNOPSIS");
    synopsis(&mut page, &whole);
    section(&mut page, "DESCRIPTION");
    page.text([roman(
        "Without a command the terminal interface opens: devices, transfers and processes as they \
         are, benchmarks of any drive, single requests, saved sessions. The ? key lists the keys.",
    )]);
    page.control("PP", []);
    page.text([roman(
        "Nothing is ever written to a drive or an existing file without consent that names it \
         (--overwrite, or typing the path), and never to one that is mounted, used for swap or held. \
         File systems, partition tables, RAID, LVM and encryption on it need --overwrite-signatures \
         beside that.",
    )]);
    section(&mut page, "OPTIONS");
    options(&mut page, &whole);
    section(&mut page, "COMMANDS");
    for command in whole.get_subcommands() {
        one_command(&mut page, command);
    }
    section(&mut page, "TESTS");
    tests(&mut page);
    section(&mut page, "UNITS");
    page.text([roman(
        "Sizes are decimal (kB, MB, GB, TB) or binary (KiB, MiB, GiB, TiB); a bare number is bytes. \
         Durations are such as 500us, 10ms, 2s, 1m; rates such as 1000/s.",
    )]);
    for (heading, rows) in [
        ("EXIT STATUS", STATUS),
        ("FILES", FILES),
        ("ENVIRONMENT", ENVIRONMENT),
        ("EXAMPLES", EXAMPLES),
    ] {
        section(&mut page, heading);
        for (term, meaning) in rows {
            entry(&mut page, vec![bold(*term)], meaning);
        }
    }
    section(&mut page, "SEE ALSO");
    page.text([roman("iostat(1), fio(1), blktrace(8), ionice(1)")]);
    page.render()
}

fn section(page: &mut Roff, heading: &str) {
    page.control("SH", [heading]);
}

/// A term and what it means, indented.
fn entry(page: &mut Roff, term: Vec<Inline>, meaning: &str) {
    page.control("TP", []);
    page.text(term);
    page.text([roman(meaning)]);
}

fn about(command: &Command) -> String {
    command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn synopsis(page: &mut Roff, whole: &Command) {
    page.text([bold("diskscope"), roman(" [OPTIONS]")]);
    for command in whole.get_subcommands() {
        page.control("br", []);
        page.text([bold("diskscope "), roman(usage(command))]);
    }
}

/// `run [OPTIONS] <TEST> <TARGET>`.
fn usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.trim_start_matches("Usage: ").trim().to_owned()
}

fn one_command(page: &mut Roff, command: &Command) {
    page.control("SS", [format!("diskscope {}", usage(command)).as_str()]);
    page.text([roman(format!("{}.", about(command)))]);
    if let Some(more) = command.get_after_help() {
        page.control("PP", []);
        page.text([roman(more.to_string())]);
    }
    options(page, command);
}

fn options(page: &mut Roff, command: &Command) {
    for argument in command
        .get_arguments()
        .filter(|argument| !argument.is_hide_set())
    {
        let help = argument
            .get_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let defaults: Vec<_> = argument
            .get_default_values()
            .iter()
            .map(|value| value.to_string_lossy())
            .collect();
        let meaning = match defaults.as_slice() {
            [] => help,
            defaults if !argument.get_action().takes_values() || defaults.is_empty() => help,
            defaults => format!("{help} [default: {}]", defaults.join(" ")),
        };
        entry(page, term(argument), &meaning);
    }
}

/// `-o, --output FILE`, or `FILE`.
fn term(argument: &Arg) -> Vec<Inline> {
    let names = [
        argument.get_short().map(|short| format!("-{short}")),
        argument.get_long().map(|long| format!("--{long}")),
    ];
    let names: Vec<String> = names.into_iter().flatten().collect();
    let values = argument.get_value_names().unwrap_or_default();
    let values: Vec<_> = values.iter().map(ToString::to_string).collect();
    let mut term = vec![bold(names.join(", "))];
    if argument.get_action().takes_values() && !values.is_empty() {
        let space = if names.is_empty() { "" } else { " " };
        term.push(italic(format!("{space}{}", values.join(" "))));
    }
    term
}

fn tests(page: &mut Roff) {
    for test in TESTS {
        let test = test.description();
        let mut names = vec![bold(test.name)];
        if !test.aliases.is_empty() {
            names.push(roman(format!(" ({})", test.aliases.join(", "))));
        }
        let writes = if test.writes { " (writes)" } else { "" };
        entry(page, names, &format!("{}{writes}", test.summary));
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::requirement::{Requirement, skip};

    /// A name as troff writes it: a hyphen there is for breaking lines, `\-` is the character.
    fn written(name: &str) -> String {
        name.replace('-', "\\-")
    }

    #[test]
    fn it_tells_of_every_command_test_and_option() {
        let page = page();
        for command in super::super::command().get_subcommands() {
            assert!(page.contains(&format!("diskscope {}", command.get_name())));
            for argument in command.get_arguments() {
                if let Some(long) = argument.get_long() {
                    assert!(page.contains(&written(&format!("--{long}"))), "{long}");
                }
            }
        }
        for test in TESTS {
            let name = test.description().name;
            assert!(page.contains(&written(name)), "{name}");
        }
    }

    #[test]
    fn man_takes_it() {
        use std::io::Write;
        use std::process::{Command, Stdio};
        let man = Command::new("man")
            .args(["--warnings=all", "--local-file", "-"])
            .env("MANPAGER", "cat")
            .env("MANWIDTH", "80")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut man) = man else {
            return skip(Requirement::Program, "man(1) is not installed");
        };
        let mut input = man.stdin.take().unwrap();
        input.write_all(page().as_bytes()).unwrap();
        drop(input);
        let output = man.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("minimized") {
            let reason = "man(1) shows nothing: this system was installed without manual pages";
            return skip(Requirement::Program, reason);
        }
        let shown = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && said.is_empty(), "{said}");
        assert!(shown.contains("EXIT STATUS"), "{shown}");
    }
}
