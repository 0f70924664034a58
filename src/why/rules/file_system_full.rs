//! A file system that is written has no space left.

use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::snapshot::view::MountView;
use crate::units;
use crate::why::analysis::Analysis;
use crate::why::cause::{Cause, NotExamined, Remedy, Severity};
use crate::why::evidence::{Evidence, Metric, bytes, fraction};
use crate::why::remedies::exact_path;
use crate::why::rule::{Examination, Rule};

pub(super) const RULE: Rule = Rule {
    code: "file-system-full",
    explains: &[],
    examine,
};

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
/// File systems that are full by design.
const IMAGES: [&str; 4] = ["squashfs", "iso9660", "udf", "erofs"];
/// The largest directories that du(1) lists, each in one line. Its users choose their names, which a terminal
/// would take for commands.
const LARGEST_LAST: &str = r"sort -zh | tail -zn 20 | tr '\0\n' '\n?' | cat -v";
/// Bytes available to users without root's rights.
const AVAILABLE: Metric = bytes("available", "available", "statvfs");
/// Fraction of the space or of the inodes in use.
const USED: Metric = fraction("used", "used", "statvfs");

/// How much of a file system is in use.
struct FileSystemUse {
    mount_point: SafeText,
    device: Option<SafeText>,
    size_bytes: f64,
    available_bytes: f64,
    used: f64,
    used_inodes: f64,
}

fn examine(analysis: &Analysis<'_>) -> Examination {
    let file_systems = match (&analysis.window.facts, &analysis.last().mounts) {
        (Some(_), _) => examined_file_systems(analysis),
        (None, Some(mounts)) => mounts.iter().filter_map(recorded_use).collect(),
        (None, None) => return Examination::NotExamined(NotExamined::NotRecorded),
    };
    let causes = file_systems
        .iter()
        .filter_map(|it| cause(analysis, it))
        .collect();
    Examination::of(causes, || {
        let systems = file_systems.iter();
        let fullest = systems.max_by(|a, b| a.used.total_cmp(&b.used));
        let used = fullest.map(|it| Evidence::of(&it.mount_point, USED, it.used));
        used.into_iter().collect()
    })
}

/// The file systems that can be written.
fn examined_file_systems(analysis: &Analysis<'_>) -> Vec<FileSystemUse> {
    let file_systems = analysis.last().file_systems.iter();
    file_systems
        .filter(|it| !it.has_option("ro") && !IMAGES.contains(&it.kind.as_str()))
        .filter_map(|it| {
            let usage = it.usage?;
            let mut drives = analysis.last().drives.iter();
            let drive = drives.find(|drive| drive.number == it.block_device);
            Some(FileSystemUse {
                mount_point: SafeText::from_path(it.path.as_ref()?),
                device: drive.map(|drive| SafeText::from(&drive.name)),
                size_bytes: usage.size_bytes as f64,
                available_bytes: usage.available_bytes as f64,
                used: usage.used_fraction()?,
                used_inodes: usage.used_inode_fraction().unwrap_or(0.0),
            })
        })
        .collect()
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
    let no_inodes = inodes >= FULL_INODES;
    let full = available < FULL_BYTES.min(file_system.size_bytes * FULL_FRACTION);
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
    let mut cause = analysis.cause(RULE.code, severity).confirmed();
    cause.device = device;
    let is_of_inodes = no_inodes && !full;
    let fraction = if is_of_inodes { inodes } else { used };
    cause.prove(place, AVAILABLE, available);
    cause.prove(place, USED, fraction);
    cause.remedies.push(usage_command(place, is_of_inodes));
    if !is_of_inodes {
        cause.remedies.push(Remedy::command(
            "diskscope files",
            "deleted files that still hold space, which du does not find",
        ));
    }
    let percent = units::format_percent(fraction);
    if is_of_inodes {
        cause.headline = format!("{place} has no inodes left");
        cause.sentence =
            format!("The file system at {place} has no inodes left: {percent} are used.");
    } else {
        let available = units::format_capacity(available);
        cause.headline = format!("{place} is full");
        cause.sentence = format!(
            "The file system at {place} is full: {percent} of it is used, {available} are available."
        );
    }
    Some(cause)
}

/// What uses the space, or the inodes.
pub(in crate::why) fn usage_command(mount_point: &SafeText, is_of_inodes: bool) -> Remedy {
    let (option, used) = if is_of_inodes {
        ("-0x --inodes", "inodes")
    } else {
        ("-0xh", "space")
    };
    let path = exact_path(mount_point).and_then(shell::quote_word);
    Remedy::command_or(
        path.map(|path| {
            format!("du {option} --max-depth=2 -- {path} 2>/dev/null | {LARGEST_LAST}")
        }),
        format!("what uses the {used}"),
        format!("see what uses the {used} of {mount_point} with du"),
    )
}

/// Whether a process has files open there, or writes reach it.
fn is_used(analysis: &Analysis<'_>, name: &SafeText) -> bool {
    let written = analysis
        .device(name)
        .is_some_and(|device| device.write_iops > 0.0);
    let mut processes = analysis.processes.iter();
    written || processes.any(|process| process.devices.contains(name))
}
