//! `diskscope devices`: the drives, who they are, who uses them, and what could be better.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, ArgMatches, Command};
use serde::Serialize;

use super::{Exit, Result, json, json_switch, print};
use crate::drive::{Advice, Drive, DriveKind, FileSystem, Use, advice, file_systems, identity};
use crate::roots::Roots;
use crate::units;

pub(super) fn command() -> Command {
    Command::new("devices")
        .about("List the drives: who they are, what lies on them, who uses them, and advice")
        .arg(json_switch())
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .help("empty slots too: loop devices without a file, readers without a card"),
        )
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let roots = Roots::default();
    let mut drives = identity::list(&roots);
    let file_systems = file_systems::list(&roots);
    if !matches.get_flag("all") {
        drives.retain(|drive| drive.size_bytes > 0);
    }
    if matches.get_flag("json") {
        let listed: Vec<Listed<'_>> = drives
            .iter()
            .map(|drive| Listed::new(drive, &file_systems))
            .collect();
        print(&json(&listed)?)?;
    } else if drives.is_empty() {
        print(
            "no block devices; a directory can be measured all the same: diskscope run random-read .\n",
        )?;
    } else {
        print(&as_text(&drives, &file_systems))?;
    }
    Ok(Exit::Done)
}

/// A drive with what lies on it and what could be better, as JSON.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    drive: &'a Drive,
    sector_kind: Option<String>,
    file_systems: Vec<&'a FileSystem>,
    advice: Vec<Advice>,
}

impl<'a> Listed<'a> {
    fn new(drive: &'a Drive, file_systems: &'a [FileSystem]) -> Self {
        let own = file_systems.iter().filter(|it| it.device == drive.number);
        Self {
            drive,
            sector_kind: drive.sector_kind(),
            file_systems: own.collect(),
            advice: advice::advise(drive, file_systems, None),
        }
    }
}

/// Drives with their partitions and what lies on them below them, then the advice.
fn as_text(drives: &[Drive], file_systems: &[FileSystem]) -> String {
    let mut text = String::new();
    for drive in drives.iter().filter(|drive| is_root(drive, drives)) {
        branch(&mut text, drive, (drives, file_systems), 0);
    }
    let advice: Vec<(&Drive, Advice)> = drives
        .iter()
        .flat_map(|drive| {
            let given = advice::advise(drive, file_systems, None);
            given.into_iter().map(move |advice| (drive, advice))
        })
        .collect();
    if !advice.is_empty() {
        text.push_str("\nadvice (nothing is changed by itself)\n");
    }
    for (drive, advice) in advice {
        let _ = writeln!(text, "  {}: {}", drive.name, advice.reason);
        let _ = writeln!(text, "    {}", advice.command);
    }
    text
}

fn is_root(drive: &Drive, drives: &[Drive]) -> bool {
    let known = |name: &String| drives.iter().any(|other| other.name == *name);
    !drive.parent.iter().chain(&drive.slaves).any(known)
}

fn branch(
    text: &mut String,
    drive: &Drive,
    (drives, file_systems): (&[Drive], &[FileSystem]),
    depth: usize,
) {
    let indent = "  ".repeat(depth);
    let name = format!("{indent}{}", drive.name);
    let size = units::size(drive.size_bytes);
    let _ = writeln!(
        text,
        "{name:<14} {size:>8}  {}",
        about(drive, file_systems).join(", ")
    );
    // A member of several devices is shown below each of them; a circle cannot be stacked.
    let below = |other: &&Drive| {
        other.parent.as_ref() == Some(&drive.name) || other.slaves.contains(&drive.name)
    };
    for other in drives.iter().filter(below) {
        branch(text, other, (drives, file_systems), depth + 1);
    }
}

fn about(drive: &Drive, file_systems: &[FileSystem]) -> Vec<String> {
    let mut words = vec![drive.label()];
    if drive.kind != DriveKind::Partition {
        words.extend(
            drive
                .serial
                .as_ref()
                .map(|serial| format!("serial {serial}")),
        );
        let link = drive.details.link.as_ref().map(|link| link.name.clone());
        words.extend(link.or_else(|| drive.transport.clone()));
        words.extend(
            drive
                .rotational
                .map(|it| if it { "rotating" } else { "not rotating" }.to_owned()),
        );
        words.extend(drive.sector_kind());
        words.extend(
            drive
                .details
                .temperature_celsius
                .map(|warm| format!("{warm:.0} C")),
        );
        words.extend(
            drive
                .scheduler
                .as_ref()
                .map(|name| format!("scheduler {name}")),
        );
    }
    words.extend(drive.signature.clone());
    if drive.read_only == Some(true) {
        words.push("read-only".to_owned());
    }
    if drive.aligned == Some(false) {
        words.push("MISALIGNED".to_owned());
    }
    words.extend(drive.users.iter().filter_map(user));
    let own = file_systems.iter().filter(|it| it.device == drive.number);
    words.extend(own.filter_map(fullness));
    words
}

/// How full a file system is.
fn fullness(file_system: &FileSystem) -> Option<String> {
    let usage = file_system.usage?;
    let mut text = format!("{} used", units::percent(usage.used()?));
    if let Some(inodes) = usage.inodes_used().filter(|share| *share >= 0.8) {
        text.push_str(&format!(", {} of its inodes", units::percent(inodes)));
    }
    Some(text)
}

fn user(user: &Use) -> Option<String> {
    match user {
        Use::Mounted { at, file_system } => Some(format!("{file_system} on {at}")),
        Use::Swap => Some("swap".to_owned()),
        // The holder is shown below it.
        Use::HeldBy { .. } => None,
    }
}
