//! What can be measured on this machine: directories for a scratch file, and drives.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use crate::app::{Choice, Group};
use crate::drive::{Drive, DriveKind, Target, Use, identity, mounts, target};
use crate::engine;
use crate::engine::simulated::PREFIX;
use crate::roots::Roots;

/// Everything that the launcher offers, the default first: a scratch file in the current
/// directory, or in the first one that can take it.
#[must_use]
pub fn list(roots: &Roots) -> Vec<Choice> {
    let mut choices = directories(roots);
    choices.sort_by_key(|choice| choice.target.is_err());
    choices.extend(drives(roots));
    choices.extend(
        SIMULATED
            .iter()
            .filter_map(|name| simulated(roots, name).ok()),
    );
    choices
}

/// Drives made of arithmetic that the launcher offers: to watch the tests of hard disks without
/// owning one.
const SIMULATED: [&str; 2] = ["sim:hdd", "sim:ssd"];

fn simulated(roots: &Roots, name: &str) -> Result<Choice, String> {
    let opened = engine::open(roots, name, engine::Choice::Auto, None)
        .map_err(|error| format!("{error}; {}", error.advice()))?;
    Ok(Choice {
        name: name.to_owned(),
        group: Group::File,
        label: "made of arithmetic".to_owned(),
        size_bytes: Some(opened.target.size),
        kind: "simulated".to_owned(),
        users: String::new(),
        target: Ok(opened.target),
    })
}

/// What a path is.
///
/// # Errors
/// With the reason when it cannot be measured.
pub fn inspect(roots: &Roots, path: &str) -> Result<Choice, String> {
    let path = path.trim();
    if path.starts_with(PREFIX) {
        return simulated(roots, path);
    }
    let target = facts(roots, path)?;
    let metadata = std::fs::metadata(path).map_err(|error| format!("{path}: {error}"))?;
    if metadata.is_dir() {
        return Ok(directory(path, Ok(target)));
    }
    if let Some(drive) = target.drive.clone().filter(|drive| drive.path == path) {
        return Ok(drive_choice(&drive, &[], Ok(target)));
    }
    let kind = if metadata.is_file() { "file" } else { "device" };
    Ok(Choice {
        name: path.to_owned(),
        group: Group::File,
        label: target.drive.as_ref().map(Drive::label).unwrap_or_default(),
        size_bytes: Some(target.size),
        kind: kind.to_owned(),
        users: String::new(),
        target: Ok(target),
    })
}

/// The facts of a directory for the list, in which nothing is made.
fn described(roots: &Roots, name: &Path) -> Result<Target, String> {
    target::describe_directory(roots, name).map_err(|error| format!("{error}; {}", error.advice()))
}

/// The facts of a target. In a directory a nameless file is made for a moment; nothing is written.
fn facts(roots: &Roots, name: &str) -> Result<Target, String> {
    target::open(roots, name, None)
        .map(|medium| medium.target.clone())
        .map_err(|error| format!("{error}; {}", error.advice()))
}

/// The current directory, home, the one for temporary files, and whatever block device is mounted.
fn directories(roots: &Roots) -> Vec<Choice> {
    let usual = [
        std::env::current_dir().ok(),
        std::env::var_os("HOME").map(PathBuf::from),
        Some(std::env::temp_dir()),
    ];
    let mut seen = HashSet::new();
    let mut choices = Vec::new();
    for path in usual.into_iter().flatten() {
        if path.is_absolute() && seen.insert(path.clone()) {
            let name = path.to_string_lossy().into_owned();
            choices.push(directory(&name, described(roots, &path)));
        }
    }
    // Of the other mounts only those that take a file: nobody asks for the rest.
    for mount in mounts::mounts(roots).unwrap_or_default() {
        let path = PathBuf::from(&mount.at);
        let is_directory = mount.source_number.is_some() && path.is_dir();
        if is_directory
            && seen.insert(path.clone())
            && let Ok(target) = described(roots, &path)
        {
            choices.push(directory(&mount.at, Ok(target)));
        }
    }
    choices
}

fn directory(name: &str, target: Result<Target, String>) -> Choice {
    let about = target.as_ref().ok();
    let drive = about.and_then(|target| target.drive.as_ref());
    let file_system = about.and_then(|target| target.file_system.clone());
    let label = match (drive, file_system.as_deref()) {
        (Some(drive), _) => drive.label(),
        (None, Some("tmpfs" | "ramfs")) => "memory".to_owned(),
        (None, _) => String::new(),
    };
    Choice {
        name: name.to_owned(),
        group: Group::Directory,
        label,
        size_bytes: free_bytes(Path::new(name)),
        kind: file_system.unwrap_or_else(|| "directory".to_owned()),
        users: String::new(),
        target,
    }
}

/// Bytes that this user can still write there.
fn free_bytes(path: &Path) -> Option<u64> {
    let facts = rustix::fs::statvfs(path).ok()?;
    Some(facts.f_bavail.saturating_mul(facts.f_frsize))
}

/// Whole drives with a medium; partitions only as their users.
fn drives(roots: &Roots) -> Vec<Choice> {
    let all = identity::list(roots);
    let offered = |drive: &&Drive| {
        drive.size_bytes > 0 && !matches!(drive.kind, DriveKind::Partition | DriveKind::Optical)
    };
    all.iter()
        .filter(offered)
        .map(|drive| drive_choice(drive, &all, facts(roots, &drive.path)))
        .collect()
}

fn drive_choice(drive: &Drive, all: &[Drive], target: Result<Target, String>) -> Choice {
    let parts = all
        .iter()
        .filter(|part| part.parent.as_ref() == Some(&drive.name));
    let mut users: Vec<_> = std::iter::once(drive)
        .chain(parts)
        .flat_map(|drive| drive.users.iter().map(user))
        .collect();
    users.dedup();
    Choice {
        name: drive.path.clone(),
        group: Group::Drive,
        label: drive.label(),
        size_bytes: Some(drive.size_bytes),
        kind: drive.transport.clone().unwrap_or_else(|| kind(drive)),
        users: users.join(", "),
        target,
    }
}

fn kind(drive: &Drive) -> String {
    match drive.kind {
        DriveKind::Disk if drive.rotational == Some(true) => "HDD",
        DriveKind::Disk => "disk",
        DriveKind::Partition => "partition",
        DriveKind::Loop => "loop",
        DriveKind::Raid => "RAID",
        DriveKind::Mapped => "mapped",
        DriveKind::Memory => "memory",
        DriveKind::Optical => "optical",
    }
    .to_owned()
}

fn user(user: &Use) -> String {
    match user {
        Use::Mounted { at, file_system } => format!("{at} ({file_system})"),
        Use::Swap => "swap".to_owned(),
        Use::HeldBy { device } => format!("part of {device}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_says_so() {
        let message = inspect(&Roots::default(), "/no/such/place").unwrap_err();
        assert!(message.contains("/no/such/place"), "{message}");
    }

    #[test]
    fn simulated_drive_with_parameters_is_no_path() {
        let choice = inspect(&Roots::default(), "sim:hdd,rpm=5400").unwrap();
        assert_eq!(choice.name, "sim:hdd,rpm=5400");
        assert!(inspect(&Roots::default(), "/sim:hdd").is_err());
    }

    #[test]
    fn a_directory_takes_a_scratch_file_and_keeps_none() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_string_lossy().into_owned();
        match inspect(&Roots::default(), &path) {
            Ok(choice) => assert_eq!(choice.group, Group::Directory),
            Err(reason) => assert!(reason.contains("free"), "{reason}"),
        }
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}
