//! `diskscope manual`: generates the manual page from the program's own descriptions.

use clap::{Arg, Command};
use roff::{Inline, Roff, bold, italic, roman};

use super::failure::{CommandResult, ExitStatus};
use super::output::print_result;
use crate::bench::BENCHMARKS;

const FILES_TABLE: &[(&str, &str)] = &[
    (
        "$XDG_CONFIG_HOME/diskscope/config.toml",
        "the configuration; diskscope config prints the one in effect",
    ),
    (
        "$XDG_STATE_HOME/diskscope/sessions",
        "every run, as a JSON document; during a run, and after a kill, as a journal, which show also \
         reads",
    ),
    (
        "/run/diskscope/settings",
        "the old values of system settings that a test has changed, until they are restored, and a lock for each",
    ),
];

const ENVIRONMENT_TABLE: &[(&str, &str)] = &[
    (
        "XDG_STATE_HOME",
        "where sessions are kept; ~/.local/state when it is not set",
    ),
    (
        "NO_COLOR",
        "if set, the interface uses no colours unless a theme is chosen",
    ),
    (
        "COLORFGBG",
        "the background of the terminal, until the terminal itself tells it",
    ),
];

const EXAMPLES_TABLE: &[(&str, &str)] = &[
    ("diskscope", "live view of the disks of this machine"),
    (
        "diskscope run random-read /srv --depth 32",
        "IOPS of the drive under /srv, in a scratch file that is removed at the end",
    ),
    (
        "diskscope run sequential-read /dev/sda --json out.json",
        "throughput of the whole drive over its address range",
    ),
    (
        "diskscope compare before.json after.json",
        "faster, slower, no significant difference, or not determined",
    ),
];

/// Before a command in the text below the options of a subcommand.
const COMMAND_INDENT: &str = "  ";

pub(super) fn command() -> Command {
    Command::new("manual")
        .about("Print the manual page, for man(1)")
        .after_help("To read it: diskscope manual | man -l -")
}

/// Prints the page for this definition of the command line.
pub(super) fn run(program: &Command) -> CommandResult {
    print_result(&manual_page(program))?;
    Ok(ExitStatus::Success)
}

/// The page in troff.
fn manual_page(program: &Command) -> String {
    let mut page = Roff::new();
    let version = format!("diskscope {}", clap::crate_version!());
    page.control(
        "TH",
        ["DISKSCOPE", "1", "", version.as_str(), "User Commands"],
    );
    append_section(&mut page, "NAME");
    page.text([roman(format!(
        "diskscope - {}",
        command_description(program)
    ))]);
    append_section(&mut page, "SYNOPSIS");
    append_synopsis(&mut page, program);
    append_section(&mut page, "DESCRIPTION");
    page.text([roman(
        "Without a command the terminal interface opens: live devices, transfers and processes, benchmarks of any drive, single requests, saved sessions. The ? key lists the keys.",
    )]);
    page.control("PP", []);
    page.text([roman(
        "Nothing is ever written to a drive or an existing file without consent that names it \
         (--overwrite, or typing the path), and never to one that is mounted, used for swap or held. \
         File systems, partition tables, RAID, LVM and encryption on it also need --overwrite-signatures.",
    )]);
    append_section(&mut page, "OPTIONS");
    append_options(&mut page, program);
    append_section(&mut page, "COMMANDS");
    for command in program.get_subcommands() {
        append_command(&mut page, command);
    }
    append_section(&mut page, "BENCHMARKS");
    append_benchmarks(&mut page);
    append_section(&mut page, "UNITS");
    page.text([roman(
        "Sizes are decimal (kB, MB, GB, TB) or binary (KiB, MiB, GiB, TiB); a bare number is bytes. \
         Durations are such as 500us, 10ms, 2s, 1m, and a bare number is seconds; latencies always \
         have a unit; rates are such as 1000/s. run also accepts the options of fio: --bs, --iodepth, \
         --numjobs, --runtime, --ramp_time and --rate_iops; in --bs 4k is 4 KiB.",
    )]);
    let statuses: Vec<(String, &str)> = ExitStatus::ALL
        .iter()
        .map(|status| ((*status as u8).to_string(), status.meaning()))
        .collect();
    let statuses: Vec<(&str, &str)> = statuses
        .iter()
        .map(|(number, meaning)| (number.as_str(), *meaning))
        .collect();
    for (heading, rows) in [
        ("EXIT STATUS", &statuses[..]),
        ("FILES", FILES_TABLE),
        ("ENVIRONMENT", ENVIRONMENT_TABLE),
        ("EXAMPLES", EXAMPLES_TABLE),
    ] {
        append_section(&mut page, heading);
        for (term, meaning) in rows {
            append_entry(&mut page, vec![bold(*term)], meaning);
        }
    }
    append_section(&mut page, "SEE ALSO");
    page.text([roman("iostat(1), fio(1), blktrace(8), ionice(1)")]);
    page.render()
}

