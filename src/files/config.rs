//! The user's configuration file, `$XDG_CONFIG_HOME/diskscope/config.toml`: where it is, whether it may be
//! trusted, and what is wrong with it. `docs/configuration.md` describes the keys.

use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;
use serde::de::DeserializeOwned;

use super::error::FileError;
use super::input::{InputKind, open_input};
use super::path::check_controlled;
use crate::text::suggestion;

/// Longest file that is read; a configuration has a few lines.
const MAX_BYTES: u64 = 64 << 10;
/// An error in the configuration file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A line that cannot be used.
    #[error("{}:{line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, from 1.
        line: usize,
        /// What is wrong with it: not TOML, an unknown key, or a value that its key does not take.
        problem: String,
    },
}

/// What was read.
#[derive(Debug, Default)]
pub struct ConfigFile<T> {
    /// Path of the file, whether it exists or not; `None` without a home directory.
    pub path: Option<PathBuf>,
    /// Why the file was ignored, as a sentence.
    pub ignored: Option<String>,
    /// The keys of the file; the default if there is none, or it was ignored.
    pub settings: T,
}

/// `$XDG_CONFIG_HOME/diskscope/config.toml`, by default below `~/.config`. A relative path in the
/// variable is ignored, as the XDG specification requires.
#[must_use]
pub fn config_path() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = PathBuf::from(std::env::var_os(name)?);
        path.is_absolute().then_some(path)
    };
    let directory =
        absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(directory.join("diskscope/config.toml"))
}

/// Reads the user's file. `keys` are all that it may have.
///
/// # Errors
/// When it cannot be read, or a key or a value is unknown.
pub fn load<T: DeserializeOwned + Default>(keys: &[&str]) -> Result<ConfigFile<T>, ConfigError> {
    let Some(path) = config_path() else {
        return Ok(ConfigFile::default());
    };
    let (text, reason) = match read_trusted(&path) {
        Ok(text) => (text, None),
        Err(Unread::Ignored(reason)) => (None, Some(reason)),
        Err(Unread::Failed(source)) => return Err(ConfigError::Read { path, source }),
    };
    Ok(ConfigFile {
        settings: text.map_or_else(|| Ok(T::default()), |text| parse(&path, &text, keys))?,
        ignored: reason.map(|reason| format!("{} is ignored: {reason}", path.display())),
        path: Some(path),
    })
}

fn parse<T: DeserializeOwned>(path: &Path, text: &str, keys: &[&str]) -> Result<T, ConfigError> {
    let at = |span: Range<usize>, problem: String| ConfigError::Line {
        path: path.to_owned(),
        line: text.as_bytes()[..span.start]
            .iter()
            .filter(|it| **it == b'\n')
            .count()
            + 1,
        problem: problem.replace('\n', ", "),
    };
    let failed =
        |error: toml::de::Error| at(error.span().unwrap_or_default(), error.message().to_owned());
    let table = toml::de::DeTable::parse(text).map_err(failed)?;
    let mut written = table.get_ref().keys();
    if let Some(key) = written.find(|key| !keys.contains(&key.get_ref().as_ref())) {
        let known = match suggestion(key.get_ref(), keys.iter().copied()) {
            nearest if nearest.is_empty() => format!("; keys are {}", keys.join(", ")),
            nearest => nearest,
        };
        let problem = format!("unknown key {}{known}", key.get_ref());
        return Err(at(key.span(), problem));
    }
    toml::from_str(text).map_err(failed)
}

/// Why an existing file is not read.
#[derive(Debug)]
enum Unread {
    /// As a sentence; nothing else is wrong.
    Ignored(String),
    Failed(io::Error),
}

impl From<FileError> for Unread {
    fn from(error: FileError) -> Self {
        match error {
            FileError::Untrusted(_, reason) => Self::Ignored(reason),
            FileError::WrongKind(..) => Self::Ignored("it is not a regular file".to_owned()),
            error if error.is_permission_denied() => {
                Self::Ignored("this user may not read it".to_owned())
            }
            error => Self::Failed(error.into()),
        }
    }
}

