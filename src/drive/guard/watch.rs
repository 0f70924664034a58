//! Notices that a medium comes into use while it is written, or that it is another one. A block
//! device is held, but nothing keeps anybody from attaching a loop device to a regular file, from
//! mounting it, from opening either for writing, or from changing the medium in a drive.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec};

use crate::drive::error::DriveError;
use crate::drive::guard::conflicts::exports;
use crate::drive::guard::conflicts::exports::ExportedTarget;
use crate::drive::guard::conflicts::medium_usage::SearchDepth;
use crate::drive::guard::conflicts::use_conflict::UnresolvedUse;
use crate::drive::guard::device_keys::{self, DeviceKey, read_if_present};
use crate::drive::guard::map_tables::{DeviceHolders, MapTable, MapTables, read_stack};
use crate::drive::guard::medium_change::MediumChange;
use crate::drive::guard::process_watch::ProcessWatch;
use crate::drive::guard::refusal::Refusal;
use crate::drive::guard::usage_check::check_unused;
use crate::drive::guard::write_permit::KnownUse;
use crate::drive::identity::sysfs::list_directory;
use crate::drive::medium::TargetKind;
use crate::drive::medium::identity_change::IdentityChange;
use crate::drive::medium::open_medium::OpenMedium;
use crate::roots::SysPaths;

/// Watches a medium that is being written. Asked several times a second.
#[derive(Debug)]
pub struct WriteWatch {
    sys_paths: SysPaths,
    medium: Arc<OpenMedium>,
    /// The table of mounts, which can be polled for changes (proc_pid_mountinfo(5)).
    mounts: Option<File>,
    /// As of the last look; `None` before the first one.
    tables: Option<KernelTables>,
    /// The tables of device-mapper, and the number of the kernel's events before they were read.
    maps: Option<(Vec<u8>, MapTables)>,
    /// What was known when the permit was given.
    known_use: Arc<KnownUse>,
    /// Looks in succession that took too long.
    consecutive_slow_checks: u32,
    /// Looks for processes that open the medium; `None` where nobody else can.
    processes: Option<ProcessWatch>,
}

impl WriteWatch {
    /// Begins to watch, with what was known when the permit was given.
    #[must_use]
    pub(crate) fn new(roots: &SysPaths, medium: &Arc<OpenMedium>, known: Arc<KnownUse>) -> Self {
        Self {
            sys_paths: roots.clone(),
            medium: Arc::clone(medium),
            mounts: File::open(roots.proc.join("self/mountinfo")).ok(),
            // What changed since the permit was given is looked at the first time.
            tables: None,
            maps: None,
            known_use: known,
            consecutive_slow_checks: 0,
            processes: None,
        }
    }

