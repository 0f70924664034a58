//! The facts that stand next to the question whether a medium may be overwritten.

use std::fs;
use std::path::Path;

use super::conflicts::{Conflict, Depth};
use super::{Refusal, conflicts, history, signatures};
use crate::drive::identity::{self, Drive, DriveKind, Use};
use crate::drive::target::Medium;
use crate::roots::Roots;
use crate::units;

/// A partition of a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// Kernel's name, such as `sda1`.
    pub name: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// What udev saw on it.
    pub signature: Option<String>,
    /// Where it is mounted.
    pub mounted_at: Vec<String>,
    /// When and where its file system was last mounted, where that remembers.
    pub last_mount: Option<String>,
}

/// What is known of a medium that is about to be overwritten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inspection {
    /// As the user named it.
    pub name: String,
    /// Model of the drive, as far as it says.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// Size in bytes.
    pub size_bytes: u64,
    /// Partitions on it.
    pub partitions: Vec<Part>,
    /// File systems, volumes and tables found in its bytes or by udev, such as `ext4`, `gpt`.
    pub signatures: Vec<String>,
    /// When and where a file system on the whole of it was last mounted, where that remembers.
    pub last_mount: Option<String>,
    /// Who uses it: with any of these, writing is refused.
    pub conflicts: Vec<Conflict>,
}

/// Collects the facts about a medium.
///
/// # Errors
/// When it cannot be found out who uses it.
pub fn inspect(roots: &Roots, medium: &Medium) -> Result<Inspection, Refusal> {
    let target = &medium.target;
    let itself = medium.device_number().and(target.drive.as_ref());
    let mut signatures = signatures::find(medium.anchor());
    if let Some(signature) = itself.and_then(|drive| drive.signature.clone())
        && !signatures.contains(&signature)
    {
        signatures.push(signature);
    }
    Ok(Inspection {
        name: target.name.clone(),
        model: itself.and_then(|drive| drive.model.clone()),
        serial: itself.and_then(|drive| drive.serial.clone()),
        size_bytes: target.size,
        partitions: itself.map_or_else(Vec::new, |drive| partitions(roots, medium, drive)),
        last_mount: history::last_mount(medium.anchor(), 0),
        signatures,
        conflicts: conflicts::find(roots, medium, Depth::Full)?.conflicts,
    })
}

fn partitions(roots: &Roots, medium: &Medium, whole: &Drive) -> Vec<Part> {
    let directory = roots.sys.join("class/block").join(&whole.name);
    identity::entries(&directory)
        .iter()
        .filter(|name| directory.join(name).join("partition").exists())
        .filter_map(|name| identity::read(roots, name))
        .filter(|drive| drive.kind == DriveKind::Partition)
        .map(|drive| Part {
            mounted_at: drive.users.iter().filter_map(mount_point).collect(),
            last_mount: start(&directory.join(&drive.name))
                .and_then(|start| history::last_mount(medium.anchor(), start)),
            name: drive.name,
            size_bytes: drive.size_bytes,
            signature: drive.signature,
        })
        .collect()
}

/// The byte of the whole device at which a partition begins.
fn start(directory: &Path) -> Option<u64> {
    let sectors: u64 = fs::read_to_string(directory.join("start"))
        .ok()?
        .trim()
        .parse()
        .ok()?;
    sectors.checked_mul(512)
}

impl Inspection {
    /// The facts as lines for a person who has to decide, and who uses it.
    #[must_use]
    pub fn facts(&self) -> Vec<String> {
        let mut lines = self.about();
        lines.extend(self.conflicts.iter().map(ToString::to_string));
        lines
    }

    /// What it is and what is on it, as lines for a person who has to decide.
    #[must_use]
    pub fn about(&self) -> Vec<String> {
        let known = |what: &Option<String>| what.clone().unwrap_or_else(|| "unknown".to_owned());
        let mut lines = vec![
            format!("{}, {}", self.name, units::capacity(self.size_bytes as f64)),
            format!(
                "model {}, serial {}",
                known(&self.model),
                known(&self.serial)
            ),
        ];
        lines.push(match self.signatures.as_slice() {
            [] => "no known signature in its bytes".to_owned(),
            signatures => format!("holds {}", signatures.join(", ")),
        });
        lines.extend(self.last_mount.clone());
        for part in &self.partitions {
            let size = units::capacity(part.size_bytes as f64);
            let words = [part.signature.as_ref(), part.last_mount.as_ref()];
            let words: String = words
                .into_iter()
                .flatten()
                .map(|word| format!(", {word}"))
                .collect();
            lines.push(format!("partition {}, {size}{words}", part.name));
        }
        lines
    }
}

fn mount_point(user: &Use) -> Option<String> {
    match user {
        Use::Mounted { at, .. } => Some(at.clone()),
        Use::Swap | Use::HeldBy { .. } => None,
    }
}
