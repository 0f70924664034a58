//! The values of a metric in a snapshot, each with what it belongs to.

use serde::{Deserialize, Serialize};

use super::language::Condition;
use super::metric::metric_column;
use super::scope::{Scope, ScopeKind};
use crate::columns::Entity;
use crate::columns::command::program_name;
use crate::drive::DriveKind;
use crate::files::safe_text::SafeText;
use crate::snapshot::Snapshot;
use crate::snapshot::view::{
    BlockedTaskView, DeviceView, IoErrorsView, MountView, ProcessView, UnitView,
};

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
    fn new(kind: ScopeKind, name: &SafeText, label: &SafeText, pid: Option<u32>) -> Self {
        Self {
            kind,
            name: name.clone(),
            label: label.clone(),
            pid,
        }
    }

    fn device(device: &DeviceView) -> Self {
        Self::new(ScopeKind::Device, &device.name, &device.label, None)
    }
}

/// Known values with what they belong to.
type Values = Vec<(ScopeInstance, f64)>;

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
            ScopeKind::Unit => !live
                .units
                .iter()
                .flatten()
                .any(|it| matches_unit(scope, it)),
            ScopeKind::Mount => !live
                .mounts
                .iter()
                .flatten()
                .any(|it| matches_mount(scope, it)),
        }
    }
}

/// The known values of the metric of a condition, in its scope. Unknown values are left out.
pub(super) fn values(condition: &Condition, live: &Snapshot) -> Values {
    let (scope, name) = (condition.scope(), condition.metric().name());
    let nothing = SafeText::new();
    match scope.kind() {
        ScopeKind::System => {
            let system = ScopeInstance::new(ScopeKind::System, &nothing, &nothing, None);
            read(name, [live], |_| system.clone())
        }
        ScopeKind::Device => {
            let devices = live.devices.iter().filter(|it| matches_device(scope, it));
            match metric_column::<IoErrorsView>(name) {
                Some(_) => io_errors(name, scope, live),
                None => read(name, devices, ScopeInstance::device),
            }
        }
        ScopeKind::Process => {
            let processes = live.processes.iter();
            let whole = processes
                .filter(|it| it.tid == it.pid && matches_process(scope, it.pid, &it.command));
            let process = |pid: u32, command: &SafeText| {
                ScopeInstance::new(ScopeKind::Process, command, &nothing, Some(pid))
            };
            match metric_column::<BlockedTaskView>(name) {
                Some(_) => longest(read(name, blocked(scope, live), |it| {
                    process(it.pid, &it.command)
                })),
                None => read(name, whole, |it: &ProcessView| process(it.pid, &it.command)),
            }
        }
        ScopeKind::Unit => {
            let units = live
                .units
                .iter()
                .flatten()
                .filter(|it| matches_unit(scope, it));
            read(name, units, |it: &UnitView| {
                ScopeInstance::new(ScopeKind::Unit, &it.path, &it.name, None)
            })
        }
        ScopeKind::Mount => {
            let mounts = live
                .mounts
                .iter()
                .flatten()
                .filter(|it| matches_mount(scope, it));
            read(name, mounts, |it: &MountView| {
                ScopeInstance::new(ScopeKind::Mount, &it.mount_point, &nothing, None)
            })
        }
    }
}

/// The values of one column.
fn read<'s, E: Entity>(
    name: &str,
    rows: impl IntoIterator<Item = &'s E>,
    instance: impl Fn(&E) -> ScopeInstance,
) -> Values {
    let Some(column) = metric_column::<E>(name) else {
        return Vec::new();
    };
    let known = rows
        .into_iter()
        .filter_map(|row| Some((instance(row), column.number(row)?)));
    known.collect()
}

fn blocked<'s>(scope: &Scope, live: &'s Snapshot) -> impl Iterator<Item = &'s BlockedTaskView> {
    let tasks = live.blocked.iter().flatten();
    tasks.filter(move |it| matches_process(scope, it.pid, &it.command))
}

/// Of each process the first, which is the thread that has been blocked longest.
fn longest(values: Values) -> Values {
    let mut found: Values = Vec::new();
    for (instance, value) in values {
        if found.iter().all(|(known, _)| known.pid != instance.pid) {
            found.push((instance, value));
        }
    }
    found
}

/// The errors of each device that had any, which may be gone by now, and 0 of the others in the
/// scope.
fn io_errors(name: &str, scope: &Scope, live: &Snapshot) -> Values {
    let Some(errors) = &live.io_errors else {
        return Vec::new();
    };
    let label_of = |name: &SafeText| {
        let device = live.devices.iter().find(|it| it.name == *name);
        device.map_or_else(SafeText::new, |it| it.label.clone())
    };
    let in_scope = errors
        .iter()
        .filter(|it| matches_name(scope, &[&it.device, &label_of(&it.device)]));
    let mut found = read(name, in_scope, |it: &IoErrorsView| {
        ScopeInstance::new(ScopeKind::Device, &it.device, &label_of(&it.device), None)
    });
    for device in live.devices.iter().filter(|it| matches_device(scope, it)) {
        if errors.iter().all(|view| view.device != device.name) {
            found.push((ScopeInstance::device(device), 0.0));
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

fn matches_unit(scope: &Scope, unit: &UnitView) -> bool {
    matches_name(scope, &[&unit.name, &unit.path])
}

fn matches_mount(scope: &Scope, mount: &MountView) -> bool {
    let is_image = IMAGE_FILE_SYSTEMS.contains(&mount.file_system.as_str());
    matches_name(scope, &[&mount.mount_point]) && !(is_image && matches!(scope, Scope::Any(_)))
}

fn matches_process(scope: &Scope, pid: u32, command: &str) -> bool {
    match scope {
        Scope::Any(_) => true,
        Scope::Named(_, wanted) => program_name(command) == wanted.as_str(),
        Scope::Process(wanted) => *wanted == pid,
        Scope::System => false,
    }
}
