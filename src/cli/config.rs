//! `diskscope config`: prints the configuration in effect, and where each value comes from.

use std::fmt::Write as _;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use serde_json::{Value, json};

use super::failure::{CommandFailure, CommandResult};
use super::options::OutputFormat::{self, Json, Text};
use super::options::{self, FormatOption, choice};
use super::output::{pretty_json, print_status_line};
use super::subcommand::Arguments;
use crate::app::live::device_list::{DeviceColumn, optional_columns};
use crate::app::preferences::Preferences;
use crate::app::process::{ProcessColumn, process_columns};
use crate::files::config::{self, ConfigFile};
use crate::files::file_id::FileId;
use crate::files::json;
use crate::files::safe_text::SafeText;
use crate::text;
use crate::tui::theme::ThemeName;
use crate::units;

/// The option of the time between two samples. Its default is that of the configuration.
#[derive(Debug, Args)]
pub(super) struct IntervalOption {
    /// time between two samples; a bare number is seconds [default: 1s]
    #[arg(long, value_name = "DURATION", value_parser = options::parse_interval)]
    pub(super) interval: Option<Duration>,
}

/// The option of the colours.
#[derive(Debug, Args)]
pub(super) struct ThemeOption {
    /// colours [default: auto]
    #[arg(long, value_parser = choice(&ThemeName::ALL, ThemeName::word))]
    pub(super) theme: Option<ThemeName>,
}

/// Print the configuration in effect, and where each value comes from
#[derive(Debug, Args)]
#[command(
    after_help = "A value comes from an option, the configuration file, the environment or the program, in \
    this order. The text is a configuration file.\n\nExamples:\n  diskscope config\n  \
    diskscope config --json | jq .settings.theme"
)]
pub(super) struct ConfigArguments {
    #[command(flatten)]
    interval: IntervalOption,
    #[command(flatten)]
    theme: ThemeOption,
    #[command(flatten)]
    format: FormatOption,
}

impl Arguments for ConfigArguments {
    const FORMATS: &'static [OutputFormat] = &[Text, Json];

    fn run(self) -> CommandResult {
        // What the program prints lacks the comments of the file.
        let file = config::config_path().and_then(|path| path.metadata().ok());
        let inputs: Vec<FileId> = file.iter().map(FileId::of_metadata).collect();
        self.format.output.print(&inputs, || {
            let config = effective(self.interval.interval, self.theme.theme)?;
            match self.format.get() {
                Text => Ok(config_text(&config)),
                _ => pretty_json(&config_json(&config)),
            }
        })
    }
}

/// The keys of the file, in the order in which they are printed.
const KEYS: [&str; 6] = [
    "interval",
    "theme",
    "sort",
    "columns",
    "hidden_devices",
    "default_target",
];

/// What the file sets.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// Time between two samples.
    #[serde(deserialize_with = "interval")]
    interval: Option<Duration>,
    /// Colours.
    #[serde(deserialize_with = "theme")]
    theme: Option<ThemeName>,
    /// Column that sorts the processes.
    #[serde(deserialize_with = "sort")]
    sort: Option<ProcessColumn>,
    /// Columns of the devices.
    #[serde(deserialize_with = "columns")]
    columns: Option<Vec<DeviceColumn>>,
    /// Patterns of devices that the Live screen leaves out.
    hidden_devices: Option<Vec<String>>,
    /// Target that the launcher selects first.
    default_target: Option<String>,
}

/// A duration, or a number of seconds.
fn interval<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Duration>, D::Error> {
    let text = match Value::deserialize(value)? {
        Value::String(text) => text,
        number => number.to_string(),
    };
    options::parse_interval(&text)
        .map(Some)
        .map_err(|error| D::Error::custom(format_args!("interval: {error}")))
}

fn theme<'de, D: Deserializer<'de>>(value: D) -> Result<Option<ThemeName>, D::Error> {
    let word = String::deserialize(value)?;
    one_of("theme", &word, &ThemeName::ALL, ThemeName::word).map(Some)
}

fn sort<'de, D: Deserializer<'de>>(value: D) -> Result<Option<ProcessColumn>, D::Error> {
    let word = String::deserialize(value)?;
    one_of("sort", &word, &process_columns(), |column| column.name).map(Some)
}

