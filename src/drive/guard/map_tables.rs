//! The tables of the device-mapper devices that a medium consists of, and of those beside it. A
//! loaded table that becomes the live one changes neither the holders of a device nor its disk
//! sequence number.

use std::io;
use std::path::Path;

use crate::drive::guard::conflicts::device_mapper::{TableLayout, read_table_layout};
use crate::drive::guard::siblings;
use crate::drive::identity::sysfs::{list_directory, read_device_number};
use crate::drive::medium::TargetKind;
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;

/// A device, and the devices on it.
pub(super) type DeviceHolders = (String, Vec<String>);

/// A device-mapper device, and the layout of its table; `None` if the table cannot be read.
pub(super) type MapTable = (String, Option<TableLayout>);

/// The tables around one medium.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct MapTables {
    /// Of the medium itself and of what it is on.
    pub own: Vec<MapTable>,
    /// Of other devices on the same devices.
    pub others: Vec<MapTable>,
}

impl MapTables {
    /// Reads the tables of the device-mapper devices in this stack.
    pub(super) fn read(roots: &SysPaths, stack: &[DeviceHolders]) -> Self {
        let is_map = |name: &&String| name.starts_with("dm-");
        let own: Vec<String> = stack.iter().map(|(name, _)| name.clone()).collect();
        let mut others: Vec<String> = stack
            .iter()
            .flat_map(|(_, holders)| holders)
            .filter(is_map)
            .filter(|holder| !own.contains(holder))
            .cloned()
            .collect();
        others.sort();
        others.dedup();
        let tables = |names: &[String]| -> Vec<MapTable> {
            let names = names.iter().filter(is_map);
            names.map(|name| read_table(roots, name)).collect()
        };
        Self {
            own: tables(&own),
            others: tables(&others),
        }
    }
}

/// The tables of what a medium consists of; none for a regular file, whose file system moves with
/// its devices.
pub(super) fn own_tables(roots: &SysPaths, medium: &OpenMedium) -> Vec<MapTable> {
    let device = medium.target.drive.as_ref().map(|drive| drive.name.clone());
    if medium.target.kind != TargetKind::BlockDevice {
        return Vec::new();
    }
    // Where the stack cannot be read, no check while writing succeeds either.
    let stack = read_stack(&roots.sys.join("class/block"), device).unwrap_or_default();
    MapTables::read(roots, &stack).own
}

fn read_table(roots: &SysPaths, name: &str) -> MapTable {
    let number = read_device_number(&roots.sys.join("class/block").join(name));
    let layout = number.and_then(|number| read_table_layout(roots, number).ok());
    (name.to_owned(), layout)
}

/// A device and all that it is on, with the devices on each of them.
pub(super) fn read_stack(
    directory: &Path,
    device: Option<String>,
) -> io::Result<Vec<DeviceHolders>> {
    let mut below: Vec<String> = device.into_iter().collect();
    let mut found = Vec::new();
    while let Some(name) = below.get(found.len()).cloned() {
        let device_directory = directory.join(&name);
        let lower = list_directory(&device_directory.join("slaves"))?.into_iter();
        let lower = lower
            .chain(siblings::whole_disk_name(&device_directory))
            .chain(siblings::backing_device(&device_directory));
        for one in lower {
            if !below.contains(&one) {
                below.push(one);
            }
        }
        let holders = list_directory(&device_directory.join("holders"))?;
        found.push((name, holders));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_below_the_medium_and_beside_it_are_read() {
        let stack = |name: &str, holders: &[&str]| -> DeviceHolders {
            let holders = holders.iter().map(ToString::to_string).collect();
            (name.to_owned(), holders)
        };
        let (_tree, roots) = SysPaths::with_files(&[]);
        let found = MapTables::read(
            &roots,
            &[
                stack("dm-2", &[]),
                stack("dm-1", &["dm-2", "dm-3"]),
                stack("sda1", &["dm-1", "dm-4", "md0"]),
                stack("sda", &["dm-4"]),
            ],
        );
        let names = |tables: &[MapTable]| -> Vec<String> {
            tables.iter().map(|(name, _)| name.clone()).collect()
        };
        assert_eq!(names(&found.own), ["dm-2", "dm-1"]);
        assert_eq!(names(&found.others), ["dm-3", "dm-4"]);
    }
}
