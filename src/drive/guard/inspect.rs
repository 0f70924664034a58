//! Facts about a medium, shown when the user is asked whether it may be overwritten.

use std::os::unix::fs::MetadataExt;

use crate::drive::guard::contents::MediumContents;
use crate::drive::guard::users::find_users_of_medium;
use crate::drive::guard::uses::User;
use crate::drive::identity::sanitized;
use crate::drive::medium::OpenMedium;
use crate::roots::SysPaths;
use crate::units;

/// Partitions that are listed in the short form, at most.
const MAX_LISTED_PARTITIONS: usize = 8;

/// Facts about a medium that is about to be overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// Name as the user gave it.
    pub name: String,
    /// The path that the name resolves to, if different.
    pub resolved: Option<String>,
    /// Kernel name and number of the block device, if it is one.
    pub device: Option<(String, (u32, u32))>,
    /// Model of the drive, if reported.
    pub model: Option<String>,
    /// Serial number, if reported.
    pub serial: Option<String>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Names (hard links) that a file has, also in other directories; 0 where that is unknown.
    pub name_count: u64,
    /// File systems, volumes and partitions.
    pub contents: MediumContents,
    /// Its users: any of these forbids writing.
    pub users: Vec<User>,
}

/// Collects the facts about a medium.
#[must_use]
pub fn inspect_target(roots: &SysPaths, medium: &OpenMedium) -> Inspection {
    describe_medium(roots, medium, MediumContents::read(roots, medium))
}

/// As above, for a medium whose contents are known.
pub(super) fn describe_medium(
    roots: &SysPaths,
    medium: &OpenMedium,
    contents: MediumContents,
) -> Inspection {
    let target = &medium.target;
    let device = medium.device_number().and(target.drive.as_ref());
    let resolved = medium.resolved_path().map(std::path::Path::to_string_lossy);
    let users = find_users_of_medium(roots, medium).users;
    let facts = medium.file().metadata();
    Inspection {
        name: sanitized(&target.name),
        resolved: resolved
            .filter(|path| *path != target.name)
            .map(|path| sanitized(&path)),
        device: device.map(|it| (it.name.clone(), it.number)),
        model: device.and_then(|it| it.model.clone()),
        serial: device.and_then(|it| it.serial.clone()),
        size_bytes: target.size_bytes,
        name_count: facts.map_or(0, |facts| facts.nlink()),
        contents,
        users,
    }
}

impl Inspection {
    /// The facts and the users, as lines for display.
    #[must_use]
    pub fn description_lines(&self) -> Vec<String> {
        let mut lines = self.summary_lines();
        lines.extend(self.users.iter().map(ToString::to_string));
        lines
    }

    /// Identity and contents, as lines for display: the most important first, and the first few of many partitions.
    #[must_use]
    pub fn summary_lines(&self) -> Vec<String> {
        let what = match &self.resolved {
            Some(_) => format!("{} {}", self.name, self.location_line()),
            None => self.location_line(),
        };
        let mut lines = vec![what, self.drive_line(), self.contents_line()];
        let partitions = self.partition_lines();
        let more = partitions.len().saturating_sub(MAX_LISTED_PARTITIONS);
        lines.extend(partitions.into_iter().take(MAX_LISTED_PARTITIONS));
        if more > 0 {
            lines.push(format!("+{more} more partitions"));
        }
        lines
    }

    /// The same below a heading with the name, with all partitions, and without the line that lists the signatures.
    #[must_use]
    pub fn detail_lines(&self) -> Vec<String> {
        let mut lines = vec![self.location_line(), self.drive_line()];
        if self.contents.is_unrecognised {
            lines.push(self.contents_line());
        }
        lines.extend(self.partition_lines());
        lines
    }

    /// The resolved path if different, the device, and the size.
    fn location_line(&self) -> String {
        let size = units::format_size(self.size_bytes);
        let path = match &self.resolved {
            Some(path) => format!("-> {path}"),
            None => self.name.clone(),
        };
        let device = match &self.device {
            Some((name, (major, minor))) => format!(", {name} ({major}:{minor})"),
            None => String::new(),
        };
        format!("{path}{device}, {size}")
    }

    /// Model and serial number of a device; the names of a file, if there are several.
    fn drive_line(&self) -> String {
        let known = |what: &Option<String>| what.clone().unwrap_or_else(|| "unknown".to_owned());
        match self.device {
            Some(_) => {
                let (model, serial) = (known(&self.model), known(&self.serial));
                format!("model {model}, serial {serial}")
            }
            None if self.name_count > 1 => format!(
                "regular file with {} names (hard links), whose content changes under each",
                self.name_count
            ),
            None => "regular file".to_owned(),
        }
    }

    fn contents_line(&self) -> String {
        match self.contents.summary().as_slice() {
            [] if self.contents.is_unrecognised => "holds unrecognised data".to_owned(),
            [] => "only zeros at its start and its end".to_owned(),
            items => format!("holds {}", items.join("; ")),
        }
    }

    fn partition_lines(&self) -> Vec<String> {
        let partitions = self.contents.partitions.iter();
        partitions
            .map(|part| {
                let size = units::format_size(part.length);
                let formats = self.contents.formats_on(&part.name).join(", ");
                let separator = if formats.is_empty() { "" } else { ", " };
                format!("partition {}, {size}{separator}{formats}", part.name)
            })
            .collect()
    }
}
