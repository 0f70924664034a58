//! `--format openmetrics`: one exposition on stdout, or a file that is replaced at every sample.

use std::path::{Path, PathBuf};

use clap::ArgMatches;

use super::alerts::Alerts;
use crate::cli::destination::Destination;
use crate::cli::failure::CommandFailure;
use crate::cli::output::whole_destination;
use crate::files::output::NewFileAccess;
use crate::probe::SystemSample;
use crate::report::openmetrics::SnapshotMetrics;
use crate::snapshot::Snapshot;

/// Writes expositions.
pub(super) struct ExpositionWriter {
    /// Checked already; `None` once it has been written.
    next: Option<Destination>,
    /// Whether there is a file, which is replaced.
    has_file: bool,
    metrics: SnapshotMetrics,
}

impl ExpositionWriter {
    /// To the file of `-o`, or one sample to stdout.
    pub(super) fn new(matches: &ArgMatches, count: Option<u64>) -> Result<Self, CommandFailure> {
        let path = matches.get_one::<PathBuf>("output");
        let has_file = path.is_some_and(|path| path != Path::new("-"));
        if !has_file && count != Some(1) {
            let message = "--format openmetrics: an exposition on stdout is one sample";
            return Err(CommandFailure::usage_error(message)
                .with_advice("add --count 1, or -o FILE, which is replaced at every sample"));
        }
        Ok(Self {
            next: Some(whole_destination(matches, &[], NewFileAccess::Umask)?),
            has_file,
            metrics: SnapshotMetrics::default(),
        })
    }

    /// Writes a sample as a whole: whoever reads the file sees the previous one or this one. The
    /// checks of an output are made for each: the file may be another one by now.
    pub(super) fn write(
        &mut self,
        matches: &ArgMatches,
        (sample, live): (&SystemSample, &Snapshot),
        alerts: Option<&Alerts>,
    ) -> Result<bool, CommandFailure> {
        let mut output = match self.next.take() {
            Some(output) => output,
            None if self.has_file => whole_destination(matches, &[], NewFileAccess::Umask)?,
            None => return Ok(false),
        };
        let firing = alerts.into_iter().flat_map(Alerts::firing);
        let text = self.metrics.exposition(sample, live, firing);
        Ok(output.write(&text)?)
    }
}