    /// Begins to look for processes that open the medium. A scratch file has no name by which they
    /// could.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn watch_processes(&mut self) -> io::Result<()> {
        if self.medium.target.kind != TargetKind::ScratchFile {
            let watch = ProcessWatch::start(&self.sys_paths, &self.medium, &self.known_use)?;
            self.processes = Some(watch);
        }
        Ok(())
    }

    /// Why writing must stop, when that came up since the last call.
    pub fn check_conflicts(&mut self) -> Option<Refusal> {
        if self.medium.target.kind == TargetKind::ScratchFile {
            // Nobody else can reach it.
            return None;
        }
        if let Some(change) = self.changed_medium() {
            return Some(self.medium_changed(change));
        }
        if let Some(refusal) = self.processes.as_mut().and_then(ProcessWatch::check) {
            return Some(refusal);
        }
        if !self.has_changed() {
            return None;
        }
        if let Some(processes) = &self.processes {
            processes.tables_changed();
        }
        if let Some(change) = self.changed_device() {
            return Some(self.medium_changed(change));
        }
        check_unused(
            &self.sys_paths,
            &self.medium,
            SearchDepth::KernelTablesOnly,
            &self.known_use,
        )
        .err()
        .or_else(|| self.replaced_table())
    }

    /// How the device differs from the one that was opened. The descriptor says it, whatever has its
    /// name in sysfs by now. That others cannot mount a new medium is no protection of it: it is
    /// this program that holds it.
    fn changed_medium(&self) -> Option<IdentityChange> {
        match self.medium.device_changed_since_opened() {
            // It was removed: every request fails, and says why.
            Some(IdentityChange::Size(_, 0)) => None,
            change => change,
        }
    }

    /// How a device that the medium is on differs from what it was when the permit was given.
    fn changed_device(&self) -> Option<IdentityChange> {
        let tables = self.tables.as_ref()?;
        device_keys::first_difference(&self.known_use.own_devices, &tables.devices)
    }

    fn medium_changed(&self, change: IdentityChange) -> Refusal {
        Refusal::MediumChangedWhileWriting {
            name: self.medium.target.name.clone(),
            change: MediumChange::Identity(change),
        }
    }

    /// A device-mapper device that the medium consists of got another table.
    fn replaced_table(&self) -> Option<Refusal> {
        let (_, maps) = self.maps.as_ref()?;
        let before = &self.known_use.own_tables;
        let differs = |name: &String| {
            let find = |tables: &[MapTable]| tables.iter().find(|it| it.0 == *name).cloned();
            find(&maps.own) != find(before)
        };
        let names = maps.own.iter().chain(before).map(|(name, _)| name);
        let device = names.into_iter().find(|name| differs(name))?.clone();
        Some(Refusal::Unresolved {
            name: self.medium.target.name.clone(),
            unresolved: vec![UnresolvedUse::ReplacedTable { device }],
        })
    }

    /// Counts a look; yields how many in succession were slow.
    pub(crate) fn count_slow_check(&mut self, is_slow: bool) -> u32 {
        self.consecutive_slow_checks = if is_slow {
            self.consecutive_slow_checks + 1
        } else {
            0
        };
        self.consecutive_slow_checks
    }

    /// Why a target must not be written any more that cannot be watched.
    #[must_use]
    pub(crate) fn unwatchable_error(name: &str, reason: &'static str) -> DriveError {
        DriveError::Refused(Refusal::Unresolved {
            name: name.to_owned(),
            unresolved: vec![UnresolvedUse::UseWhileWriting { reason }],
        })
    }

    /// Whether anything was mounted, attached, set up or swapped to since the last call. What cannot
    /// be read counts as changed: then everything is looked at.
    fn has_changed(&mut self) -> bool {
        let drive = self.medium.target.drive.as_ref();
        let device = drive.map(|drive| drive.name.clone());
        let tables = KernelTables::read(&self.sys_paths, device).ok();
        let same = tables.is_some() && tables == self.tables;
        self.tables = tables;
        let same_maps = self.maps_are_unchanged(same);
        !same || !same_maps || self.mounts_changed()
    }

    /// Whether no device-mapper device around the medium got another table since the last call.
    /// The kernel sends an event whenever a device starts to use a table: while the number of
    /// events is the same, the tables are not read.
    fn maps_are_unchanged(&mut self, same_stack: bool) -> bool {
        if self.medium.target.kind != TargetKind::BlockDevice {
            return true;
        }
        // Kernel tables that cannot be read count as changed anyway.
        let Some(tables) = &self.tables else {
            return true;
        };
        if !tables.has_map() && self.known_use.own_tables.is_empty() {
            self.maps = None;
            return true;
        }
        let events = fs::read(self.sys_paths.sys.join("kernel/uevent_seqnum")).unwrap_or_default();
        if let Some((before, _)) = &self.maps
            && same_stack
            && !events.is_empty()
            && *before == events
        {
            return true;
        }
        let maps = MapTables::read(&self.sys_paths, &tables.holders);
        let before = self.maps.replace((events, maps));
        before.as_ref().map(|(_, maps)| maps) == self.maps.as_ref().map(|(_, maps)| maps)
    }

    fn mounts_changed(&self) -> bool {
        let Some(mounts) = &self.mounts else {
            return true;
        };
        let borrowed = mounts.as_fd();
        let mut polled = [PollFd::new(&borrowed, PollFlags::PRI)];
        let now = Timespec::default();
        // An error that cannot be distinguished from a change counts as one.
        rustix::event::poll(&mut polled, Some(&now)).is_err() || !polled[0].revents().is_empty()
    }
}

