//! Targets on this machine: directories for a scratch file, and drives.

use std::collections::HashSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::app::error::TargetError;
use crate::app::{TargetChoice, TargetGroup};
use crate::drive::medium::is_simulated_name;
use crate::drive::{BlockDevice, DeviceUse, DriveKind, Target, identity, medium, mounts};
use crate::engine;
use crate::engine::OpenError;
use crate::files::printable::printable_bytes;
use crate::probe::file_systems::is_reachable;
use crate::roots::SysPaths;
use crate::stats::sorting::SortList as _;

/// All targets of the launcher, the default first: a scratch file in the current directory, or in
/// the first one that can hold it.
#[must_use]
pub fn list_targets(roots: &SysPaths) -> Vec<TargetChoice> {
    let mut choices = directory_choices(roots);
    choices.sort_list_by_key(|choice| choice.target.is_err());
    choices.extend(drive_choices(roots));
    choices.extend(
        SIMULATED_TARGETS
            .iter()
            .filter_map(|name| simulated_choice(roots, name).ok()),
    );
    choices
}

/// Simulated drives in the launcher: with them the benchmarks of rotational disks run without one.
const SIMULATED_TARGETS: [&str; 2] = ["sim:hdd", "sim:ssd"];

fn simulated_choice(roots: &SysPaths, name: &str) -> Result<TargetChoice, TargetError> {
    let opened = engine::open_target(roots, name, engine::EngineChoice::Auto, None)?;
    Ok(TargetChoice {
        name: name.to_owned(),
        path: PathBuf::from(name),
        group: TargetGroup::File,
        label: "simulated drive".to_owned(),
        size_bytes: Some(opened.target.size_bytes),
        kind: "simulated".to_owned(),
        used_by: String::new(),
        target: Ok(opened.target),
    })
}

/// Inspects a path.
///
/// # Errors
///
/// When it cannot be measured.
pub fn inspect_target(roots: &SysPaths, path: &str) -> Result<TargetChoice, TargetError> {
    let text = path.trim();
    if is_simulated_name(text) {
        return simulated_choice(roots, text);
    }
    let path = Path::new(text);
    let target = open_and_describe(roots, path)?;
    let metadata = std::fs::metadata(path).map_err(|source| TargetError::Inspect {
        path: text.to_owned(),
        source,
    })?;
    if metadata.is_dir() {
        return Ok(directory_choice(path, Ok(target)));
    }
    if let Some(drive) = target.drive.clone().filter(|drive| drive.path == text) {
        return Ok(drive_choice(&drive, &[], Ok(target)));
    }
    let kind = if metadata.is_file() { "file" } else { "device" };
    Ok(TargetChoice {
        name: printable_path(path),
        path: path.to_owned(),
        group: TargetGroup::File,
        label: target
            .drive
            .as_ref()
            .map(BlockDevice::label)
            .unwrap_or_default(),
        size_bytes: Some(target.size_bytes),
        kind: kind.to_owned(),
        used_by: String::new(),
        target: Ok(target),
    })
}

/// The properties of a directory for the list, without creating a file.
fn describe_directory(roots: &SysPaths, path: &Path) -> Result<Target, TargetError> {
    Ok(medium::describe_directory(roots, path).map_err(OpenError::from)?)
}

/// The properties of a target. In a directory a nameless file is created temporarily; nothing is
/// written.
fn open_and_describe(roots: &SysPaths, path: &Path) -> Result<Target, TargetError> {
    let medium = medium::open_target(roots, path, None).map_err(OpenError::from)?;
    Ok(medium.target.clone())
}

/// The current directory, home, the directory for temporary files, and the mount points of block
/// devices.
fn directory_choices(roots: &SysPaths) -> Vec<TargetChoice> {
    let usual = [
        std::env::current_dir().ok(),
        std::env::var_os("HOME").map(PathBuf::from),
        Some(std::env::temp_dir()),
    ];
    let mut seen = HashSet::new();
    let mut choices = Vec::new();
    for path in usual.into_iter().flatten() {
        if path.is_absolute() && seen.insert(path.clone()) {
            choices.push(directory_choice(&path, describe_directory(roots, &path)));
        }
    }
    // Of the other mounts, only those that can hold a scratch file are listed.
    let mounts = mounts::mounts(roots).unwrap_or_default();
    for mount in mounts.iter().filter(|mount| mount.source_number.is_some()) {
        let path = &mount.path;
        // What covers a mount may be an automount, which even a look at the path would trigger.
        if is_reachable(&mounts, mount)
            && path.is_dir()
            && seen.insert(path.clone())
            && let Ok(target) = describe_directory(roots, path)
        {
            choices.push(directory_choice(path, Ok(target)));
        }
    }
    choices
}

