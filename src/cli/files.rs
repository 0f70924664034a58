//! `diskscope files`: what a process has open, and what is deleted and holds its space all the
//! same.

use std::fmt::Write as _;

use clap::{Arg, ArgMatches, Command, value_parser};

use super::{Exit, Failure, Result, json, json_switch, print};
use crate::drive::{file_systems, identity};
use crate::model::files::{self, DeletedView, FileView};
use crate::privilege;
use crate::probe::open_files;
use crate::roots::Roots;
use crate::units;

pub(super) fn command() -> Command {
    Command::new("files")
        .about("List deleted files that still hold space, or what a process has open")
        .arg(json_switch())
        .arg(
            Arg::new("pid")
                .value_name("PID")
                .value_parser(value_parser!(u32).range(1..))
                .help("list what this process has open"),
        )
}

pub(super) fn run(matches: &ArgMatches) -> Result {
    let roots = Roots::default();
    let as_json = matches.get_flag("json");
    let text = match matches.get_one::<u32>("pid") {
        Some(pid) => {
            let opened = open_files::of_process(&roots, *pid)
                .map_err(|error| Failure::failed(unreadable(*pid, &error)))?;
            let views = files::opened(&opened);
            if as_json {
                json(&views)?
            } else {
                opened_text(&views)
            }
        }
        None => {
            let (drives, systems) = (identity::list(&roots), file_systems::list(&roots));
            let views = files::deleted(&open_files::deleted(&roots), &drives, &systems);
            if as_json {
                json(&views)?
            } else {
                deleted_text(&views)
            }
        }
    };
    print(&text)?;
    Ok(Exit::Done)
}

/// What to say of a process whose files cannot be listed.
fn unreadable(pid: u32, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no process {pid}"),
        std::io::ErrorKind::PermissionDenied => format!(
            "cannot list the files of process {pid}: not permitted; {}",
            privilege::as_root_or(
                ", or as its owner",
                "a container or a security module forbids it: run it on the host",
            )
        ),
        _ => format!("cannot list the files of process {pid}: {error}"),
    }
}

fn opened_text(files: &[FileView]) -> String {
    let bytes = |bytes: Option<u64>| {
        bytes.map_or_else(|| "-".to_owned(), |bytes| units::capacity(bytes as f64))
    };
    let mut text = format!(
        "{:>4} {:>9} {:>9}  {:<12} FILE\n",
        "FD", "POSITION", "SIZE", "FLAGS"
    );
    for file in files {
        let _ = writeln!(
            text,
            "{:>4} {:>9} {:>9}  {:<12} {}",
            file.descriptor,
            bytes(file.position_bytes),
            bytes(file.size_bytes),
            file.flags.as_deref().unwrap_or("n/a"),
            file.path,
        );
    }
    text
}

fn deleted_text(files: &[DeletedView]) -> String {
    if files.is_empty() {
        return "no deleted file is open (other users' processes show theirs to root only)\n"
            .to_owned();
    }
    let held: u64 = files.iter().map(|file| file.held_bytes).sum();
    let mut text = format!(
        "{} deleted files hold {}\n",
        files.len(),
        units::capacity(held as f64)
    );
    for file in files {
        let _ = writeln!(
            text,
            "\n{:>9}  {}{}",
            units::capacity(file.held_bytes as f64),
            file.path,
            file.mounted_at
                .as_ref()
                .map_or_else(String::new, |at| format!("  on {at}")),
        );
        for holder in &file.holders {
            let _ = writeln!(
                text,
                "           open in {} {} as {}",
                holder.pid, holder.command, holder.descriptor
            );
        }
        let _ = writeln!(
            text,
            "           end or restart it, or empty it: {}",
            file.release
        );
        let _ = writeln!(text, "           copy it out: {}", file.rescue);
    }
    text
}
