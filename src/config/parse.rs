//! The keys of the file and their values.

use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, LineError, ValueError};
use super::keys::ConfigKey;
use super::settings::{Config, ValueSource};
use crate::app::live::device_list::DeviceColumn;
use crate::app::process::ProcessColumn;
use crate::nearest;
use crate::sorting::SortList as _;
use crate::ui::theme::ThemeName;
use crate::units;

/// Shortest interval, as for `--interval`.
const MIN_INTERVAL: Duration = Duration::from_millis(100);

/// Sets what the text contains. The first line that cannot be used is an error.
pub(super) fn apply(config: &mut Config, path: &Path, text: &str) -> Result<(), ConfigError> {
    let at = |span: Range<usize>, problem| ConfigError::Line {
        path: path.to_owned(),
        line: line_number(text, span.start),
        problem,
    };
    let table = DeTable::parse(text).map_err(|error| {
        let message = error.message().replace('\n', ", ");
        at(error.span().unwrap_or_default(), LineError::Syntax(message))
    })?;
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_list_by_key(|(key, _)| key.span().start);
    for (word, value) in entries {
        let known = ConfigKey::ALL.map(ConfigKey::word);
        let find = ConfigKey::ALL
            .into_iter()
            .find(|key| key.word() == word.get_ref());
        let Some(key) = find else {
            let key = word.get_ref().to_string();
            let nearest = nearest::nearest_name(&key, known);
            return Err(at(word.span(), LineError::UnknownKey { key, nearest }));
        };
        set_value(config, key, value.get_ref())
            .map_err(|problem| at(value.span(), LineError::Value { key, problem }))?;
    }
    Ok(())
}

/// Number of the line, from 1, that contains a byte of the text.
fn line_number(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().iter().take(offset);
    before.filter(|byte| **byte == b'\n').count() + 1
}

fn set_value(config: &mut Config, key: ConfigKey, value: &DeValue<'_>) -> Result<(), ValueError> {
    let source = ValueSource::File;
    match key {
        ConfigKey::Interval => config.interval.set(interval(value)?, source),
        ConfigKey::Theme => {
            let theme = word(value, &ThemeName::ALL, ThemeName::word, "auto")?;
            config.theme.set(theme, source);
        }
        ConfigKey::Sort => {
            let column = word(value, &ProcessColumn::ALL, ProcessColumn::word, "write")?;
            config.sort.set(Some(column), source);
        }
        ConfigKey::Columns => {
            let columns = list(value, r#"["r/s", "w/s", "%util"]"#, |value| {
                word(value, DeviceColumn::optional(), DeviceColumn::word, "%util")
            })?;
            config.columns.set(columns, source);
        }
        ConfigKey::HiddenDevices => {
            let patterns = list(value, r#"["loop*", "sr0"]"#, |value| text(value, "loop*"))?;
            config.hidden_devices.set(patterns, source);
        }
        ConfigKey::DefaultTarget => {
            let target = text(value, "/srv")?;
            config.default_target.set(Some(target), source);
        }
    }
    Ok(())
}

fn text(value: &DeValue<'_>, example: &'static str) -> Result<String, ValueError> {
    match value.as_str() {
        None => Err(ValueError::NotText(example)),
        Some("") => Err(ValueError::Empty),
        Some(text) => Ok(text.to_owned()),
    }
}

fn list<T>(
    value: &DeValue<'_>,
    example: &'static str,
    element: impl Fn(&DeValue<'_>) -> Result<T, ValueError>,
) -> Result<Vec<T>, ValueError> {
    let elements = value.as_array().ok_or(ValueError::NotList(example))?;
    if elements.is_empty() {
        return Err(ValueError::Empty);
    }
    elements.iter().map(Spanned::get_ref).map(element).collect()
}

/// A duration, or a number of seconds.
fn interval(value: &DeValue<'_>) -> Result<Duration, ValueError> {
    let written = match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(seconds) if seconds.radix() == 10 => seconds.as_str().to_owned(),
        DeValue::Float(seconds) => seconds.as_str().to_owned(),
        _ => return Err(ValueError::NotTime),
    };
    match units::parse_time(&written)? {
        interval if interval < MIN_INTERVAL => Err(ValueError::ShortInterval),
        interval => Ok(interval),
    }
}