/// The path as text that can be printed.
fn printable_path(path: &Path) -> String {
    printable_bytes(path.as_os_str().as_bytes())
}

fn directory_choice(path: &Path, target: Result<Target, TargetError>) -> TargetChoice {
    let properties = target.as_ref().ok();
    let drive = properties.and_then(|target| target.drive.as_ref());
    let file_system = properties.and_then(|target| target.file_system.clone());
    let label = match (drive, file_system.as_deref()) {
        (Some(drive), _) => drive.label(),
        (None, Some("tmpfs" | "ramfs")) => "memory".to_owned(),
        (None, _) => String::new(),
    };
    TargetChoice {
        name: printable_path(path),
        path: path.to_owned(),
        group: TargetGroup::Directory,
        label,
        size_bytes: free_bytes(path),
        kind: file_system.unwrap_or_else(|| "directory".to_owned()),
        used_by: String::new(),
        target: target.map_err(Arc::new),
    }
}

/// Bytes that this user can still write there.
fn free_bytes(path: &Path) -> Option<u64> {
    let usage = rustix::fs::statvfs(path).ok()?;
    Some(usage.f_bavail.saturating_mul(usage.f_frsize))
}

/// Whole drives with a medium; partitions appear only as their users.
fn drive_choices(roots: &SysPaths) -> Vec<TargetChoice> {
    let all = identity::list_block_devices(roots);
    let is_listed = |drive: &&BlockDevice| {
        drive.size_bytes > 0 && !matches!(drive.kind, DriveKind::Partition | DriveKind::Optical)
    };
    all.iter()
        .filter(is_listed)
        .map(|drive| {
            drive_choice(
                drive,
                &all,
                open_and_describe(roots, Path::new(&drive.path)),
            )
        })
        .collect()
}

fn drive_choice(
    drive: &BlockDevice,
    all: &[BlockDevice],
    target: Result<Target, TargetError>,
) -> TargetChoice {
    let parts = all
        .iter()
        .filter(|part| part.parent.as_ref() == Some(&drive.name));
    let mut users: Vec<_> = std::iter::once(drive)
        .chain(parts)
        .flat_map(|drive| drive.users.iter().map(use_description))
        .collect();
    users.dedup();
    TargetChoice {
        name: drive.path.clone(),
        path: PathBuf::from(&drive.path),
        group: TargetGroup::Drive,
        label: drive.label(),
        size_bytes: Some(drive.size_bytes),
        kind: drive.transport.clone().unwrap_or_else(|| drive_kind(drive)),
        used_by: users.join(", "),
        target: target.map_err(Arc::new),
    }
}

fn drive_kind(drive: &BlockDevice) -> String {
    match drive.kind {
        DriveKind::Disk if drive.rotational == Some(true) => "HDD",
        DriveKind::Disk => "disk",
        DriveKind::Partition => "partition",
        DriveKind::Loop => "loop",
        DriveKind::Raid => "RAID",
        DriveKind::DeviceMapper => "mapped",
        DriveKind::RamDisk => "memory",
        DriveKind::Optical => "optical",
    }
    .to_owned()
}

fn use_description(user: &DeviceUse) -> String {
    match user {
        DeviceUse::Mounted { at, file_system } => format!("{at} ({file_system})"),
        DeviceUse::Swap => "swap".to_owned(),
        DeviceUse::HeldBy { device } => format!("part of {device}"),
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn inspection_of_missing_path_is_an_error() {
        let message = inspect_target(&SysPaths::default(), "/no/such/place")
            .unwrap_err()
            .to_string();
        assert!(message.contains("/no/such/place"), "{message}");
    }

    #[test]
    fn inspection_accepts_simulated_drive_with_parameters() {
        let choice = inspect_target(&SysPaths::default(), "sim:hdd,rpm=5400").unwrap();
        assert_eq!(choice.name, "sim:hdd,rpm=5400");
        assert!(inspect_target(&SysPaths::default(), "/sim:hdd").is_err());
    }

    #[test]
    fn choice_of_directory_keeps_the_bytes_of_its_path() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory
            .path()
            .join(OsStr::from_bytes(b"\xff\xe2\x80\x8b"));
        std::fs::create_dir(&path).unwrap();
        let choice = directory_choice(&path, describe_directory(&SysPaths::default(), &path));
        assert_eq!(choice.path, path);
        assert!(choice.name.ends_with(r"/\xff\u{200b}"), "{}", choice.name);
        assert!(choice.size_bytes.is_some());
    }

    #[test]
    fn inspection_of_directory_leaves_no_scratch_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_string_lossy().into_owned();
        match inspect_target(&SysPaths::default(), &path) {
            Ok(choice) => assert_eq!(choice.group, TargetGroup::Directory),
            Err(error) => assert!(error.to_string().contains("free"), "{error}"),
        }
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }
}
