//! `diskscope config`: prints the configuration in effect, and where each value comes from.

use std::fmt::Write as _;

use clap::{Arg, ArgMatches, Command, parser};
use serde_json::{Value, json};

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::format::{OutputFormat, format_arguments, selected_format};
use super::output::{ResultOutput, pretty_json, print_status_line};
use super::pace;
use crate::app::live::device_list::DeviceColumn;
use crate::app::process::ProcessColumn;
use crate::config;
use crate::config::{Config, ConfigKey, ValueSource};
use crate::files::json;
use crate::files::safe_text::SafeText;
use crate::named_file::FileId;
use crate::nearest;
use crate::ui::theme::ThemeName;
use crate::units;

/// Formats of this command.
pub(super) const FORMATS: &[OutputFormat] = &[OutputFormat::Text, OutputFormat::Json];

pub(super) fn command() -> Command {
    Command::new("config")
        .about("Print the configuration in effect, and where each value comes from")
        .arg(interval_argument())
        .arg(theme_argument())
        .args(format_arguments(FORMATS))
        .after_help(
            "A value comes from an option, the configuration file, the environment or the program, in \
             this order. The text is a configuration file.\n\nExamples:\n  diskscope config\n  \
             diskscope config --json | jq .settings.theme",
        )
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let format = selected_format(matches, FORMATS)?;
    // What the program prints lacks the comments of the file.
    let file = config::config_path().and_then(|path| path.metadata().ok());
    let inputs: Vec<FileId> = file.iter().map(FileId::of_metadata).collect();
    let output = ResultOutput::from_options(matches, &inputs)?;
    let config = effective(matches)?;
    output.deliver(&match format {
        OutputFormat::Text => config_text(&config),
        _ => pretty_json(&config_json(&config))?,
    })?;
    Ok(ExitStatus::Success)
}

/// The configuration file with the options of the command line and the environment applied. Says on
/// stderr if the file is ignored.
pub(super) fn effective(matches: &ArgMatches) -> Result<Config, CommandFailure> {
    let mut config = config::load().map_err(|error| {
        CommandFailure::usage_error(error).with_advice("keys and values: docs/configuration.md")
    })?;
    if let Some(ignored) = &config.ignored {
        print_status_line(&format!("note: {ignored}"));
    }
    if is_given(matches, "interval") {
        let interval = pace::interval_option(matches)?;
        config.interval.set(interval, ValueSource::Option);
    }
    if is_given(matches, "theme")
        && let Some(word) = matches.get_one::<String>("theme")
    {
        config.theme.set(parse_theme(word)?, ValueSource::Option);
    }
    // https://no-color.org: colours that the user asks this program for are not affected.
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if no_color && config.theme.value == ThemeName::Auto {
        config.theme.set(ThemeName::Plain, ValueSource::Environment);
    }
    Ok(config)
}

/// The option of the time between two samples. Its default is that of the configuration.
pub(super) fn interval_argument() -> Arg {
    Arg::new("interval")
        .long("interval")
        .value_name("DURATION")
        .help("time between two samples; a bare number is seconds [default: 1s]")
}

/// The option of the colours.
pub(super) fn theme_argument() -> Arg {
    Arg::new("theme")
        .long("theme")
        .value_name("THEME")
        .help(format!(
            "colours: {} [default: auto]",
            ThemeName::ALL.map(ThemeName::word).join(", ")
        ))
}

/// The theme with this name.
fn parse_theme(word: &str) -> Result<ThemeName, CommandFailure> {
    let words = ThemeName::ALL.map(ThemeName::word);
    let mut themes = ThemeName::ALL.into_iter();
    themes.find(|theme| theme.word() == word).ok_or_else(|| {
        CommandFailure::usage_error(format!(
            "--theme {word:?}: there is no such theme{}",
            nearest::suggestion(word, words)
        ))
        .with_advice(format!("themes are {}", words.join(", ")))
    })
}

