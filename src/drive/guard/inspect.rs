//! The facts that stand next to the question whether a medium may be overwritten.

use super::conflicts::Conflict;
use super::{Refusal, conflicts, signatures};
use crate::drive::identity::{self, Drive, DriveKind, Use};
use crate::drive::target::Medium;
use crate::roots::Roots;

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
        partitions: itself.map_or_else(Vec::new, |drive| partitions(roots, drive)),
        signatures,
        conflicts: conflicts::find(roots, medium)?,
    })
}

fn partitions(roots: &Roots, whole: &Drive) -> Vec<Part> {
    let directory = roots.sys.join("class/block").join(&whole.name);
    identity::entries(&directory)
        .iter()
        .filter(|name| directory.join(name).join("partition").exists())
        .filter_map(|name| identity::read(roots, name))
        .filter(|drive| drive.kind == DriveKind::Partition)
        .map(|drive| Part {
            mounted_at: drive.users.iter().filter_map(mount_point).collect(),
            name: drive.name,
            size_bytes: drive.size_bytes,
            signature: drive.signature,
        })
        .collect()
}

fn mount_point(user: &Use) -> Option<String> {
    match user {
        Use::Mounted { at, .. } => Some(at.clone()),
        Use::Swap | Use::HeldBy { .. } => None,
    }
}