fn append_section(page: &mut Roff, heading: &str) {
    page.control("SH", [heading]);
}

/// Appends a term and its meaning, indented.
fn append_entry(page: &mut Roff, term: Vec<Inline>, meaning: &str) {
    page.control("TP", []);
    page.text(term);
    page.text([roman(meaning)]);
}

fn command_description(command: &Command) -> String {
    command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default()
}

fn append_synopsis(page: &mut Roff, program: &Command) {
    page.text([bold("diskscope"), roman(" [OPTIONS]")]);
    for command in program.get_subcommands() {
        page.control("br", []);
        page.text([bold("diskscope "), roman(command_usage(command))]);
    }
}

/// The usage of a command, such as `run [OPTIONS] <TEST> <TARGET>`.
fn command_usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    usage.trim_start_matches("Usage: ").trim().to_owned()
}

fn append_command(page: &mut Roff, command: &Command) {
    page.control(
        "SS",
        [format!("diskscope {}", command_usage(command)).as_str()],
    );
    page.text([roman(format!("{}.", command_description(command)))]);
    if let Some(more) = command.get_after_help() {
        append_paragraphs(page, &more.to_string());
    }
    append_options(page, command);
}

/// Appends text in paragraphs. Indented lines are commands, each of which stays one line of the page: where it is
/// folded or hyphenated, what is copied from it is another command.
fn append_paragraphs(page: &mut Roff, text: &str) {
    page.control("PP", []);
    for line in text.lines() {
        if let Some(command) = line.strip_prefix(COMMAND_INDENT) {
            page.control("nf", []);
            page.text([roman(command)]);
            page.control("fi", []);
        } else if line.is_empty() {
            page.control("PP", []);
        } else {
            page.text([roman(line)]);
        }
    }
}

fn append_options(page: &mut Roff, command: &Command) {
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
        append_entry(page, option_term(argument), &meaning);
    }
}

/// The term of an option, such as `-o, --output FILE`, or `FILE`.
fn option_term(argument: &Arg) -> Vec<Inline> {
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

fn append_benchmarks(page: &mut Roff) {
    for test in BENCHMARKS {
        let test = test.description();
        let mut names = vec![bold(test.name)];
        if !test.aliases.is_empty() {
            names.push(roman(format!(" ({})", test.aliases.join(", "))));
        }
        let writes = if test.may_write { " (writes)" } else { "" };
        append_entry(page, names, &format!("{}{writes}", test.summary));
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;
    use crate::requirement::{Requirement, skip};

    /// A name escaped for troff: a plain hyphen is a line-break opportunity, `\-` is the character.
    fn troff_escaped(name: &str) -> String {
        name.replace('-', "\\-")
    }

    #[test]
    fn manual_page_covers_every_command_benchmark_and_option() {
        let page = manual_page(&crate::cli::command());
        for command in crate::cli::command().get_subcommands() {
            assert!(page.contains(&format!("diskscope {}", command.get_name())));
            for argument in command.get_arguments() {
                if let Some(long) = argument.get_long() {
                    assert!(
                        page.contains(&troff_escaped(&format!("--{long}"))),
                        "{long}"
                    );
                }
            }
        }
        for test in BENCHMARKS {
            let name = test.description().name;
            assert!(page.contains(&troff_escaped(name)), "{name}");
        }
    }

    #[test]
    fn example_is_one_line_of_help_and_manual_page() {
        let page = manual_page(&crate::cli::command());
        let mut found = 0;
        for command in crate::cli::command().get_subcommands() {
            let text = command.get_after_help().map(ToString::to_string);
            for line in text.unwrap_or_default().lines() {
                let Some(example) = line.strip_prefix(COMMAND_INDENT) else {
                    continue;
                };
                found += 1;
                assert!(line.chars().count() <= 80, "the help folds {line}");
                let escaped = troff_escaped(example).replace('\'', "\\*(Aq");
                assert!(page.contains(&format!("\n.nf\n{escaped}\n.fi\n")), "{line}");
            }
        }
        assert!(found > 10);
    }

    #[test]
    fn manual_page_renders_with_man() {
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
        input
            .write_all(manual_page(&crate::cli::command()).as_bytes())
            .unwrap();
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
