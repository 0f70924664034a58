//! `diskscope devices`: the drives, who they are and who uses them.

use std::fmt::Write as _;

use clap::{Arg, ArgAction, ArgMatches, Command};

use super::{Exit, Result, json, json_switch, print};
use crate::drive::{Drive, DriveKind, Use, identity};
use crate::roots::Roots;
use crate::units;

pub(super) fn command() -> Command {
    Command::new("devices")
        .about("List the drives: who they are, what lies on them, who uses them")
        .arg(json_switch())
        .arg(
            Arg::new("all")
                .long("all")
                .action(ArgAction::SetTrue)
                .help("empty slots too: loop devices without a file, readers without a card"),
        )
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let mut drives = identity::list(&Roots::default());
    if !matches.get_flag("all") {
        drives.retain(|drive| drive.size_bytes > 0);
    }
    if matches.get_flag("json") {
        print(&json(&drives)?)?;
    } else if drives.is_empty() {
        print(
            "no block devices; a directory can be measured all the same: diskscope run random-read .\n",
        )?;
    } else {
        print(&as_text(&drives))?;
    }
    Ok(Exit::Done)
}

/// Drives with their partitions and what lies on them below them.
fn as_text(drives: &[Drive]) -> String {
    let mut text = String::new();
    for drive in drives.iter().filter(|drive| is_root(drive, drives)) {
        branch(&mut text, drive, drives, 0);
    }
    text
}

fn is_root(drive: &Drive, drives: &[Drive]) -> bool {
    let known = |name: &String| drives.iter().any(|other| other.name == *name);
    !drive.parent.iter().chain(&drive.slaves).any(known)
}

fn branch(text: &mut String, drive: &Drive, drives: &[Drive], depth: usize) {
    let indent = "  ".repeat(depth);
    let name = format!("{indent}{}", drive.name);
    let size = units::capacity(drive.size_bytes as f64);
    let _ = writeln!(text, "{name:<14} {size:>8}  {}", about(drive).join(", "));
    // A member of several devices is shown below each of them; a circle cannot be stacked.
    let below = |other: &&Drive| {
        other.parent.as_ref() == Some(&drive.name) || other.slaves.contains(&drive.name)
    };
    for other in drives.iter().filter(below) {
        branch(text, other, drives, depth + 1);
    }
}

fn about(drive: &Drive) -> Vec<String> {
    let mut words = vec![drive.label()];
    if drive.kind != DriveKind::Partition {
        words.extend(
            drive
                .serial
                .as_ref()
                .map(|serial| format!("serial {serial}")),
        );
        words.extend(drive.transport.clone());
        words.extend(
            drive
                .rotational
                .map(|it| if it { "rotating" } else { "not rotating" }.to_owned()),
        );
        words.extend(sectors(drive));
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
    words
}

/// 512n, 512e or 4Kn: sectors as the kernel addresses them and as the medium holds them.
fn sectors(drive: &Drive) -> Option<String> {
    let word = match (drive.logical_block_bytes?, drive.physical_block_bytes?) {
        (512, 512) => "512n".to_owned(),
        (512, 4096) => "512e".to_owned(),
        (4096, 4096) => "4Kn".to_owned(),
        (logical, physical) => format!("sectors {logical}/{physical}"),
    };
    Some(word)
}

fn user(user: &Use) -> Option<String> {
    match user {
        Use::Mounted { at, file_system } => Some(format!("{file_system} on {at}")),
        Use::Swap => Some("swap".to_owned()),
        // The holder is shown below it.
        Use::HeldBy { .. } => None,
    }
}