/// Whether the command has this option and it was given.
fn is_given(matches: &ArgMatches, name: &str) -> bool {
    matches!(matches.try_contains_id(name), Ok(true))
        && matches.value_source(name) == Some(parser::ValueSource::CommandLine)
}

/// The value of a key, null if it is not set, and its source.
fn entry(config: &Config, key: ConfigKey) -> (Value, ValueSource) {
    match key {
        ConfigKey::Interval => {
            let interval = units::format_exact_duration(config.interval.value);
            (json!(interval), config.interval.source)
        }
        ConfigKey::Theme => (json!(config.theme.value.word()), config.theme.source),
        ConfigKey::Sort => {
            let column = config.sort.value.map(ProcessColumn::word);
            (json!(column), config.sort.source)
        }
        ConfigKey::Columns => {
            let columns = match config.columns.value.as_slice() {
                [] => DeviceColumn::optional(),
                columns => columns,
            };
            let words: Vec<&str> = columns.iter().map(|column| column.word()).collect();
            (json!(words), config.columns.source)
        }
        ConfigKey::HiddenDevices => (
            json!(config.hidden_devices.value),
            config.hidden_devices.source,
        ),
        ConfigKey::DefaultTarget => (
            json!(config.default_target.value),
            config.default_target.source,
        ),
    }
}

fn source_name(source: ValueSource) -> &'static str {
    match source {
        ValueSource::Default => "default",
        ValueSource::File => "file",
        ValueSource::Option => "option",
        ValueSource::Environment => "environment",
    }
}

fn config_text(config: &Config) -> String {
    let shown = config.path.as_deref().map(SafeText::from_path);
    let mut text = match (&config.path, shown) {
        (Some(path), Some(shown)) if path.exists() => format!("# {shown}\n"),
        (_, Some(shown)) => format!("# {shown} (does not exist)\n"),
        (_, None) => "# no file: neither XDG_CONFIG_HOME nor HOME is set\n".to_owned(),
    };
    if let Some(ignored) = &config.ignored {
        let _ = writeln!(text, "# {}", SafeText::from(ignored.to_string()));
    }
    for key in ConfigKey::ALL {
        let (value, source) = entry(config, key);
        // Text and lists are written in TOML as in JSON. TOML has neither null nor an empty default.
        let is_unset = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        let line = match is_unset {
            true => format!("# {} is not set", key.word()),
            false => format!(
                "{} = {}",
                key.word(),
                json::escape_controls(&value.to_string())
            ),
        };
        let _ = writeln!(text, "{line:<40} # {}", source_name(source));
    }
    text
}

fn config_json(config: &Config) -> Value {
    let entries = ConfigKey::ALL.into_iter().map(|key| {
        let (value, source) = entry(config, key);
        let entry = json!({ "value": value, "source": source_name(source) });
        (key.word().to_owned(), entry)
    });
    json!({
        // The path may be no UTF-8.
        "path": config.path.as_deref().map(SafeText::from_path),
        "ignored": config.ignored.as_ref().map(|ignored| SafeText::from(ignored.to_string())),
        "settings": entries.collect::<serde_json::Map<_, _>>(),
    })
}

#[cfg(test)]
mod unit_tests {
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn printed_names_of_any_characters_are_read_again(
            target in "(\\PC|\\p{Cc}|[\u{200b}-\u{206f}\u{300}-\u{303}\"\\\\]){1,9}"
        ) {
            let mut config = Config::default();
            config.default_target.set(Some(target.clone()), ValueSource::File);
            config.hidden_devices.set(vec![target.clone()], ValueSource::File);
            let text = config_text(&config);
            let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
                TestCaseError::fail(format!("{error}: {text}"))
            })?;
            prop_assert_eq!(table["default_target"].as_str(), Some(target.as_str()));
            prop_assert_eq!(table["hidden_devices"][0].as_str(), Some(target.as_str()));
        }
    }
}
