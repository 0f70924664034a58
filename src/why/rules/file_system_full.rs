//! A file system that is written has no space left.

use super::prelude::*;
use crate::probe::file_systems::MountedFileSystem;
use crate::snapshot::files::DeletedView;

/// Available bytes below which a file system is full: writes fail or are about to fail,
const FULL_BYTES: f64 = 16e6;
/// as a fraction of its size: a small file system counts as full later.
const FULL_FRACTION: f64 = 0.01;
/// Fraction of the inodes in use from which they are used up.
const FULL_INODES: f64 = 0.995;
/// Fraction in use and available bytes from which a file system is nearly full: allocation becomes
/// slow and fragmented.
const NEARLY_FULL: f64 = 0.97;
const NEARLY_FULL_BYTES: f64 = 1e9;
/// Share of the size that a deleted file holds from which it is named, and from which the rest is too
/// little for du(1) to find what uses the space.
const HELD_FRACTION: f64 = 0.05;
const HELD_MOST: f64 = 0.5;
/// File systems that are full by design.
const IMAGES: [&str; 4] = ["squashfs", "iso9660", "udf", "erofs"];
/// The largest directories that du(1) lists, each in one line. Its users choose their names, which a terminal
/// would take for commands.
const LARGEST_LAST: &str = r"sort -zh | tail -zn 20 | tr '\0\n' '\n?' | cat -v";

pub(super) fn examine(analysis: &Analysis<'_>) -> Found {
    if analysis.facts().is_none() {
        return Err(NotExamined::NotRecorded);
    }
    let systems = writable(analysis);
    Ok(systems.filter_map(|it| cause(analysis, it)).collect())
}

pub(super) fn evidence(analysis: &Analysis<'_>) -> Vec<Evidence> {
    let used =
        writable(analysis).filter_map(|it| Some((it.path.as_ref()?, it.usage?.used_fraction()?)));
    let fullest = used.max_by(|a, b| a.1.total_cmp(&b.1));
    let fullest = fullest.map(|(path, used)| Evidence::of(&SafeText::from_path(path), USED, used));
    fullest.into_iter().collect()
}

/// The file systems that can be written.
fn writable<'a>(analysis: &Analysis<'a>) -> impl Iterator<Item = &'a MountedFileSystem> {
    let systems = analysis.last.file_systems.iter();
    systems.filter(|it| !it.has_option("ro") && !IMAGES.contains(&it.kind.as_str()))
}

fn cause(analysis: &Analysis<'_>, system: &MountedFileSystem) -> Option<Cause> {
    let usage = system.usage?;
    let (size, available) = (usage.size_bytes as f64, usage.available_bytes as f64);
    let used = usage.used_fraction()?;
    let inodes = usage.used_inode_fraction().unwrap_or(0.0);
    let full = available < FULL_BYTES.min(size * FULL_FRACTION);
    let no_inodes = inodes >= FULL_INODES && !full;
    let nearly = used >= NEARLY_FULL && available < NEARLY_FULL_BYTES;
    if !(full || no_inodes || nearly) {
        return None;
    }
    let mut drives = analysis.last.drives.iter();
    let drive = drives.find(|drive| drive.number == system.block_device);
    let severity = match drive.is_some_and(|it| is_used(analysis, &it.name)) {
        true if full || no_inodes => Severity::Critical,
        true => Severity::Warning,
        // Without inodes nothing new is written there, so that it seems unused; otherwise it may be meant
        // to be full.
        false => Severity::warning_if(no_inodes),
    };
    let place = SafeText::from_path(system.path.as_ref()?);
    let mut cause = analysis.proven(severity);
    cause.device = drive.map(|it| SafeText::from(&it.name));
    let fraction = if no_inodes { inodes } else { used };
    cause.prove(&place, AVAILABLE, available);
    cause.prove(&place, USED, fraction);
    let percent = units::format_percent(fraction);
    let free = units::format_capacity(available);
    let what = if no_inodes {
        format!("has no inodes left: {percent} are used")
    } else {
        let nearly = if full { "" } else { "nearly " };
        format!("is {nearly}full: {percent} of it is used, {free} are available")
    };
    // The largest deleted file that holds much of the space.
    let files = analysis.window.looks.deleted_files.iter();
    let mut there = files.filter(|it| it.mount_point.as_ref() == Some(&place) && !no_inodes);
    let held = there.find(|it| it.held_bytes as f64 >= size * HELD_FRACTION);
    let tail = held.map_or_else(String::new, |file| tell_deleted(&mut cause, file));
    cause.sentence = format!("The file system at {place} {what}{tail}.");
    if held.is_none_or(|it| (it.held_bytes as f64) < size * HELD_MOST) {
        cause.remedies.extend(usage_command(&place, no_inodes));
    }
    Some(cause)
}

/// Tells of a deleted file that holds space, which du(1) does not find.
fn tell_deleted(cause: &mut Cause, file: &DeletedView) -> String {
    let held = units::format_capacity(file.held_bytes as f64);
    let holders = file.holders.iter().map(|holder| Party {
        pid: holder.pid,
        command: holder.command.clone(),
        ..Party::default()
    });
    cause.culprits = holders.collect();
    let by = file.holders.first().map_or_else(String::new, |it| {
        format!(", which {} (pid {}) has open", it.command, it.pid)
    });
    cause.file = Some(file.path.clone());
    cause.remedies.push(Remedy::command(
        "diskscope files",
        "deleted files that still hold space, which du does not find",
    ));
    let release = match file.truncate_command.clone() {
        Some(command) => Remedy::command(
            command,
            "frees the space at once; the content of the file is lost",
        ),
        None => Remedy::advice("end or restart the process, which needs the content of the file"),
    };
    cause.remedies.push(Remedy {
        is_of_process: true,
        ..release
    });
    format!(
        "; {held} of that are held by the deleted file {}{by}",
        file.path
    )
}

/// What uses the space, or the inodes.
pub(in crate::why) fn usage_command(place: &SafeText, is_of_inodes: bool) -> Option<Remedy> {
    let (option, used) = if is_of_inodes {
        ("-0x --inodes", "inodes")
    } else {
        ("-0xh", "space")
    };
    let path = shell::quote_word(exact_path(place)?)?;
    let command = format!("du {option} --max-depth=2 -- {path} 2>/dev/null | {LARGEST_LAST}");
    Some(Remedy::command(command, format!("what uses the {used}")))
}

/// Whether a process has files open there, or writes reach it.
fn is_used(analysis: &Analysis<'_>, name: &str) -> bool {
    let device = analysis.device(name);
    let mut names = analysis.processes.iter().flat_map(|it| &it.devices);
    device.is_some_and(|device| device.write_iops > 0.0) || names.any(|it| it.as_str() == name)
}
