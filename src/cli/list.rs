//! `diskscope tests`: lists the benchmarks, or shows one in full, as `diskscope run NAME --help` does.

use clap::Args;

use super::benchmarks::{benchmark_help, benchmark_json, find_benchmark, list_text};
use super::failure::CommandResult;
use super::options::FormatOption;
use super::options::OutputFormat::{self, Json, Ndjson, Text};
use super::output::{json_lines, pretty_json};
use super::run;
use super::subcommand::Arguments;
use crate::bench::{BENCHMARKS, Benchmark};

/// List the benchmarks, or show one in full: what it does, its options, an example
#[derive(Debug, Args)]
#[command(visible_alias = "benchmarks")]
pub(super) struct TestsArguments {
    /// show this benchmark in full
    #[arg(value_name = "BENCHMARK")]
    name: Option<String>,
    #[command(flatten)]
    format: FormatOption,
}

impl Arguments for TestsArguments {
    const FORMATS: &'static [OutputFormat] = &[Text, Json, Ndjson];

    fn run(self) -> CommandResult {
        let one = self.name.as_deref().map(find_benchmark).transpose()?;
        let one = one.map(Benchmark::description);
        let all = || BENCHMARKS.iter().map(|it| benchmark_json(it.description()));
        let output = &self.format.output;
        output.print(&[], || match (one, self.format.get()) {
            (Some(one), Text) => Ok(benchmark_help(run::definition(), one)),
            (Some(one), Json) => pretty_json(&benchmark_json(one)),
            (Some(one), _) => json_lines([benchmark_json(one)]),
            (None, Text) => Ok(list_text()),
            (None, Json) => pretty_json(&all().collect::<Vec<_>>()),
            (None, _) => json_lines(all()),
        })
    }
}
