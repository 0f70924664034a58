//! Where the kernel's file systems are found.
//!
//! Every reader takes its paths from here, so that a test can point it at a directory of
//! literal files taken from another kernel.

use std::path::{Path, PathBuf};

/// The directories that everything below `/proc`, `/sys`, `/dev` and `/run` is read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// procfs, `/proc`.
    pub proc: PathBuf,
    /// sysfs, `/sys`.
    pub sys: PathBuf,
    /// tracefs, `/sys/kernel/tracing`.
    pub tracing: PathBuf,
    /// device nodes, `/dev`.
    pub dev: PathBuf,
    /// run-time state of other programs (udev's database), `/run`.
    pub run: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self::below(Path::new("/"))
    }
}

impl Roots {
    /// The usual layout below another root: `ROOT/proc`, `ROOT/sys` and so on.
    #[must_use]
    pub fn below(root: &Path) -> Self {
        Self {
            proc: root.join("proc"),
            sys: root.join("sys"),
            tracing: root.join("sys/kernel/tracing"),
            dev: root.join("dev"),
            run: root.join("run"),
        }
    }
}

/// Where this program keeps what outlives it: `$XDG_STATE_HOME/diskscope`, or the same below
/// `~/.local/state` (XDG Base Directory Specification). `None` without either variable.
#[must_use]
pub fn state_directory() -> Option<PathBuf> {
    absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
        .map(|state| state.join("diskscope"))
}

/// The directory for what does not outlive the login, `$XDG_RUNTIME_DIR` (XDG Base Directory
/// Specification).
#[must_use]
pub fn runtime_directory() -> Option<PathBuf> {
    absolute("XDG_RUNTIME_DIR")
}

/// The absolute path that an environment variable holds; others are ignored.
fn absolute(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}