fn columns<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Vec<DeviceColumn>>, D::Error> {
    let words = Vec::<String>::deserialize(value)?;
    let column = |word: &String| one_of("columns", word, &optional_columns(), |column| column.name);
    words.iter().map(column).collect::<Result<_, _>>().map(Some)
}

/// The one of these values that has this word.
fn one_of<T: Copy, E: Error>(
    key: &str,
    word: &str,
    all: &[T],
    word_of: fn(T) -> &'static str,
) -> Result<T, E> {
    let found = all.iter().find(|one| word_of(**one) == word).copied();
    found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|one| word_of(*one)).collect();
        let nearest = text::suggestion(word, known.iter().copied());
        let known = known.join(", ");
        E::custom(format_args!("{key}: {word:?} is none of {known}{nearest}"))
    })
}

/// Where a value comes from, as it is printed.
type ValueSource = &'static str;

/// The configuration in effect.
pub(super) struct Config {
    /// Time between two samples.
    pub(super) interval: Duration,
    /// Colours.
    pub(super) theme: ThemeName,
    interval_source: ValueSource,
    theme_source: ValueSource,
    file: ConfigFile<Settings>,
}

impl Config {
    fn of_file(file: ConfigFile<Settings>) -> Self {
        let settings = &file.settings;
        let (interval, theme) = (settings.interval, settings.theme);
        Self {
            interval: interval.unwrap_or(Duration::from_secs(1)),
            theme: theme.unwrap_or(ThemeName::Auto),
            interval_source: source_of(&interval),
            theme_source: source_of(&theme),
            file,
        }
    }

    /// What the interface takes from it.
    pub(super) fn preferences(&self) -> Preferences {
        let settings = &self.file.settings;
        Preferences {
            sort: settings.sort,
            device_columns: settings.columns.clone().unwrap_or_default(),
            hidden_devices: settings.hidden_devices.clone().unwrap_or_default(),
            default_target: settings.default_target.clone(),
            warning: self.file.ignored.as_ref().map(SafeText::from),
        }
    }

    /// The values of [`KEYS`], null where one is not set, and their sources.
    fn values(&self) -> [(Value, ValueSource); 6] {
        let settings = &self.file.settings;
        let columns = settings.columns.clone().filter(|it| !it.is_empty());
        let columns = columns.unwrap_or_else(optional_columns);
        let columns: Vec<&str> = columns.iter().map(|column| column.name).collect();
        let interval = units::format_exact_duration(self.interval);
        let sort = settings.sort.map(|column| column.name);
        let hidden = settings.hidden_devices.clone().unwrap_or_default();
        let target = &settings.default_target;
        [
            (json!(interval), self.interval_source),
            (json!(self.theme.word()), self.theme_source),
            (json!(sort), source_of(&settings.sort)),
            (json!(columns), source_of(&settings.columns)),
            (json!(hidden), source_of(&settings.hidden_devices)),
            (json!(target), source_of(target)),
        ]
    }
}

fn source_of<T>(value: &Option<T>) -> ValueSource {
    match value {
        Some(_) => "file",
        None => "default",
    }
}

/// The configuration file with the options of the command line and the environment applied. Says on
/// stderr if the file is ignored.
pub(super) fn effective(
    interval: Option<Duration>,
    theme: Option<ThemeName>,
) -> Result<Config, CommandFailure> {
    let file = config::load(&KEYS).map_err(|error| {
        CommandFailure::usage_error(error).with_advice("keys and values: docs/configuration.md")
    })?;
    if let Some(ignored) = &file.ignored {
        print_status_line(&format!("note: {ignored}"));
    }
    let mut config = Config::of_file(file);
    if let Some(interval) = interval {
        (config.interval, config.interval_source) = (interval, "option");
    }
    if let Some(theme) = theme {
        (config.theme, config.theme_source) = (theme, "option");
    }
    // https://no-color.org: colours that the user asks this program for are not affected.
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if no_color && config.theme == ThemeName::Auto {
        (config.theme, config.theme_source) = (ThemeName::Plain, "environment");
    }
    Ok(config)
}

