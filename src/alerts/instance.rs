//! The values of a metric in a snapshot, each with what it belongs to.

use serde::{Deserialize, Serialize};

use super::language::Condition;
use super::metric::MetricSource;
use super::scope::{Scope, ScopeKind};
use crate::drive::DriveKind;
use crate::files::safe_text::SafeText;
use crate::snapshot::Snapshot;
use crate::snapshot::view::{DeviceView, MountView, UnitView};

/// Types of file systems that are full by nature.
const IMAGE_FILE_SYSTEMS: [&str; 5] = ["cramfs", "erofs", "iso9660", "romfs", "squashfs"];

/// What one value belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ScopeInstance {
    /// What it is.
    #[serde(rename = "scope")]
    pub kind: ScopeKind,
    /// Kernel's name of the device, command line of the process, path of the unit, mount point;
    /// empty for the system.
    pub name: SafeText,
    /// Name of the volume or of the unit, model of the device; empty where it has no other name.
    pub label: SafeText,
    /// Process id.
    pub pid: Option<u32>,
}

impl ScopeInstance {
    fn new(kind: ScopeKind, name: &SafeText) -> Self {
        Self {
            kind,
            name: name.clone(),
            label: SafeText::new(),
            pid: None,
        }
    }

    fn device(name: &SafeText, label: &SafeText) -> Self {
        Self {
            label: label.clone(),
            ..Self::new(ScopeKind::Device, name)
        }
    }

    fn process(pid: u32, command: &SafeText) -> Self {
        Self {
            pid: Some(pid),
            ..Self::new(ScopeKind::Process, command)
        }
    }

    fn unit(unit: &UnitView) -> Self {
        Self {
            label: unit.name.clone(),
            ..Self::new(ScopeKind::Unit, &unit.path)
        }
    }
}

impl Condition {
    /// Whether a snapshot that contains its kind has no device, unit or mount of the name in its
    /// scope. Processes come and go.
    #[must_use]
    pub fn is_scope_absent(&self, live: &Snapshot) -> bool {
        let scope = self.scope();
        let Scope::Named(kind, _) = scope else {
            return false;
        };
        match kind {
            ScopeKind::System | ScopeKind::Process => false,
            ScopeKind::Device => !live.devices.iter().any(|it| matches_device(scope, it)),
            ScopeKind::Unit => {
                let mut units = live.units.iter().flatten();
                !units.any(|it| matches_name(scope, &[&it.name, &it.path]))
            }
            ScopeKind::Mount => {
                let mut mounts = live.mounts.iter().flatten();
                !mounts.any(|it| matches_mount(scope, it))
            }
        }
    }
}

/// The known values of the metric of a condition, in its scope. Unknown values are left out.
pub(super) fn values(condition: &Condition, live: &Snapshot) -> Vec<(ScopeInstance, f64)> {
    let scope = condition.scope();
    let Some(source) = condition.metric().source(scope.kind()) else {
        return Vec::new();
    };
    match source {
        MetricSource::System(value) => value(live)
            .map(|value| {
                let name = SafeText::new();
                (ScopeInstance::new(ScopeKind::System, &name), value)
            })
            .into_iter()
            .collect(),
        MetricSource::Device(value) => {
            let devices = live.devices.iter().filter(|it| matches_device(scope, it));
            devices
                .filter_map(|it| Some((ScopeInstance::device(&it.name, &it.label), value(it)?)))
                .collect()
        }
        MetricSource::Process(value) => live
            .processes
            .iter()
            .filter(|it| it.tid == it.pid && matches_process(scope, it.pid, &it.command))
            .filter_map(|it| Some((ScopeInstance::process(it.pid, &it.command), value(it)?)))
            .collect(),
        MetricSource::Unit(value) => {
            let units = live.units.iter().flatten();
            let named = units.filter(|it| matches_name(scope, &[&it.name, &it.path]));
            named
                .filter_map(|it| Some((ScopeInstance::unit(it), value(it)?)))
                .collect()
        }
        MetricSource::Mount(value) => {
            let mounts = live.mounts.iter().flatten();
            mounts
                .filter(|it| matches_mount(scope, it))
                .filter_map(|it| {
                    let instance = ScopeInstance::new(ScopeKind::Mount, &it.mount_point);
                    Some((instance, value(it)?))
                })
                .collect()
        }
        MetricSource::BlockedTasks => blocked_times(scope, live),
        MetricSource::IoErrors => io_errors(scope, live),
    }
}

