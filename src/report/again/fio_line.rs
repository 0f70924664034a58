//! fio's line of a run, checked against what this program writes.

use std::path::Path;

use super::named_target::is_target_path;
use crate::bench::framework::benchmark::Description;
use crate::bench::framework::fio::{FioFile, parse_command_lines};
use crate::session::document::BenchmarkRun;

/// The lines of a text, where they are a command that this program writes for the run's benchmark and
/// target, with a comment that tells what the command overwrites if it does; `None` for any other text.
pub(super) fn checked(
    benchmark: Option<&Description>,
    run: &BenchmarkRun,
    text: &str,
) -> Option<Vec<String>> {
    let (file, job) = parse_command_lines(text)?;
    let (path, is_allowed) = match &file {
        FioFile::Scratch { directory, .. } => (directory, true),
        FioFile::Device(path) | FioFile::File(path) => {
            // Every path ends with an empty one, such as that of the target `.`; and a path without a
            // file name, such as one of only dots, can only be a directory.
            let named = Path::new(run.target.path.as_str());
            let names_file = named.file_name().is_some() && path.file_name().is_some();
            // A read benchmark of somebody else's document overwrites nothing.
            let may_write = benchmark.is_some_and(|it| it.may_write);
            (path, names_file && (may_write || !job.is_write()))
        }
    };
    // Not the text: an earlier version wrote a line that creates a file where it is cut.
    let lines = job.command_lines(&file).ok()?;
    (is_allowed && is_target_path(run, path)).then(|| lines.lines().map(str::to_owned).collect())
}
