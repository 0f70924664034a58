//! `diskscope manual`: generates the manual page from the program's own descriptions.

use std::fmt::Display;

use clap::{Arg, Args, Command};
use roff::{Inline, Roff, bold, italic, roman};

use super::failure::{CommandResult, ExitStatus};
use super::output::print_result;
use crate::bench::BENCHMARKS;

/// The page, with places for what the program describes itself.
const PAGE: &str = include_str!("manual.roff");
/// Before a command in the text below the options of a subcommand.
const COMMAND_INDENT: &str = "  ";

/// Print the manual page, for man(1)
#[derive(Debug, Args)]
#[command(after_help = "To read it: diskscope manual | man -l -")]
pub(super) struct ManualArguments {}

/// Prints the page for this definition of the command line.
pub(super) fn run(program: &Command) -> CommandResult {
    print_result(&manual_page(program))?;
    Ok(ExitStatus::Success)
}

/// The page in troff.
fn manual_page(program: &Command) -> String {
    let name = |page: &mut Roff| {
        let description = shown(program.get_about());
        page.text([roman(format!("diskscope - {description}"))]);
    };
    let commands = |page: &mut Roff| {
        for command in program.get_subcommands() {
            append_command(page, command);
        }
    };
    let parts = [
        ("@NAME@", section(name)),
        ("@OPTIONS@", section(|page| append_options(page, program))),
        ("@COMMANDS@", section(commands)),
        ("@BENCHMARKS@", section(append_benchmarks)),
        ("@STATUSES@", section(append_statuses)),
    ];
    let preamble = Roff::new().render();
    let page = PAGE.replace("@VERSION@", clap::crate_version!());
    let fill = |page: String, (place, text): (&str, String)| page.replace(place, text.trim());
    preamble + &parts.into_iter().fold(page, fill)
}

fn section(append: impl FnOnce(&mut Roff)) -> String {
    let mut page = Roff::new();
    append(&mut page);
    let (text, preamble) = (page.render(), Roff::new().render());
    text.strip_prefix(&preamble).unwrap_or(&text).to_owned()
}

fn append_statuses(page: &mut Roff) {
    for (status, meaning) in ExitStatus::MEANINGS {
        append_entry(page, vec![bold((status as u8).to_string())], meaning);
    }
}

/// Appends a term and its meaning, indented.
fn append_entry(page: &mut Roff, term: Vec<Inline>, meaning: &str) {
    page.control("TP", []);
    page.text(term);
    page.text([roman(meaning)]);
}

fn shown(text: Option<&impl Display>) -> String {
    text.map(ToString::to_string).unwrap_or_default()
}

/// The usage of a command, such as `run [OPTIONS] <TEST> <TARGET>`.
fn command_usage(command: &Command) -> String {
    let usage = command.clone().render_usage().to_string();
    let usage = usage.lines().next().unwrap_or_default();
    let usage = usage.trim_start_matches("Usage: ");
    usage.trim_start_matches("diskscope ").trim().to_owned()
}

fn append_command(page: &mut Roff, command: &Command) {
    page.control(
        "SS",
        [format!("diskscope {}", command_usage(command)).as_str()],
    );
    page.text([roman(format!("{}.", shown(command.get_about())))]);
    append_paragraphs(page, &shown(command.get_after_help()));
    append_options(page, command);
}

/// Appends text in paragraphs. Indented lines are commands, each of which stays one line of the page: where it is
/// folded or hyphenated, what is copied from it is another command.
fn append_paragraphs(page: &mut Roff, text: &str) {
    if !text.is_empty() {
        page.control("PP", []);
    }
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
        let mut meaning = shown(argument.get_help());
        let default = argument.get_default_values().first();
        if let Some(default) = default.filter(|_| argument.get_action().takes_values()) {
            meaning += &format!(" [default: {}]", default.to_string_lossy());
        }
        let values = argument.get_possible_values();
        if !values.is_empty() && argument.get_action().takes_values() {
            let words: Vec<_> = values.iter().map(|it| it.get_name()).collect();
            meaning += &format!(" [{}]", words.join(", "));
        }
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