/// The longest sleep of each process. The views are sorted by it.
fn blocked_times(scope: &Scope, live: &Snapshot) -> Vec<(ScopeInstance, f64)> {
    let mut found: Vec<(ScopeInstance, f64)> = Vec::new();
    for task in live.blocked.iter().flatten() {
        let is_new = found
            .iter()
            .all(|(instance, _)| instance.pid != Some(task.pid));
        if is_new && matches_process(scope, task.pid, &task.command) {
            let instance = ScopeInstance::process(task.pid, &task.command);
            found.push((instance, task.blocked_ns as f64));
        }
    }
    found
}

/// The errors of each device that had any, which may be gone by now, and 0 of the others in the
/// scope.
fn io_errors(scope: &Scope, live: &Snapshot) -> Vec<(ScopeInstance, f64)> {
    let Some(errors) = &live.io_errors else {
        return Vec::new();
    };
    let label_of = |name: &SafeText| {
        let device = live.devices.iter().find(|it| it.name == *name);
        device.map_or_else(SafeText::new, |it| it.label.clone())
    };
    let mut found: Vec<(ScopeInstance, f64)> = errors
        .iter()
        .filter_map(|view| {
            let label = label_of(&view.device);
            let instance = ScopeInstance::device(&view.device, &label);
            matches_name(scope, &[&view.device, &label]).then_some((instance, view.count()? as f64))
        })
        .collect();
    for device in live.devices.iter().filter(|it| matches_device(scope, it)) {
        if errors.iter().all(|view| view.device != device.name) {
            found.push((ScopeInstance::device(&device.name, &device.label), 0.0));
        }
    }
    found
}

/// Whether the scope names one of these, or any.
fn matches_name(scope: &Scope, names: &[&SafeText]) -> bool {
    match scope {
        Scope::Any(_) => true,
        Scope::Named(_, wanted) => names.contains(&wanted),
        Scope::System | Scope::Process(_) => false,
    }
}

/// Any device is any but a partition, which repeats what its drive has.
fn matches_device(scope: &Scope, device: &DeviceView) -> bool {
    let is_partition = device.kind == Some(DriveKind::Partition);
    matches_name(scope, &[&device.name, &device.label])
        && !(is_partition && matches!(scope, Scope::Any(_)))
}

fn matches_mount(scope: &Scope, mount: &MountView) -> bool {
    let is_image = IMAGE_FILE_SYSTEMS.contains(&mount.file_system.as_str());
    matches_name(scope, &[&mount.mount_point]) && !(is_image && matches!(scope, Scope::Any(_)))
}

fn matches_process(scope: &Scope, pid: u32, command: &str) -> bool {
    match scope {
        Scope::Any(_) => true,
        Scope::Named(_, wanted) => program(command) == wanted.as_str(),
        Scope::Process(wanted) => *wanted == pid,
        Scope::System => false,
    }
}

/// The program of a command line: the last component of its first word, without the brackets of a
/// process without arguments, and without the hyphen of a login shell.
fn program(command: &str) -> &str {
    if let Some(name) = command.strip_prefix('[') {
        return name.strip_suffix(']').unwrap_or(name);
    }
    let word = command.split(' ').next().unwrap_or(command);
    let base = word.rsplit('/').next().unwrap_or(word);
    base.strip_prefix('-').unwrap_or(base).trim_end_matches(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_the_last_component_of_the_first_word() {
        for (command, name) in [
            ("/usr/bin/rsync -a /srv /backup", "rsync"),
            ("dd if=/dev/sda of=/dev/null", "dd"),
            ("[kworker/0:1]", "kworker/0:1"),
            ("-bash", "bash"),
            ("postgres: checkpointer", "postgres"),
            ("", ""),
        ] {
            assert_eq!(program(command), name);
        }
    }
}
