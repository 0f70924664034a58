//! I/O of control groups: counters, pressure and limits of each, and the unit that it belongs to
//! as people know it (service, container, login session).

mod container;
pub mod io_files;
pub mod unit;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use self::io_files::{IoLimit, add_limit, read_counters, read_limits};
use self::unit::Unit;
use crate::drive::mountinfo::{Hierarchy, HierarchyMount, read_mount_table};
use crate::probe::sample::{ControlGroupSample, ControlGroupsSample, IoAccounting};
use crate::probe::system::host::parse_pressure;
use crate::probe::text::{read_file, split_fields};
use crate::roots::SysPaths;

pub use self::io_files::DeviceIo;
pub(crate) use self::unit::UnitNames;

/// The hierarchy of version 1 that limits and counts block I/O.
const BLKIO: Hierarchy = Hierarchy::V1("blkio");
/// The hierarchy in which systemd keeps its units where version 2 is not mounted.
const SYSTEMD: Hierarchy = Hierarchy::V1("name=systemd");
/// Deeper groups are counted with the group that contains them.
const MAX_DEPTH: usize = 16;
/// More groups are not read.
const MAX_GROUPS: usize = 10_000;

/// Where the hierarchies that concern block I/O are mounted. Read once, and again when something was
/// mounted.
#[derive(Debug, Default)]
pub(crate) struct IoHierarchies {
    mounts: Vec<(Hierarchy, HierarchyMount)>,
}

/// What is known of a process through its control groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Membership {
    /// The group that names its unit; `None` where it is in the root groups only.
    pub(crate) group: Option<PathBuf>,
    /// Its I/O limits: those of its groups and of all their ancestors.
    pub(crate) limits: Vec<IoLimit>,
}

impl IoHierarchies {
    pub(crate) fn find(roots: &SysPaths) -> Self {
        let table = read_mount_table(roots);
        let mounts_of = |hierarchy: Hierarchy| {
            let mounts = hierarchy.mounts(roots, &table).into_iter();
            mounts.map(move |mount| (hierarchy, mount))
        };
        Self {
            mounts: mounts_of(Hierarchy::V2).chain(mounts_of(BLKIO)).collect(),
        }
    }

    /// The groups of a process; empty where they cannot be read.
    pub(crate) fn membership(&self, roots: &SysPaths, pid: u32) -> Membership {
        let Some(text) = read_file(&roots.proc.join(format!("{pid}/cgroup"))) else {
            return Membership::default();
        };
        let mut limits = Vec::new();
        for (hierarchy, mount) in &self.mounts {
            let Some(group) = hierarchy.group_of(&text) else {
                continue;
            };
            let own = mount.group_directory(&group);
            let visible = |directory: &&Path| directory.starts_with(&mount.directory);
            for directory in own.ancestors().take_while(visible) {
                for limit in read_limits(directory, *hierarchy) {
                    add_limit(&mut limits, &limit);
                }
            }
        }
        let group = [Hierarchy::V2, SYSTEMD, BLKIO]
            .into_iter()
            .filter_map(|hierarchy| hierarchy.group_of(&text))
            .find(|group| group != Path::new("/"));
        Membership { group, limits }
    }

    /// The hierarchy that counts I/O: version 2 if its controller is enabled, otherwise version 1.
    fn counting(&self) -> Option<&(Hierarchy, HierarchyMount)> {
        self.mounts.iter().find(|(hierarchy, mount)| {
            let controllers = read_file(&mount.directory.join("cgroup.controllers"));
            let has_io = controllers
                .is_some_and(|text| split_fields(text.trim_ascii()).any(|it| it == b"io"));
            *hierarchy == BLKIO || has_io
        })
    }
}

/// The groups with their counters; `names` keeps the names of units between samples.
pub(crate) fn read_control_groups(
    roots: &SysPaths,
    hierarchies: &IoHierarchies,
    names: &mut UnitNames,
) -> ControlGroupsSample {
    let Some((hierarchy, mount)) = hierarchies.counting() else {
        return ControlGroupsSample::default();
    };
    let accounting = match hierarchy {
        Hierarchy::V2 => IoAccounting::V2,
        Hierarchy::V1(_) => IoAccounting::V1,
    };
    let mut groups = Vec::new();
    let mut waiting = subgroups(mount, Path::new("/"));
    while let Some(group) = waiting.pop().filter(|_| groups.len() < MAX_GROUPS) {
        if let Some(unit) = names.unit_of(roots, &group) {
            groups.push(read_group(mount, *hierarchy, &group, unit));
        }
        if group.components().count() <= MAX_DEPTH {
            waiting.extend(subgroups(mount, &group));
        }
    }
    ControlGroupsSample { accounting, groups }
}

/// The groups that are directly in a group.
fn subgroups(mount: &HierarchyMount, group: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(mount.group_directory(group));
    let entries = entries.into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| group.join(entry.file_name()))
        .collect()
}

fn read_group(
    mount: &HierarchyMount,
    hierarchy: Hierarchy,
    group: &Path,
    unit: Arc<Unit>,
) -> ControlGroupSample {
    let directory = mount.group_directory(group);
    let pressure = read_file(&directory.join("io.pressure"));
    ControlGroupSample {
        is_unit: Path::new(unit.path.as_str()) == group,
        unit,
        io: read_counters(&directory, hierarchy),
        pressure: pressure.as_deref().and_then(parse_pressure),
        limits: read_limits(&directory, hierarchy),
    }
}

#[cfg(test)]
mod tests;
