//! The program of a command, and its arguments.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::identity::{ExecIdentity, IdentityChange};
use crate::files::error::FileError;
use crate::files::path::check_program_path;

/// A program that exists, with its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertProgram {
    /// Absolute path.
    pub(super) path: PathBuf,
    /// Arguments, without the name of the program.
    pub(super) arguments: Vec<String>,
}

/// Why a text is no command.
#[derive(Debug, thiserror::Error)]
pub enum CommandLineError {
    /// A quote is not closed, or a backslash ends the text.
    #[error("--exec {0:?}: a quote is not closed")]
    OpenQuote(String),
    /// No words.
    #[error("--exec: write a program and its arguments")]
    Empty,
    /// No program of that name.
    #[error("--exec: there is no program {program:?} in {directories}")]
    NotFound {
        /// The name.
        program: String,
        /// Where it was looked for.
        directories: String,
    },
    /// The path cannot be examined.
    #[error("--exec: cannot examine {}: {source}", path.display())]
    Examine {
        /// The path.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
    /// Others than root and the user of the command decide what is executed.
    #[error("--exec: {} is not run as {user}: {reason}", path.display())]
    Untrusted {
        /// The program.
        path: PathBuf,
        /// The user of the command.
        user: String,
        /// Which component of the path others control, and how.
        reason: String,
    },
    /// The file is not a program.
    #[error("--exec: {} is not an executable file", path.display())]
    NotExecutable {
        /// The path.
        path: PathBuf,
    },
}

impl AlertProgram {
    /// Splits a text into words as a POSIX shell does, without expanding anything, and finds the
    /// program: below the current directory when its name has a slash, otherwise in `directories`.
    ///
    /// # Errors
    /// If there are no words, or the first is no program.
    pub fn parse(text: &str, directories: &OsStr) -> Result<Self, CommandLineError> {
        let words = shlex::split(text).ok_or_else(|| CommandLineError::OpenQuote(text.into()))?;
        let mut words = words.into_iter();
        let name = words.next().ok_or(CommandLineError::Empty)?;
        Ok(Self {
            path: find_program(&name, directories)?,
            arguments: words.collect(),
        })
    }

    /// Checks that nobody but root and the user of the command can replace the program, where this
    /// process is root. What the program itself reads or starts, as a shell its script, is not checked.
    ///
    /// # Errors
    /// If others control the file, a directory or a symbolic link of its path.
    pub fn check_control(&self, identity: &ExecIdentity) -> Result<(), CommandLineError> {
        let account = match &identity.0 {
            IdentityChange::None => return Ok(()),
            IdentityChange::Root(account) | IdentityChange::To(account) => account,
        };
        check_program_path(&self.path, account.user_id).map_err(|error| match error {
            FileError::Io { path, source, .. } => CommandLineError::Examine { path, source },
            error => CommandLineError::Untrusted {
                path: self.path.clone(),
                user: account.name.clone(),
                reason: error.to_string(),
            },
        })
    }

    /// Words that only a shell would act on, such as `|` and `$DISKSCOPE_NAME`; none if the program
    /// has arguments for a shell of its own.
    #[must_use]
    pub fn shell_words(&self) -> Vec<&str> {
        const OPERATORS: [&str; 10] = ["|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1"];
        let is_script = self.arguments.iter().any(|word| word == "-c");
        let words = self.arguments.iter().map(String::as_str);
        words
            .filter(|word| !is_script && (OPERATORS.contains(word) || word.contains("$DISKSCOPE_")))
            .collect()
    }
}

fn find_program(name: &str, directories: &OsStr) -> Result<PathBuf, CommandLineError> {
    if name.contains('/') {
        let path = std::path::absolute(name).map_err(|source| CommandLineError::Examine {
            path: name.into(),
            source,
        })?;
        return match is_executable(&path) {
            Ok(true) => Ok(path),
            Ok(false) => Err(CommandLineError::NotExecutable { path }),
            Err(source) => Err(CommandLineError::Examine { path, source }),
        };
    }
    // A relative directory would depend on the working directory of the child.
    std::env::split_paths(directories)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join(name))
        .find(|path| is_executable(path).unwrap_or(false))
        .ok_or_else(|| CommandLineError::NotFound {
            program: name.to_owned(),
            directories: directories.to_string_lossy().into_owned(),
        })
}

/// Whether it is a file that somebody may execute.
fn is_executable(path: &Path) -> io::Result<bool> {
    let metadata = fs::metadata(path)?;
    Ok(metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(root: &Path, name: &str, mode: u32) -> PathBuf {
        let path = root.join(name);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    #[test]
    fn program_is_found_in_absolute_directories() {
        let root = tempfile::tempdir().unwrap();
        let found = program(root.path(), "notify", 0o755);
        let directories = std::env::join_paths([Path::new("."), root.path()]).unwrap();
        let parsed = AlertProgram::parse("notify 'two words' a\\ b \"\"", &directories).unwrap();
        assert_eq!(parsed.path, found);
        assert_eq!(parsed.arguments, ["two words", "a b", ""]);
        let named = AlertProgram::parse(found.to_str().unwrap(), OsStr::new("")).unwrap();
        assert_eq!(named.path, found);
    }

    #[test]
    fn text_without_a_program_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let data = program(root.path(), "data", 0o644);
        let directories = root.path().as_os_str();
        for (text, hint) in [
            ("", "write a program"),
            ("  ", "write a program"),
            ("notify 'x", "not closed"),
            ("notify", "no program \"notify\""),
            ("data", "no program \"data\""),
            (data.to_str().unwrap(), "not an executable file"),
            ("/no/such/program", "cannot examine"),
            ("/", "not an executable file"),
        ] {
            let message = AlertProgram::parse(text, directories)
                .unwrap_err()
                .to_string();
            assert!(message.contains(hint), "{text}: {message}");
        }
    }

    #[test]
    fn words_for_a_shell_are_found() {
        let words = |text: &str| {
            let parsed = AlertProgram::parse(text, OsStr::new("/usr/bin:/bin")).unwrap();
            parsed.shell_words().len()
        };
        assert_eq!(words("echo $DISKSCOPE_NAME > /tmp/x"), 2);
        assert_eq!(words("sh -c 'echo $DISKSCOPE_NAME > /tmp/x'"), 0);
        assert_eq!(words("echo a;b"), 0);
    }
}
