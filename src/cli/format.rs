//! The formats of results: `--format`, `--json`, and `-o FILE`.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, value_parser};

use super::failure::CommandFailure;
use crate::text;

/// Format of a command's result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputFormat {
    /// Text for people.
    Text,
    /// One JSON document.
    Json,
    /// One JSON object per line.
    Ndjson,
    /// Comma-separated values with a heading, RFC 4180.
    Csv,
    /// One exposition in the OpenMetrics text format, as Prometheus reads it.
    OpenMetrics,
}

impl OutputFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [
        Self::Text,
        Self::Json,
        Self::Ndjson,
        Self::Csv,
        Self::OpenMetrics,
    ];

    /// The keyword of `--format`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Json => "json",
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
            Self::OpenMetrics => "openmetrics",
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.word() == word)
    }
}

/// `--format`, `--json` and `-o` of a command with these formats, of which the first is the default.
pub(super) fn format_arguments(formats: &'static [OutputFormat]) -> [Arg; 3] {
    let help =
        match formats.contains(&OutputFormat::Ndjson) && !formats.contains(&OutputFormat::Json) {
            true => "same as --format ndjson: one JSON object per line",
            false => "same as --format json",
        };
    [
        format_option(formats).conflicts_with("json"),
        Arg::new("json")
            .long("json")
            .action(ArgAction::SetTrue)
            .help(help),
        output_option(),
    ]
}

/// `--format` alone, for a command whose `--json` is another option.
pub(super) fn format_option(formats: &'static [OutputFormat]) -> Arg {
    Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .help(format!(
            "format of the result: {}",
            format_words(formats, " or ")
        ))
}

/// `-o FILE`.
pub(super) fn output_option() -> Arg {
    Arg::new("output")
        .short('o')
        .long("output")
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .help("write the result to this file instead of stdout; - is stdout")
}

/// The format that the options select among those of the command.
pub(super) fn selected_format(
    matches: &ArgMatches,
    formats: &'static [OutputFormat],
) -> Result<OutputFormat, CommandFailure> {
    if let Some(word) = matches.get_one::<String>("format") {
        return parse_format(word, formats);
    }
    let json_switch = matches
        .try_get_one::<bool>("json")
        .ok()
        .flatten()
        .is_some_and(|given| *given);
    let is_json =
        |format: &&OutputFormat| matches!(format, OutputFormat::Json | OutputFormat::Ndjson);
    Ok(match json_switch {
        true => formats.iter().find(is_json).copied(),
        false => formats.first().copied(),
    }
    .unwrap_or(OutputFormat::Text))
}

fn parse_format(
    word: &str,
    formats: &'static [OutputFormat],
) -> Result<OutputFormat, CommandFailure> {
    let advice = format!(
        "formats of this command: {}",
        format_words(formats, " and ")
    );
    match OutputFormat::from_word(word) {
        Some(format) if formats.contains(&format) => Ok(format),
        Some(_) => Err(CommandFailure::usage_error(format!(
            "--format {word:?}: this command does not have that format"
        ))
        .with_advice(advice)),
        None => Err(CommandFailure::usage_error(format!(
            "--format {word:?}: there is no such format{}",
            text::suggestion(word, formats.iter().map(|format| format.word()))
        ))
        .with_advice(advice)),
    }
}

/// `text, json or csv`.
fn format_words(formats: &[OutputFormat], last: &str) -> String {
    let words: Vec<&str> = formats.iter().map(|format| format.word()).collect();
    match words.split_last() {
        Some((end, [])) => (*end).to_owned(),
        Some((end, rest)) => format!("{}{last}{end}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    const STREAM: &[OutputFormat] = &[OutputFormat::Text, OutputFormat::Ndjson, OutputFormat::Csv];

    fn selected(words: &[&str]) -> Result<OutputFormat, String> {
        let command = clap::Command::new("it").args(format_arguments(STREAM));
        let matches = command
            .try_get_matches_from(words)
            .map_err(|it| it.to_string())?;
        selected_format(&matches, STREAM)
            .map_err(|failure| format!("{}; {}", failure.message, failure.details.join("; ")))
    }

    #[test]
    fn format_options_select_a_format_of_the_command() {
        assert_eq!(selected(&["it"]), Ok(OutputFormat::Text));
        assert_eq!(selected(&["it", "--json"]), Ok(OutputFormat::Ndjson));
        assert_eq!(selected(&["it", "--format", "csv"]), Ok(OutputFormat::Csv));
    }

    #[test]
    fn format_that_the_command_lacks_is_refused_with_the_possible_ones() {
        for (word, hint) in [
            (
                "json",
                "does not have that format; formats of this command: text, ndjson and csv",
            ),
            ("cvs", "did you mean csv?"),
            ("yaml", "no such format"),
        ] {
            let error = selected(&["it", "--format", word]).unwrap_err();
            assert!(error.contains(hint), "{error}");
        }
        let both = selected(&["it", "--json", "--format", "csv"]).unwrap_err();
        assert!(both.contains("cannot be used with"), "{both}");
    }
}
