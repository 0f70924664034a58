//! `diskscope watch`: prints the Live screen as text or NDJSON.

use std::sync::Arc;
use std::time::Instant;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::failure::{CommandFailure, CommandResult, ExitStatus};
use super::options::json_switch;
use super::output::{print_result, print_status_line};
use super::{pace, signals};
use crate::engine::CancellationToken;
use crate::model::{Snapshot, ViewBuilder};
use crate::probe::SampleCollector;
use crate::report::watch;
use crate::roots::SysPaths;

pub(super) fn command() -> Command {
    Command::new("watch")
        .about("Print devices, processes and transfers at an interval")
        .arg(
            Arg::new("interval")
                .long("interval")
                .value_name("DURATION")
                .default_value("1s")
                .help("time between two samples, such as 500ms or 2s"),
        )
        .arg(
            Arg::new("count")
                .long("count")
                .value_name("N")
                .value_parser(value_parser!(u64).range(1..))
                .help("stop after this many samples"),
        )
        .arg(
            Arg::new("threads")
                .long("threads")
                .action(ArgAction::SetTrue)
                .help("also list the threads of busy processes"),
        )
        .arg(json_switch().help("one JSON object per sample and line"))
}

pub(super) fn run(matches: &ArgMatches) -> CommandResult {
    let interval = pace::interval_option(matches)?;
    let count = matches.get_one::<u64>("count").copied();
    let as_json = matches.get_flag("json");
    let control = Arc::new(CancellationToken::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let (mut collector, mut modeler) = (
        SampleCollector::new(SysPaths::default()),
        ViewBuilder::default(),
    );
    collector.set_show_threads(matches.get_flag("threads"));
    // The first printed sample is relative to this one: a single sample has no rates.
    modeler.update(Arc::new(collector.collect()));
    let mut due = Instant::now();
    let (mut printed, mut said) = (0, Vec::new());
    while count.is_none_or(|count| printed < count) {
        due += interval;
        if !pace::wait_until_due(due, &control) {
            return Ok(ExitStatus::Interrupted);
        }
        let live = modeler.update(Arc::new(collector.collect()));
        for notice in watch::new_notices(&live, &mut said).lines() {
            print_status_line(notice);
        }
        let text = if as_json {
            view_json(&live)?
        } else {
            watch::watch_text(&live)
        };
        if !print_result(&text)? {
            break;
        }
        printed += 1;
    }
    Ok(ExitStatus::Success)
}

fn view_json(live: &Snapshot) -> Result<String, CommandFailure> {
    watch::json_line(live)
        .map(|line| line + "\n")
        .map_err(|error| CommandFailure::failed(format!("cannot write JSON: {error}")))
}