/// What says whether anything came up that may use a medium.
#[derive(Debug, PartialEq, Eq)]
struct KernelTables {
    /// Every block device, of whatever kind.
    devices: Vec<DeviceKey>,
    /// What is on each device that the medium is on.
    holders: Vec<DeviceHolders>,
    /// File systems that are mounted from files, also in other mount namespaces.
    mounted_files: Vec<String>,
    swaps: Vec<u8>,
    /// What the kernel serves to other machines: it opens devices without holding them.
    exports: Vec<ExportedTarget>,
}

impl KernelTables {
    /// Whether the medium is on a device-mapper device, or beside one.
    fn has_map(&self) -> bool {
        let names = |(name, holders): &DeviceHolders| {
            std::iter::once(name)
                .chain(holders)
                .any(|name| name.starts_with("dm-"))
        };
        self.holders.iter().any(names)
    }

    /// Reads the tables for a medium on that device.
    fn read(roots: &SysPaths, own: Option<String>) -> io::Result<Self> {
        let directory = roots.sys.join("class/block");
        let names = list_directory(&directory)?;
        Ok(Self {
            devices: names
                .into_iter()
                .map(|name| DeviceKey::read(&directory, name))
                .collect::<io::Result<_>>()?,
            holders: read_stack(&directory, own)?,
            mounted_files: list_directory(&roots.sys.join("fs/erofs"))?,
            swaps: read_if_present(&roots.proc.join("swaps"))?,
            exports: exports::list_exports(roots),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn export_that_is_enabled_changes_the_tables() {
        let tree = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(tree.path());
        let space = roots
            .sys
            .join("kernel/config/nvmet/subsystems/one/namespaces/1");
        fs::create_dir_all(&space).unwrap();
        fs::write(space.join("device_path"), "/dev/sdb\n").unwrap();
        fs::write(space.join("enable"), "0\n").unwrap();
        let read = || KernelTables::read(&roots, None).unwrap();
        let before = read();
        assert_eq!(before, read());
        fs::write(space.join("enable"), "1\n").unwrap();
        assert_ne!(before, read());
    }

    #[test]
    fn export_of_another_path_changes_the_tables() {
        let (_tree, roots) = SysPaths::with_files(&[
            (
                "sys/kernel/config/nvmet/subsystems/one/namespaces/1/device_path",
                "tmp/one\n",
            ),
            (
                "sys/kernel/config/nvmet/subsystems/one/namespaces/1/enable",
                "1\n",
            ),
        ]);
        let read = || KernelTables::read(&roots, None).unwrap();
        let before = read();
        let space = "kernel/config/nvmet/subsystems/one/namespaces/1";
        fs::write(roots.sys.join(space).join("device_path"), "tmp/two\n").unwrap();
        assert_ne!(before, read());
    }

    #[test]
    fn device_that_comes_up_or_is_stacked_below_the_medium_changes_the_tables() {
        let tree = tempfile::tempdir().unwrap();
        let directory = tree.path().join("block");
        let device = |name: &str, file: &str, content: &str| {
            fs::create_dir_all(directory.join(name)).unwrap();
            fs::write(directory.join(name).join(file), content).unwrap();
        };
        let link = |path: &str| fs::create_dir_all(directory.join(path)).unwrap();
        let read = || {
            let names = list_directory(&directory).unwrap().into_iter();
            let devices: Vec<_> = names
                .map(|name| DeviceKey::read(&directory, name).unwrap())
                .collect();
            let holders = read_stack(&directory, Some("dm-0".to_owned())).unwrap();
            (devices, holders)
        };
        device("sda", "diskseq", "1\n");
        device("dm-0", "diskseq", "2\n");
        link("dm-0/slaves/sda");
        link("sda/holders/dm-0");
        let steps: [&dyn Fn(); 5] = [
            &|| device("dm-1", "diskseq", "3\n"),
            &|| link("sda/holders/dm-1"),
            &|| device("md0", "diskseq", "4\n"),
            &|| device("md0", "diskseq", "5\n"),
            &|| link("dm-0/holders/dm-2"),
        ];
        let mut before = read();
        assert_eq!(before, read());
        for (step, change) in steps.iter().enumerate() {
            change();
            let after = read();
            assert_ne!(before, after, "step {step}");
            before = after;
        }
    }
}
