//! Who uses a device or a file. The one answer to "is it in use?": for refusals, the question before an overwrite,
//! the list of devices, and "safe to unplug".

use std::io;

use crate::drive::guard::exports;
use crate::drive::guard::processes::ProcessScan;
use crate::drive::guard::stack::Stack;
use crate::drive::guard::uses::{Subject, UnknownUse, Usage, User, Uses};
use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::btrfs_of_device;
use crate::drive::medium::OpenMedium;
use crate::drive::mounts;
use crate::roots::SysPaths;

/// Finds the users of devices or of a file. Opens none of them; loop devices are opened for their status.
#[must_use]
pub fn find_users(roots: &SysPaths, subject: Subject<'_>) -> Uses {
    let stack = Stack::new(roots, subject);
    let mut uses = Uses::of_kernel(roots, &stack);
    let mut scan = ProcessScan::new(roots, &stack);
    while scan.examine_next() {}
    uses.add_scan(scan);
    uses
}

/// As [`find_users`], without processes.
#[must_use]
pub fn find_kernel_users(roots: &SysPaths, subject: Subject<'_>) -> Uses {
    Uses::of_kernel(roots, &Stack::new(roots, subject))
}

/// As [`find_users`], for an open medium.
pub(super) fn find_users_of_medium(roots: &SysPaths, medium: &OpenMedium) -> Uses {
    let device = medium.device_number().and(medium.target.drive.as_ref());
    match device {
        Some(device) => find_users(roots, Subject::Devices(&[&device.name])),
        None => find_users(roots, Subject::File(medium.file_id(), &medium.target.name)),
    }
}

impl Uses {
    /// What the kernel tells of a stack.
    fn of_kernel(roots: &SysPaths, stack: &Stack) -> Self {
        let mut uses = Self::default();
        uses.add_claims(roots, stack);
        uses.add_unclaimed(roots, stack);
        uses
    }

    /// What claims devices: named for the message, the kernel enforces it.
    fn add_claims(&mut self, roots: &SysPaths, stack: &Stack) {
        let mounted = mounts::mounts(roots);
        let swapped = mounts::swaps(roots);
        self.note_error(roots, "self/mountinfo", mounted.as_ref().err());
        self.note_error(roots, "swaps", swapped.as_ref().err());
        let (mounted, swapped) = (mounted.unwrap_or_default(), swapped.unwrap_or_default());
        for (name, number) in stack.claimable() {
            for mount in mounted.iter().filter(|mount| mount.is_on(number)) {
                let at = sanitized(&mount.mount_point);
                self.add(name, Usage::Mounted { at });
            }
            if swapped.iter().any(|swap| swap.number == Some(number)) {
                self.add(name, Usage::Swap);
            }
            if let Some((uuid, _)) = btrfs_of_device(roots, name) {
                let file_system = format!("btrfs {uuid}");
                self.add(name, Usage::FileSystemMember { file_system });
            }
        }
        for (device, by) in &stack.holders {
            self.add(device, Usage::Stacked { by: by.clone() });
        }
    }

    /// What uses devices and files without a claim, and without a descriptor of a process.
    pub(super) fn add_unclaimed(&mut self, roots: &SysPaths, stack: &Stack) {
        self.unknown.extend(stack.unknown.iter().cloned());
        for (device, by) in &stack.attached_loops {
            self.add(device, Usage::Loop { by: by.clone() });
        }
        let exports = exports::list_exports(roots);
        for export in exports.exports {
            if let Some(device) = stack.name_of(export.target) {
                self.add(device, Usage::Export { by: export.by });
            }
        }
        let unknown = exports.unknown.into_iter();
        self.unknown
            .extend(unknown.map(|by| UnknownUse::Exports { by }));
    }

    /// What a complete scan of the processes found.
    pub(super) fn add_scan(&mut self, scan: ProcessScan<'_>) {
        let (found, unknown) = scan.finish();
        self.users.extend(found);
        self.unknown.extend(unknown);
    }

    /// Adds a user, each once.
    pub(super) fn add(&mut self, device: &str, usage: Usage) {
        let user = User::new(device, usage);
        if !self.users.contains(&user) {
            self.users.push(user);
        }
    }

    fn note_error(&mut self, roots: &SysPaths, file: &str, error: Option<&io::Error>) {
        if let Some(error) = error {
            self.unknown.push(UnknownUse::Table {
                path: roots.proc.join(file).display().to_string(),
                error: error.to_string(),
            });
        }
    }
}
