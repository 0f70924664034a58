//! `diskscope report`: writes sessions to one HTML file.

use std::path::PathBuf;

use clap::Args;

use super::compare::{IgnoreOption, comparison_inputs, load_together};
use super::failure::{CommandResult, ExitStatus};
use super::options::OutputOption;
use super::output::print_status_line;
use super::subcommand::Arguments;
use crate::files::output::NewFileAccess;
use crate::report::html;
use crate::session::compare::compare_sessions;

/// Write saved sessions to one HTML file; several are compared
#[derive(Debug, Args)]
pub(super) struct ReportArguments {
    /// sessions: documents or journals
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// where to write it; - for stdout
    #[arg(short, long, value_name = "OUT.html")]
    output: PathBuf,
    #[command(flatten)]
    ignore: IgnoreOption,
}

impl Arguments for ReportArguments {
    fn run(self) -> CommandResult {
        let (sessions, ids) = load_together(&self.files)?;
        let path = Some(self.output.clone());
        let mut output = OutputOption { path }.whole(&ids, NewFileAccess::Umask)?;
        let inputs = comparison_inputs(&sessions);
        let ignored = &self.ignore.parameters;
        let comparison = (inputs.len() > 1).then(|| compare_sessions(&inputs, ignored));
        let page = html::html_page(&inputs, comparison.as_ref());
        if output.is_stdout() {
            output.write(&page)?;
        } else {
            output.write_bytes(page.as_bytes())?;
            print_status_line(&format!("report written to {}", self.output.display()));
        }
        Ok(ExitStatus::Success)
    }
}