/// The one of these values that has this word.
fn word<T: Copy>(
    value: &DeValue<'_>,
    all: &[T],
    word_of: fn(T) -> &'static str,
    example: &'static str,
) -> Result<T, ValueError> {
    let value = text(value, example)?;
    let found = all.iter().find(|one| word_of(**one) == value).copied();
    found.ok_or_else(|| {
        let known: Vec<&str> = all.iter().map(|one| word_of(*one)).collect();
        let nearest = nearest::nearest_name(&value, known.iter().copied());
        ValueError::UnknownWord {
            value,
            nearest,
            known,
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
        let columns = [DeviceColumn::Reads, DeviceColumn::Utilization];
        assert_eq!(config.columns.value, columns);
        assert_eq!(config.hidden_devices.value, ["loop*"]);
        assert_eq!(config.default_target.value.as_deref(), Some("/srv"));
        assert_eq!(config.default_target.source, ValueSource::File);
        assert_eq!(parsed("").unwrap(), Config::default());
        for (text, milliseconds) in [
            ("interval = \"500ms\"", 500),
            ("interval = 0.5", 500),
            ("interval = '3'", 3_000),
        ] {
            let interval = parsed(text).unwrap().interval.value;
            assert_eq!(interval, Duration::from_millis(milliseconds), "{text}");
        }
    }

    #[test]
    fn unknown_keys_and_values_name_line_and_nearest() {
        for (text, expected) in [
            (
                "intervall = 2",
                "/c:1: unknown key intervall, did you mean interval?",
            ),
            (
                "\n\ncolour = 2",
                "/c:3: unknown key colour; keys are interval, theme",
            ),
            (
                "interval = 2\n\ntheme = \"ligth\"",
                "/c:3: theme: \"ligth\" is none of auto",
            ),
            ("theme = \"ligth\"", "did you mean light?"),
            ("sort = \"writ\"", "did you mean write?"),
            ("columns = [\"r/s\",\n\"await\"]", "r_await"),
            ("columns = [\"Device\"]", "is none of r/s"),
            ("columns = []", "empty"),
            ("columns = \"r/s\"", "must be a list"),
            ("hidden_devices = [1]", "in quotes"),
            (
                "interval = 0.01",
                "/c:1: interval: the shortest interval is 100ms",
            ),
            ("interval = true", "500ms"),
            ("interval = nan", "/c:1: interval: "),
            ("interval = -1", "/c:1: interval: "),
            ("interval = 1e30", "/c:1: interval: "),
            ("default_target = 1", "in quotes"),
            ("default_target = ''", "empty"),
            ("theme = 'dark'\ninterval 2", "/c:2: not valid TOML"),
            ("theme = 'dark'\ntheme = 'light'", "/c:2: not valid TOML"),
            ("[theme]\nname = 1", "in quotes"),
        ] {
            let error = parsed(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_an_error_that_names_a_line(
            lines in prop::collection::vec(
                "(interval|theme|sort|columns|hidden_devices|default_target|\\[|\\PC{0,6})? ?=? ?(\"\\PC{0,9}\"|\\[(\"(r/s|loop\\*|\\PC{0,3})\",?){0,3}\\]|[0-9.e+-]{0,8}|\\{|\\PC{0,9}|[\u{0}-\u{1f}])?",
                0..6,
            )
        ) {
            let text = lines.join("\n");
            let mut config = Config::default();
            if let Err(error) = apply(&mut config, Path::new("/c"), &text) {
                let ConfigError::Line { line, .. } = error else {
                    return Err(TestCaseError::fail("it is not read here"));
                };
                prop_assert!((1..=text.split('\n').count()).contains(&line), "{}", line);
            }
            prop_assert!(config.interval.value >= MIN_INTERVAL);
        }
    }
}
