//! `diskscope run TEST TARGET`: one test without the interface.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::{Exit, Failure, Result, json, print, refused_output, say, signals};
use crate::bench::{self, Job, Parameter, TESTS};
use crate::drive::{Consent, ErrorKind};
use crate::engine::Control;
use crate::named_file::Output;
use crate::nearest;
use crate::report::{repeated, text};
use crate::roots::Roots;
use crate::runtime::benchmark::{self, Order, Report};
use crate::runtime::output;
use crate::session::document::RunState;
use crate::session::goal::Wanted;
use crate::session::store;
use crate::units;

mod progress;

pub(super) fn command() -> Command {
    let text = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    Command::new("run")
        .about("Run one test; the result goes to stdout, the progress to stderr")
        .arg(
            Arg::new("test")
                .value_name("TEST")
                .required(true)
                .help("see `diskscope tests`"),
        )
        .arg(
            Arg::new("target")
                .value_name("TARGET")
                .required(true)
                .value_parser(value_parser!(OsString))
                .help("a block device, a file, a directory (for a scratch file), or sim:NAME"),
        )
        .args(parameters().into_values().map(argument))
        .arg(
            text("engine", "ENGINE", "auto, uring or pread")
                .value_parser(["auto", "uring", "pread"])
                .default_value("auto"),
        )
        .arg(text(
            "scratch-size",
            "SIZE",
            "size of the scratch file in a directory",
        ))
        .arg(
            text(
                "goal",
                "GOAL",
                "a service goal such as iops>=1000 or p95<=500ms; repeatable",
            )
            .action(ArgAction::Append),
        )
        .arg(
            text(
                "repeat",
                "N",
                "measure so many times, one after the other, and judge how alike they are",
            )
            .value_parser(value_parser!(u32).range(1..=1000))
            .default_value("1"),
        )
        .arg(
            text(
                "json",
                "FILE",
                "write the session document there; - is stdout",
            )
            .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            text(
                "overwrite",
                "PATH",
                "consent to lose what is on TARGET; must equal TARGET",
            )
            .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("overwrite-signatures")
                .long("overwrite-signatures")
                .action(ArgAction::SetTrue)
                .requires("overwrite")
                .help(
                    "with --overwrite: also lose the file systems, partition tables, RAID, LVM and \
                     encryption that are found on TARGET, and what cannot be examined",
                ),
        )
}

/// Every parameter that some test has, by name.
fn parameters() -> BTreeMap<&'static str, &'static Parameter> {
    let all = TESTS.iter().flat_map(|test| test.description().parameters);
    all.map(|parameter| (parameter.name, parameter)).collect()
}

fn argument(parameter: &'static Parameter) -> Arg {
    Arg::new(parameter.name)
        .long(parameter.name)
        .value_name(parameter.name.to_uppercase())
        .help(parameter.help)
        .allow_hyphen_values(true)
        .help_heading("Parameters of the tests")
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let mut order = order(matches)?;
    let output = matches
        .get_one::<PathBuf>("json")
        .map(|path| output::prepare(&Roots::default(), path, &[]).map_err(refused_output))
        .transpose()?;
    order.outputs = output.iter().filter_map(Output::id).collect();
    let control = Arc::new(Control::default());
    signals::cancel_on_signal(Arc::clone(&control))?;
    let line = Box::new(progress::Line::new());
    let report = benchmark::run_detached(order, Roots::default(), &control, line);
    let report = report.map_err(|refused| Failure {
        exit: match refused.kind() {
            _ if control.is_cancelled() => Exit::Interrupted,
            ErrorKind::Usage => Exit::Usage,
            ErrorKind::Refused => Exit::Refused,
            ErrorKind::Failed => Exit::Failed,
        },
        message: refused.to_string(),
        more: refused
            .facts()
            .iter()
            .cloned()
            .chain([refused.advice()])
            .collect(),
    })?;
    deliver(&report, output)?;
    Ok(exit(&report))
}

