//! Whether a word of a command names the target of a run.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::drive::medium::is_simulated_name;
use crate::files::safe_text::SafeText;
use crate::session::document::BenchmarkRun;

/// Whether a target's name means another file in another working directory.
pub(super) fn is_relative(target: &str) -> bool {
    !is_simulated_name(target) && Path::new(target).is_relative()
}

/// Whether a word of a command is the run's target: the same simulated drive, or a path of the target.
pub(super) fn is_target(run: &BenchmarkRun, word: &[u8]) -> bool {
    match is_simulated_name(&run.target.path) {
        true => SafeText::from_bytes(word) == run.target.path,
        false => is_target_path(run, Path::new(OsStr::from_bytes(word))),
    }
}

/// Whether a path of a command is that of the run's target. It is absolute; the one of the document may be
/// relative, as the user typed it.
pub(super) fn is_target_path(run: &BenchmarkRun, path: &Path) -> bool {
    let named = Path::new(run.target.path.as_str());
    let named = named.strip_prefix(".").unwrap_or(named);
    let shown = SafeText::from_bytes(path.as_os_str().as_bytes());
    path.is_absolute() && Path::new(shown.as_str()).ends_with(named)
}