/// Reads the file if it is a regular one that only this user and root can change: otherwise another user
/// would decide what this user's program does. `None` if there is none.
fn read_trusted(path: &Path) -> Result<Option<String>, Unread> {
    let file = match open_input(path, InputKind::RegularFile) {
        Ok((file, _)) => file,
        Err(FileError::Io { source, .. })
            if [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory].contains(&source.kind()) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error.into()),
    };
    check_controlled(path, geteuid().as_raw())?;
    let mut text = String::new();
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text);
    read.map_err(Unread::Failed)?;
    if text.len() as u64 > MAX_BYTES {
        let error = io::Error::other("a configuration has at most 64 KiB");
        return Err(Unread::Failed(error));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Default, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Settings {
        interval: Option<f64>,
        theme: Option<String>,
    }

    #[test]
    fn unusable_line_is_named_with_the_nearest_key() {
        let parsed = |text: &str| {
            parse::<Settings>(Path::new("/c"), text, &["interval", "theme"])
                .map_err(|error| error.to_string())
        };
        assert_eq!(parsed("").unwrap(), Settings::default());
        let dark = parsed("\ntheme = 'dark'").unwrap();
        assert_eq!(dark.theme.as_deref(), Some("dark"));
        for (text, expected) in [
            (
                "intervall = 2",
                "1: unknown key intervall, did you mean interval?",
            ),
            (
                "\n\ncolour = 2",
                "3: unknown key colour; keys are interval, theme",
            ),
            (
                "\ntheme = 1",
                "2: invalid type: integer `1`, expected a string",
            ),
            ("theme = 'dark'\ninterval 2", "2: "),
            ("theme = 'dark'\ntheme = 'light'", "2: duplicate key"),
            ("[theme]\nname = 1", "1: invalid type"),
        ] {
            let error = parsed(text).unwrap_err();
            let expected = format!("/c:{expected}");
            assert!(error.starts_with(&expected), "{text}: {error}");
            assert!(!error.contains('\n'), "{text}: {error}");
        }
    }

    /// The sentence for a file that is ignored.
    fn reason(path: &Path) -> Option<String> {
        match read_trusted(path) {
            Ok(_) => None,
            Err(Unread::Ignored(reason)) => Some(reason),
            Err(Unread::Failed(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn file_that_others_may_write_is_ignored_with_a_sentence() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config.toml");
        assert_eq!(read_trusted(&file).unwrap(), None);
        fs::write(&file, "interval = 2\n").unwrap();
        for (mode, is_read) in [(0o644, true), (0o600, true), (0o646, false), (0o666, false)] {
            fs::set_permissions(&file, PermissionsExt::from_mode(mode)).unwrap();
            let reason = reason(&file);
            assert_eq!(reason.is_none(), is_read, "{mode:o}");
            let is_named = |reason: &String| reason.starts_with("other users can write to ");
            assert!(reason.as_ref().is_none_or(is_named), "{reason:?}");
        }
        fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
        assert_eq!(read_trusted(&file).unwrap().unwrap(), "interval = 2\n");
        if geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(12), None).unwrap();
            let reason = reason(&file).unwrap();
            assert!(reason.ends_with("belongs to user 12"), "{reason}");
        }
    }

    #[test]
    fn what_is_no_short_text_file_has_no_content() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::RUSR).unwrap();
        let _listener = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        for path in [at("pipe"), at("socket"), at(""), "/dev/zero".into()] {
            let reason = reason(&path).unwrap();
            assert_eq!(reason, "it is not a regular file", "{}", path.display());
        }
        for content in [vec![b'#'; (64 << 10) + 1], vec![0xff, 0xfe]] {
            fs::write(at("file"), content).unwrap();
            assert!(matches!(read_trusted(&at("file")), Err(Unread::Failed(_))));
        }
        assert_eq!(read_trusted(&at("file/below")).unwrap(), None);
    }
}