fn order(matches: &ArgMatches) -> std::result::Result<Order, Failure> {
    let word = |name: &str| matches.get_one::<String>(name).map_or("", String::as_str);
    let test = bench::find(word("test")).ok_or_else(|| {
        let known: Vec<_> = TESTS.iter().map(|test| test.description().name).collect();
        let names = TESTS.iter().flat_map(|test| {
            let description = test.description();
            std::iter::once(description.name).chain(description.aliases.iter().copied())
        });
        Failure::usage(format!(
            "there is no benchmark {:?}{}",
            word("test"),
            nearest::suggestion(word("test"), names)
        ))
        .advise(format!("there are {}", known.join(", ")))
    })?;
    let target = matches.get_one::<OsString>("target");
    let mut job = Job::new(test, target.map_or(OsStr::new(""), OsString::as_os_str));
    for name in parameters().into_keys() {
        if let Some(text) = matches.get_one::<String>(name) {
            job.set(name, text).map_err(Failure::usage)?;
        }
    }
    job.engine = word("engine").to_owned();
    job.consent = consent(matches);
    if let Some(text) = matches.get_one::<String>("scratch-size") {
        let bytes = units::parse_size(text)
            .map_err(|error| Failure::usage(format!("--scratch-size {text:?}: {error}")))?;
        job.scratch_bytes = Some(bytes);
    }
    let goals = matches.get_many::<String>("goal").unwrap_or_default();
    let goals: std::result::Result<Vec<Vec<Wanted>>, _> =
        goals.map(|text| Wanted::parse_all(text)).collect();
    job.goals = goals.map_err(Failure::usage)?.concat();
    job.check_goals()
        .map_err(|error| Failure::usage(&error).advise(error.advice()))?;
    Ok(Order {
        job,
        repeat: matches.get_one("repeat").copied().unwrap_or(1),
        keep_in: store::directory(),
        outputs: Vec::new(),
    })
}

/// What the user consents to lose.
fn consent(matches: &ArgMatches) -> Option<Consent> {
    let consent = Consent::to_path(matches.get_one::<PathBuf>("overwrite")?);
    Some(match matches.get_flag("overwrite-signatures") {
        true => consent.with_signatures(),
        false => consent,
    })
}

/// Writes the result to where it was asked for.
fn deliver(report: &Report, output: Option<Output>) -> std::result::Result<(), Failure> {
    for problem in &report.problems {
        say(&format!("diskscope: {problem}"));
    }
    let delivered = match output {
        Some(output) if output.is_stdout() => print(&json(&report.session)?).map(drop),
        output => {
            // One of the two that cannot be written takes nothing from the other.
            let printed = print(&as_text(report)).map(drop);
            let written = output.map_or(Ok(()), |output| write(report, output));
            match (printed, written) {
                (Err(printed), Err(written)) => Err(printed.advise(&written.message)),
                (printed, written) => printed.and(written),
            }
        }
    };
    if let Some(path) = &report.saved {
        say(&format!("saved: {}", path.display()));
    }
    delivered
}

fn as_text(report: &Report) -> String {
    let runs = &report.session.runs;
    let mut texts: Vec<String> = runs.iter().map(text::run).collect();
    texts.extend(Some(repeated::repeated(runs)).filter(|text| !text.is_empty()));
    texts.join("\n")
}

fn write(report: &Report, output: Output) -> std::result::Result<(), Failure> {
    let text = json(&report.session)?;
    output::write(&Roots::default(), output, text.as_bytes())
        .map_err(|error| Failure::failed(&error).advise(error.advice()))
}

fn exit(report: &Report) -> Exit {
    let runs = &report.session.runs;
    let some = |state| runs.iter().any(|run| run.state == state);
    if report.refused {
        Exit::Refused
    } else if some(RunState::Failed) {
        Exit::Failed
    } else if some(RunState::Interrupted) {
        Exit::Interrupted
    } else if runs
        .iter()
        .flat_map(|run| &run.findings.goals)
        .any(|goal| goal.met != Some(true))
    {
        Exit::GoalMissed
    } else {
        Exit::Done
    }
}
