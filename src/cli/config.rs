//! `diskscope config`: prints the configuration in effect, and where each value comes from.

use std::fmt::Write as _;

use clap::{ArgMatches, Command};
use serde_json::{Value, json};

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::output::{ResultOutput, pretty_json, print_status_line};
use crate::app::preferences::DeviceColumnName;
use crate::app::process::ProcessColumn;
use crate::config;
use crate::config::{Config, ValueSource};
use crate::units;

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] = &[OutputFormat::Text, OutputFormat::Json];

pub(super) fn command() -> Command {
    Command::new("config")
        .about("Print the configuration in effect, and where each value comes from")
        .args(format_arguments(FORMATS))
        .after_help("The text is a configuration file; options of a command win over it.")
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let format = selected_format(matches, FORMATS)?;
    let output = ResultOutput::from_options(matches, &[])?;
    let config = load()?;
    output.deliver(&match format {
        OutputFormat::Text => config_text(&config),
        _ => pretty_json(&config_json(&config))?,
    })?;
    Ok(ExitStatus::Success)
}

/// The configuration; a sentence on stderr if its file is ignored.
pub(super) fn load() -> Result<Config, CommandFailure> {
    let config = config::load().map_err(|error| {
        CommandFailure::usage_error(error).with_advice("keys and values: docs/configuration.md")
    })?;
    if let Some(ignored) = &config.ignored {
        print_status_line(&format!("note: {ignored}"));
    }
    Ok(config)
}

/// The keys with their values and sources; a value that is not set is null.
fn entries(config: &Config) -> [(&'static str, Value, ValueSource); 6] {
    let columns = config
        .columns
        .value
        .iter()
        .map(|it| it.word())
        .collect::<Vec<_>>();
    let columns = match columns.is_empty() {
        true => DeviceColumnName::ALL.map(DeviceColumnName::word).to_vec(),
        false => columns,
    };
    [
        (
            "interval",
            json!(units::format_exact_duration(config.interval.value)),
            config.interval.source,
        ),
        (
            "theme",
            json!(config.theme.value.word()),
            config.theme.source,
        ),
        (
            "sort",
            json!(config.sort.value.map(ProcessColumn::word)),
            config.sort.source,
        ),
        ("columns", json!(columns), config.columns.source),
        (
            "hidden_devices",
            json!(config.hidden_devices.value),
            config.hidden_devices.source,
        ),
        (
            "default_target",
            json!(config.default_target.value),
            config.default_target.source,
        ),
    ]
}

fn source_name(source: ValueSource) -> &'static str {
    match source {
        ValueSource::Default => "default",
        ValueSource::File => "file",
    }
}

fn config_text(config: &Config) -> String {
    let mut text = match &config.path {
        Some(path) if path.exists() => format!("# {}\n", path.display()),
        Some(path) => format!("# {} (does not exist)\n", path.display()),
        None => "# no file: neither XDG_CONFIG_HOME nor HOME is set\n".to_owned(),
    };
    for (key, value, source) in entries(config) {
        // Text and lists are written in TOML as in JSON.
        let line = match value {
            Value::Null => format!("# {key} is not set"),
            value => format!("{key} = {value}"),
        };
        let _ = writeln!(text, "{line:<40} # {}", source_name(source));
    }
    text
}

fn config_json(config: &Config) -> Value {
    let entries = entries(config).into_iter().map(|(key, value, source)| {
        let entry = json!({ "value": value, "source": source_name(source) });
        (key.to_owned(), entry)
    });
    json!({
        "path": config.path,
        "ignored": config.ignored.as_ref().map(ToString::to_string),
        "settings": entries.collect::<serde_json::Map<_, _>>(),
    })
}

#[cfg(test)]
mod unit_tests {
    use super::*;

    #[test]
    fn printed_configuration_can_be_read_again() {
        let text = config_text(&Config::default());
        let table: toml::Table = text.parse().unwrap();
        assert_eq!(table["interval"].as_str(), Some("1s"));
        assert_eq!(table["theme"].as_str(), Some("auto"));
        assert!(text.contains("# default"), "{text}");
        let document = config_json(&Config::default());
        assert_eq!(document["settings"]["theme"]["source"], "default");
    }
}
