//! A file system that is written has no space left.

use super::prelude::*;
use crate::snapshot::files::DeletedView;
use crate::snapshot::view::MountView;

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

/// How much of a file system is in use.
struct FileSystemUse {
    mount_point: SafeText,
    device: Option<SafeText>,
    size_bytes: f64,
    available_bytes: f64,
    used: f64,
    used_inodes: f64,
}

pub(super) fn examine(analysis: &Analysis<'_>) -> Examination {
    let file_systems = match (analysis.facts(), &analysis.last.mounts) {
        (Some(_), _) => examined_file_systems(analysis),
        (None, Some(mounts)) => mounts.iter().filter_map(recorded_use).collect(),
        (None, None) => return Examination::NotExamined(NotExamined::NotRecorded),
    };
    let causes = file_systems.iter().filter_map(|it| cause(analysis, it));
    Examination::of(causes.collect(), || {
        let systems = file_systems.iter();
        let fullest = systems.max_by(|a, b| a.used.total_cmp(&b.used));
        let used = fullest.map(|it| Evidence::of(&it.mount_point, USED, it.used));
        used.into_iter().collect()
    })
}

/// The file systems that can be written.
fn examined_file_systems(analysis: &Analysis<'_>) -> Vec<FileSystemUse> {
    let file_systems = analysis.last.file_systems.iter();
    let writable =
        file_systems.filter(|it| !it.has_option("ro") && !IMAGES.contains(&it.kind.as_str()));
    let uses = writable.filter_map(|it| {
        let usage = it.usage?;
        let mut drives = analysis.last.drives.iter();
        let drive = drives.find(|drive| drive.number == it.block_device);
        Some(FileSystemUse {
            mount_point: SafeText::from_path(it.path.as_ref()?),
            device: drive.map(|drive| SafeText::from(&drive.name)),
            size_bytes: usage.size_bytes as f64,
            available_bytes: usage.available_bytes as f64,
            used: usage.used_fraction()?,
            used_inodes: usage.used_inode_fraction().unwrap_or(0.0),
        })
    });
    uses.collect()
}

/// What a recording has: it does not count inodes, and what is reserved for root counts as used.
fn recorded_use(mount: &MountView) -> Option<FileSystemUse> {
    let size_bytes = mount.size_bytes.filter(|size| *size > 0)? as f64;
    let available_bytes = mount.available_bytes? as f64;
    let is_image = IMAGES.contains(&mount.file_system.as_str());
    (!is_image).then(|| FileSystemUse {
        mount_point: mount.mount_point.clone(),
        device: mount.device.clone(),
        size_bytes,
        available_bytes,
        used: 1.0 - available_bytes / size_bytes,
        used_inodes: 0.0,
    })
}

fn cause(analysis: &Analysis<'_>, file_system: &FileSystemUse) -> Option<Cause> {
    let available = file_system.available_bytes;
    let (used, inodes) = (file_system.used, file_system.used_inodes);
    let full = available < FULL_BYTES.min(file_system.size_bytes * FULL_FRACTION);
    let no_inodes = inodes >= FULL_INODES && !full;
    let nearly = used >= NEARLY_FULL && available < NEARLY_FULL_BYTES;
    if !(full || no_inodes || nearly) {
        return None;
    }
    let device = file_system.device.clone();
    let in_use = device.as_ref().is_some_and(|name| is_used(analysis, name));
    let severity = match (full || no_inodes, in_use) {
        (true, true) => Severity::Critical,
        (false, true) => Severity::Warning,
        // Without inodes nothing new is written there, so that it seems unused.
        (true, false) if no_inodes => Severity::Warning,
        // Nobody writes to it: it may be meant to be full.
        (_, false) => Severity::Note,
    };
    let place = &file_system.mount_point;
    let mut cause = analysis.cause(severity).confirmed();
    cause.device = device;
    let fraction = if no_inodes { inodes } else { used };
    cause.prove(place, AVAILABLE, available);
    cause.prove(place, USED, fraction);
    let percent = units::format_percent(fraction);
    if no_inodes {
        cause.remedies.push(usage_command(place, true));
        cause.sentence =
            format!("The file system at {place} has no inodes left: {percent} are used.");
        return Some(cause);
    }
    let what = if full { "full" } else { "nearly full" };
    let available = units::format_capacity(available);
    cause.sentence = format!(
        "The file system at {place} is {what}: {percent} of it is used, {available} are available."
    );
    let held = deleted_file(analysis, file_system);
    if let Some(file) = held {
        tell_deleted(&mut cause, file);
    }
    if held.is_none_or(|it| (it.held_bytes as f64) < file_system.size_bytes * HELD_MOST) {
        cause.remedies.push(usage_command(place, false));
    }
    Some(cause)
}

/// The largest deleted file that holds much of the space of a file system.
fn deleted_file<'a>(
    analysis: &'a Analysis<'_>,
    file_system: &FileSystemUse,
) -> Option<&'a DeletedView> {
    let files = analysis.window.looks.deleted_files.iter();
    let mut there = files.filter(|it| it.mount_point.as_ref() == Some(&file_system.mount_point));
    there.find(|it| it.held_bytes as f64 >= file_system.size_bytes * HELD_FRACTION)
}

/// Tells of a deleted file that holds space, which du(1) does not find.
fn tell_deleted(cause: &mut Cause, file: &DeletedView) {
    let held = units::format_capacity(file.held_bytes as f64);
    let holder = file.holders.first();
    cause.culprits = file
        .holders
        .iter()
        .map(|holder| Party {
            pid: holder.pid,
            command: holder.command.clone(),
            ..Party::default()
        })
        .collect();
    let by = holder.map_or_else(String::new, |it| {
        format!(", which {} (pid {}) has open", it.command, it.pid)
    });
    cause.sentence.pop();
    cause.sentence += &format!(
        "; {held} of that are held by the deleted file {}{by}.",
        file.path
    );
    cause.file = Some(file.path.clone());
    cause.remedies.push(Remedy::command(
        "diskscope files",
        "deleted files that still hold space, which du does not find",
    ));
    let command = file.truncate_command.clone().map(String::from);
    let mut truncate = Remedy::command_or(
        command,
        "frees the space at once; the content of the file is lost",
        "end or restart the process, which needs the content of the file",
    );
    truncate.reach = RemedyReach::Process;
    cause.remedies.push(truncate);
}

/// What uses the space, or the inodes.
pub(in crate::why) fn usage_command(mount_point: &SafeText, is_of_inodes: bool) -> Remedy {
    let (option, used) = if is_of_inodes {
        ("-0x --inodes", "inodes")
    } else {
        ("-0xh", "space")
    };
    let path = exact_path(mount_point).and_then(shell::quote_word);
    let list = |path| format!("du {option} --max-depth=2 -- {path} 2>/dev/null | {LARGEST_LAST}");
    Remedy::command_or(
        path.map(list),
        format!("what uses the {used}"),
        format!("see what uses the {used} of {mount_point} with du"),
    )
}

/// Whether a process has files open there, or writes reach it.
fn is_used(analysis: &Analysis<'_>, name: &SafeText) -> bool {
    let device = analysis.device(name);
    let mut processes = analysis.processes.iter();
    device.is_some_and(|device| device.write_iops > 0.0)
        || processes.any(|process| process.devices.contains(name))
}