fn config_text(config: &Config) -> String {
    let shown = config.file.path.as_deref().map(SafeText::from_path);
    let mut text = match (&config.file.path, shown) {
        (Some(path), Some(shown)) if path.exists() => format!("# {shown}\n"),
        (_, Some(shown)) => format!("# {shown} (does not exist)\n"),
        (_, None) => "# no file: neither XDG_CONFIG_HOME nor HOME is set\n".to_owned(),
    };
    if let Some(ignored) = &config.file.ignored {
        let _ = writeln!(text, "# {}", SafeText::from(ignored));
    }
    for (key, (value, source)) in KEYS.into_iter().zip(config.values()) {
        // Text and lists are written in TOML as in JSON. TOML has neither null nor an empty default.
        let is_unset = value.is_null() || value.as_array().is_some_and(Vec::is_empty);
        let line = if is_unset {
            format!("# {key} is not set")
        } else {
            format!("{key} = {}", json::escape_controls(&value.to_string()))
        };
        let _ = writeln!(text, "{line:<40} # {source}");
    }
    text
}

fn config_json(config: &Config) -> Value {
    let entries = KEYS.into_iter().zip(config.values());
    let entries = entries.map(|(key, (value, source))| {
        (key.to_owned(), json!({ "value": value, "source": source }))
    });
    json!({
        // The path may be no UTF-8.
        "path": config.file.path.as_deref().map(SafeText::from_path),
        "ignored": config.file.ignored.as_ref().map(SafeText::from),
        "settings": entries.collect::<serde_json::Map<_, _>>(),
    })
}

#[cfg(test)]
mod unit_tests {
    use proptest::prelude::*;

    use super::*;

    fn parsed(text: &str) -> Result<Settings, String> {
        toml::from_str(text).map_err(|error: toml::de::Error| error.message().to_owned())
    }

    #[test]
    fn every_key_sets_its_value() {
        let settings = parsed(
            "interval = 2\ntheme = \"light\"\nsort = \"wMB/s\"\ncolumns = [\"r/s\", \"%util\"]\n\
             hidden_devices = [\"loop*\"]\ndefault_target = \"/srv\"\n",
        );
        let expected = Settings {
            interval: Some(Duration::from_secs(2)),
            theme: Some(ThemeName::Light),
            sort: crate::columns::column("write_bytes_per_s"),
            columns: Some(vec![
                crate::columns::column("read_ios_per_s").unwrap(),
                crate::columns::column("busy").unwrap(),
            ]),
            hidden_devices: Some(vec!["loop*".to_owned()]),
            default_target: Some("/srv".to_owned()),
        };
        assert_eq!(settings, Ok(expected));
        for (text, expected) in [
            ("interval = \"500ms\"", 500),
            ("interval = 0.5", 500),
            ("interval = '3'", 3_000),
        ] {
            let interval = parsed(text).unwrap().interval;
            assert_eq!(interval, Some(Duration::from_millis(expected)), "{text}");
        }
    }

    #[test]
    fn unusable_value_is_named_with_what_is_known() {
        for (text, expected) in [
            (
                "theme = \"ligth\"",
                "theme: \"ligth\" is none of auto, dark, light",
            ),
            ("theme = \"ligth\"", ", did you mean light?"),
            ("sort = \"write\"", "is none of PID"),
            ("columns = [\"r/s\",\n\"await\"]", "is none of r/s"),
            ("columns = \"r/s\"", "expected a sequence"),
            ("hidden_devices = [1]", "expected a string"),
            (
                "interval = 0.01",
                "interval: the shortest interval is 100ms",
            ),
            ("interval = true", "interval: "),
            ("interval = nan", "interval: "),
            ("interval = -1", "interval: "),
            ("interval = 1e30", "interval: "),
            ("colour = 2", "unknown field"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn printed_configuration_of_any_names_is_read_again(
            target in "(\\PC|\\p{Cc}|[\u{200b}-\u{206f}\u{300}-\u{303}\"\\\\]){1,9}"
        ) {
            // JSON writes such a character as a surrogate pair, which TOML lacks.
            prop_assume!(target.chars().all(|it| it < '\u{e0000}'));
            let settings = Settings {
                interval: Some(Duration::from_secs(1)),
                theme: Some(ThemeName::Auto),
                columns: Some(optional_columns()),
                default_target: Some(target.clone()),
                hidden_devices: Some(vec![target.clone()]),
                ..Settings::default()
            };
            let text = config_text(&Config::of_file(ConfigFile {
                settings,
                ..ConfigFile::default()
            }));
            let read = parsed(&text).map_err(TestCaseError::fail)?;
            prop_assert_eq!(read.default_target, Some(target));
            prop_assert!(read.theme == Some(ThemeName::Auto) && read.columns.is_some());
        }
    }
}
