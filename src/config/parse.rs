//! The keys of the file and their values.

use std::path::Path;
use std::time::Duration;

use toml::{Table, Value};

use super::error::ConfigError;
use super::settings::Config;
use crate::app::preferences::DeviceColumnName;
use crate::app::process::ProcessColumn;
use crate::nearest;
use crate::ui::theme::ThemeName;
use crate::units;

/// Every key.
pub(super) const KEYS: [&str; 6] = [
    "interval",
    "theme",
    "sort",
    "columns",
    "hidden_devices",
    "default_target",
];
/// Shortest interval, as for `--interval`.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Sets what the text contains.
pub(super) fn apply(config: &mut Config, path: &Path, text: &str) -> Result<(), ConfigError> {
    let table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| ConfigError::Syntax {
            path: path.to_owned(),
            message: error.to_string().trim().replace('\n', "; "),
        })?;
    if let Some(key) = table.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(ConfigError::UnknownKey {
            path: path.to_owned(),
            key: key.clone(),
            suggestion: match nearest::suggestion(key, KEYS) {
                none if none.is_empty() => format!("; keys are {}", KEYS.join(", ")),
                suggestion => suggestion,
            },
        });
    }
    for key in KEYS {
        if let Some(value) = table.get(key) {
            set_value(config, key, value).map_err(|problem| ConfigError::Value {
                path: path.to_owned(),
                key,
                problem,
            })?;
        }
    }
    Ok(())
}

fn set_value(config: &mut Config, key: &str, value: &Value) -> Result<(), String> {
    match key {
        "interval" => config.interval.set(interval(value)?),
        "theme" => config
            .theme
            .set(word(value, &ThemeName::ALL, ThemeName::word)?),
        "sort" => config
            .sort
            .set(Some(word(value, &ProcessColumn::ALL, ProcessColumn::word)?)),
        "columns" => {
            let columns = list(value)?
                .iter()
                .map(|value| word(value, &DeviceColumnName::ALL, DeviceColumnName::word))
                .collect::<Result<_, _>>()?;
            config.columns.set(columns);
        }
        "hidden_devices" => {
            let patterns = list(value)?.iter().map(text).collect::<Result<_, _>>()?;
            config.hidden_devices.set(patterns);
        }
        _ => config.default_target.set(Some(text(value)?)),
    }
    Ok(())
}

fn text(value: &Value) -> Result<String, String> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| "write a text in quotes".to_owned())
}

fn list(value: &Value) -> Result<&Vec<Value>, String> {
    value
        .as_array()
        .ok_or_else(|| "write a list such as [\"loop*\", \"sr0\"]".to_owned())
}

/// A duration, or a number of seconds.
fn interval(value: &Value) -> Result<Duration, String> {
    let written = match value {
        Value::String(text) => text.clone(),
        Value::Integer(seconds) => seconds.to_string(),
        Value::Float(seconds) => seconds.to_string(),
        _ => return Err("write a time such as \"2s\" or 2".to_owned()),
    };
    match units::parse_time(&written).map_err(|error| error.to_string())? {
        interval if interval < MIN_INTERVAL => Err("the shortest interval is 100ms".to_owned()),
        interval => Ok(interval),
    }
}

/// The one of these values that has this word.
fn word<T: Copy>(value: &Value, all: &[T], word_of: fn(T) -> &'static str) -> Result<T, String> {
    let text = text(value)?;
    let words: Vec<&str> = all.iter().map(|one| word_of(*one)).collect();
    let found = all.iter().find(|one| word_of(**one) == text).copied();
    found.ok_or_else(|| {
        format!(
            "{text:?} is none of {}{}",
            words.join(", "),
            nearest::suggestion(&text, words.iter().copied())
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::settings::ValueSource;

    fn parsed(text: &str) -> Result<Config, String> {
        let mut config = Config::default();
        apply(&mut config, Path::new("/c"), text)
            .map(|()| config)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn every_key_sets_its_value() {
        let config = parsed(
            "interval = 2\ntheme = \"light\"\nsort = \"write\"\ncolumns = [\"r/s\", \"%util\"]\n\
             hidden_devices = [\"loop*\"]\ndefault_target = \"/srv\"\n",
        )
        .unwrap();
        assert_eq!(config.interval.value, Duration::from_secs(2));
        assert_eq!(config.theme.value, ThemeName::Light);
        assert_eq!(config.sort.value, Some(ProcessColumn::Write));
        assert_eq!(config.columns.value.len(), 2);
        assert_eq!(config.hidden_devices.value, ["loop*"]);
        assert_eq!(config.default_target.value.as_deref(), Some("/srv"));
        assert_eq!(config.default_target.source, ValueSource::File);
        assert_eq!(parsed("").unwrap(), Config::default());
        assert_eq!(
            parsed("interval = \"500ms\"").unwrap().interval.value,
            Duration::from_millis(500)
        );
    }

    #[test]
    fn unknown_keys_and_values_name_the_nearest() {
        for (text, hint) in [
            ("intervall = 2", "did you mean interval?"),
            ("colour = 2", "keys are interval"),
            ("theme = \"ligth\"", "did you mean light?"),
            ("sort = \"writ\"", "did you mean write?"),
            ("columns = [\"await\"]", "r_await"),
            ("columns = \"r/s\"", "list"),
            ("interval = 0.01", "100ms"),
            ("interval = true", "2s"),
            ("default_target = 1", "quotes"),
            ("interval 2", "not valid TOML"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(hint), "{text}: {error}");
        }
    }
}
