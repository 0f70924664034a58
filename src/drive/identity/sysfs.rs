//! Reads values and lists below `/sys`, and makes text that drives report safe for display.

use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::mounts::parse_device_number;
use crate::files::printable::{is_invisible, printable_str};
use crate::roots::SysPaths;

/// Names in a directory, sorted; empty if it cannot be read.
pub(crate) fn directory_entries(directory: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// UUID of the mounted btrfs that has a device of this name, and the names of all its devices, sorted: the mount
/// table lists one of several (sysfs `fs/btrfs/UUID/devices`).
pub(crate) fn btrfs_of_device(roots: &SysPaths, name: &str) -> Option<(String, Vec<String>)> {
    let file_systems = roots.sys.join("fs/btrfs");
    let with_devices = |uuid: String| {
        let devices = directory_entries(&file_systems.join(&uuid).join("devices"));
        (uuid, devices)
    };
    let mut all = directory_entries(&file_systems)
        .into_iter()
        .map(with_devices);
    all.find(|(_, devices)| devices.iter().any(|device| device == name))
}

/// Whether an error means that there is no file or directory of that name.
pub(crate) fn is_absent(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    matches!(error.kind(), NotFound | NotADirectory)
}

/// Names in a directory, sorted; none if the directory does not exist.
///
/// # Errors
/// When the directory cannot be read completely: its content is unknown then.
pub(crate) fn list_directory(directory: &Path) -> std::io::Result<Vec<String>> {
    let entries = match fs::read_dir(directory) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry?.file_name().into_string().ok());
    }
    names.sort();
    Ok(names)
}

/// Trims the text and replaces everything that could move the cursor, change colours or change the
/// writing direction: a drive can report any name. Blanks in succession become escapes, as in every name.
#[must_use]
pub fn sanitized(text: &str) -> String {
    let visible: String = text
        .trim_matches(|letter: char| letter.is_whitespace() || letter == '\0')
        .chars()
        .map(|letter| {
            if letter.is_control() || is_invisible(letter) {
                '?'
            } else {
                letter
            }
        })
        .collect();
    printable_str(&visible).into_owned()
}

/// As above for a text of a drive, whose parts are padded with blanks: one is kept of several.
#[must_use]
pub fn drive_text(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    sanitized(&words.join(" "))
}

/// Content of a one-line file, sanitised; `None` if it is missing or empty.
pub(in crate::drive) fn read_line(path: &Path) -> Option<String> {
    let text = sanitized(&String::from_utf8_lossy(&fs::read(path).ok()?));
    (!text.is_empty()).then_some(text)
}

/// As above for a file with a text of a drive.
pub(in crate::drive) fn read_drive_text(path: &Path) -> Option<String> {
    let text = drive_text(&String::from_utf8_lossy(&fs::read(path).ok()?));
    (!text.is_empty()).then_some(text)
}

/// Reads a number from a file.
pub(in crate::drive) fn read_number<T: std::str::FromStr>(path: &Path) -> Option<T> {
    read_line(path)?.parse().ok()
}

/// The number of the block device with that directory; `None` when it is gone.
pub(crate) fn read_device_number(directory: &Path) -> Option<(u32, u32)> {
    parse_device_number(&fs::read_to_string(directory.join("dev")).ok()?)
}

/// Reads a flag, 0 or 1, from a file.
pub(super) fn read_flag(path: &Path) -> Option<bool> {
    read_number::<u32>(path).map(|value| value != 0)
}

/// Location of a device in sysfs: partitions share the properties of the whole disk.
pub(super) struct SysfsLocation {
    /// Directory of the device itself.
    pub(super) device_directory: PathBuf,
    /// Directory of the whole disk; the same for a whole disk.
    pub(super) disk_directory: PathBuf,
    /// Name of the whole disk, for a partition.
    pub(super) parent: Option<String>,
}

impl SysfsLocation {
    pub(super) fn find(roots: &SysPaths, name: &str) -> Option<Self> {
        let own = fs::canonicalize(roots.sys.join("class/block").join(name)).ok()?;
        let parent = own
            .join("partition")
            .exists()
            .then(|| own.parent().map(Path::to_path_buf))
            .flatten();
        Some(Self {
            parent: parent
                .as_deref()
                .and_then(|path| Some(path.file_name()?.to_str()?.to_owned())),
            disk_directory: parent.unwrap_or_else(|| own.clone()),
            device_directory: own,
        })
    }

    pub(super) fn queue_attribute(&self, name: &str) -> PathBuf {
        self.disk_directory.join("queue").join(name)
    }

    pub(super) fn hardware_attribute(&self, name: &str) -> PathBuf {
        self.disk_directory.join("device").join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sanitized_text_contains_no_control_characters() {
        assert_eq!(sanitized("  Samsung SSD 980 \n"), "Samsung SSD 980");
        assert_eq!(sanitized("evil\x1b[2Jdisk\u{9b}1m"), "evil?[2Jdisk?1m");
        assert_eq!(sanitized("right\u{202e}left"), "right?left");
        assert_eq!(sanitized("padded\0\0\0"), "padded");
        assert_eq!(drive_text("ATA     WDC  WD40 "), "ATA WDC WD40");
    }
}
