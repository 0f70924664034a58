//! Reads all control groups of the machine.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use super::counters::read_counters;
use super::hierarchies::{BLKIO, IoHierarchies};
use super::limits::limits_of_group;
use super::unit::{Unit, UnitNames};
use crate::mountinfo::{Hierarchy, HierarchyMount};
use crate::probe::sample::{ControlGroupSample, ControlGroupsSample, IoAccounting};
use crate::probe::system::host::parse_pressure;
use crate::probe::text::read_file;
use crate::roots::SysPaths;

/// Deeper groups are counted with the group that contains them.
const MAX_DEPTH: usize = 16;
/// More groups are not read.
const MAX_GROUPS: usize = 10_000;

/// Reads the control groups on request. Keeps the names of units in between.
#[derive(Debug, Default)]
pub struct ControlGroupReader {
    names: UnitNames,
}

/// A walk through one hierarchy.
struct HierarchyWalk<'w> {
    roots: &'w SysPaths,
    mount: &'w HierarchyMount,
    hierarchy: Hierarchy,
    /// The hierarchy that has the pressure of the groups, if it is another one.
    pressure: Option<&'w HierarchyMount>,
    names: &'w mut UnitNames,
    groups: Vec<ControlGroupSample>,
}

impl ControlGroupReader {
    /// The groups with their counters.
    pub(crate) fn read(
        &mut self,
        roots: &SysPaths,
        hierarchies: &IoHierarchies,
    ) -> ControlGroupsSample {
        // Version 2 counts if its controller is enabled; on a hybrid system version 1 does.
        let unified = hierarchies.unified.first();
        let counts = |mount: &&HierarchyMount| {
            read_file(&mount.directory.join("cgroup.controllers")).is_some_and(|text| {
                text.trim_ascii()
                    .split(|byte| *byte == b' ')
                    .any(|it| it == b"io")
            })
        };
        let (mount, hierarchy, accounting) =
            match (unified.filter(counts), hierarchies.blkio.first()) {
                (Some(mount), _) => (mount, Hierarchy::V2, IoAccounting::V2),
                (None, Some(mount)) => (mount, BLKIO, IoAccounting::V1),
                (None, None) => return ControlGroupsSample::default(),
            };
        let mut walk = HierarchyWalk {
            roots,
            mount,
            hierarchy,
            pressure: unified.filter(|_| accounting == IoAccounting::V1),
            names: &mut self.names,
            groups: Vec::new(),
        };
        walk.enter(Path::new("/"), 0);
        ControlGroupsSample {
            accounting,
            groups: walk.groups,
        }
    }
}

impl HierarchyWalk<'_> {
    fn enter(&mut self, group: &Path, depth: usize) {
        let directory = self.mount.group_directory(group);
        if depth > 0
            && let Some(unit) = self.names.unit_of(self.roots, group)
        {
            let sample = self.read_group(group, &directory, unit);
            self.groups.push(sample);
        }
        if depth == MAX_DEPTH {
            return;
        }
        let Ok(entries) = fs::read_dir(&directory) else {
            return;
        };
        for entry in entries.flatten() {
            if self.groups.len() >= MAX_GROUPS {
                return;
            }
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.enter(&group.join(entry.file_name()), depth + 1);
            }
        }
    }

    fn read_group(&self, group: &Path, directory: &Path, unit: Arc<Unit>) -> ControlGroupSample {
        let pressure_directory = match self.pressure {
            Some(mount) => mount.group_directory(group),
            None => directory.to_owned(),
        };
        ControlGroupSample {
            is_unit: Path::new(unit.path.as_str()) == group,
            unit,
            io: read_counters(directory, self.hierarchy),
            pressure: read_file(&pressure_directory.join("io.pressure"))
                .as_deref()
                .and_then(parse_pressure),
            limits: limits_of_group(directory, self.hierarchy),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::control_groups::DeviceIo;

    fn read(roots: &SysPaths) -> ControlGroupsSample {
        let hierarchies = IoHierarchies::find(roots);
        let mut sample = ControlGroupReader::default().read(roots, &hierarchies);
        sample
            .groups
            .sort_by(|a, b| a.unit.path.as_str().cmp(b.unit.path.as_str()));
        sample
    }

    const PRESSURE: &str = "some avg10=12.50 avg60=0.00 avg300=0.00 total=77\n\
                            full avg10=1.25 avg60=0.00 avg300=0.00 total=5\n";

    #[test]
    fn groups_of_version_2_have_counters_pressure_and_limits() {
        let (_root, roots) = SysPaths::with_files(&[
            (
                "proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n"),
            (
                "sys/fs/cgroup/system.slice/db.service/io.stat",
                "8:0 rbytes=5 wbytes=6 rios=1 wios=2\n",
            ),
            (
                "sys/fs/cgroup/system.slice/db.service/io.pressure",
                PRESSURE,
            ),
            (
                "sys/fs/cgroup/system.slice/db.service/io.max",
                "8:0 rbps=100 wbps=max riops=max wiops=max\n",
            ),
        ]);
        let sample = read(&roots);
        assert_eq!(sample.accounting, IoAccounting::V2);
        let [slice, service] = sample.groups.as_slice() else {
            panic!("{sample:?}")
        };
        assert_eq!(
            (slice.unit.name.as_str(), &slice.io),
            ("system.slice", &None)
        );
        assert_eq!(service.unit.name.as_str(), "db.service");
        let expected = DeviceIo {
            device: (8, 0),
            read_bytes: 5,
            written_bytes: 6,
            read_ios: 1,
            write_ios: 2,
        };
        assert_eq!(service.io.as_deref(), Some([expected].as_slice()));
        assert_eq!(service.limits[0].read_bytes_per_s, Some(100));
        let pressure = service.pressure.unwrap();
        assert_eq!(pressure.some.average_10_s, 12.5);
    }

    #[test]
    fn hybrid_machine_counts_in_version_1_and_has_pressure_in_version_2() {
        let (_root, roots) = SysPaths::with_files(&[
            (
                "proc/self/mountinfo",
                "30 23 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                 31 23 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
            ),
            ("sys/fs/cgroup/unified/cgroup.controllers", "hugetlb\n"),
            ("sys/fs/cgroup/unified/a.service/io.pressure", PRESSURE),
            (
                "sys/fs/cgroup/blkio/a.service/blkio.throttle.io_service_bytes_recursive",
                "8:0 Read 7\n8:0 Write 9\nTotal 16\n",
            ),
            (
                "sys/fs/cgroup/blkio/a.service/inner/blkio.throttle.io_service_bytes_recursive",
                "8:0 Read 7\n",
            ),
        ]);
        let sample = read(&roots);
        assert_eq!(sample.accounting, IoAccounting::V1);
        let units: Vec<(&str, bool)> = sample
            .groups
            .iter()
            .map(|group| (group.unit.name.as_str(), group.is_unit))
            .collect();
        assert_eq!(units, [("a.service", true), ("a.service", false)]);
        assert!(sample.groups[0].pressure.is_some());
        assert_eq!(sample.groups[0].io.as_ref().unwrap()[0].written_bytes, 9);
    }

    #[test]
    fn machine_without_control_groups_has_none() {
        let (_root, roots) = SysPaths::with_files(&[("proc/self/mountinfo", "")]);
        assert_eq!(read(&roots), ControlGroupsSample::default());
    }
}
