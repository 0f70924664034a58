//! How the drive is attached and configured, as far as the checks depend on it.

use std::path::Path;

use crate::drive::foreign_tree::ForeignTree;
use crate::drive::{BlockDevice, DriveKind, Target};
use crate::session::document::DriveSetup;
use crate::snapshot::advice;

/// File systems that are kept in memory.
const IN_MEMORY_FILE_SYSTEMS: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];
/// Types of file systems in memory (statfs(2)): tmpfs, ramfs, hugetlbfs.
const IN_MEMORY_MAGIC: [u32; 3] = [0x0102_1994, 0x8584_58f6, 0x9584_58f6];
/// Model names that hypervisors give to their disks.
const VIRTUAL_MODELS: [&str; 6] = [
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual disk",
    "Virtual Disk",
    "Msft",
];

/// The setup of a target with these devices, from top to bottom; `hypervisor` is the machine's,
/// where it has one.
#[must_use]
pub fn drive_setup(
    target: &Target,
    stack: &[&BlockDevice],
    hypervisor: Option<&str>,
) -> DriveSetup {
    let top = stack.first();
    let backed = stack.iter().find(|drive| drive.kind == DriveKind::Loop);
    let queued = |drive: &&&BlockDevice| matches!(drive.kind, DriveKind::Disk | DriveKind::Loop);
    let scheduled = stack.iter().find(queued);
    let link = stack.iter().find_map(|drive| drive.details.link.as_ref());
    let parallel = [
        link.and_then(|link| link.max_queue_depth),
        stack.iter().find_map(|drive| drive.queue_depth),
    ];
    DriveSetup {
        capacity_bytes: stack.iter().map(|drive| drive.size_bytes).max(),
        write_cache: stack
            .last()
            .and_then(|drive| drive.write_cache.clone())
            .map(Into::into),
        rotation_rate: stack.iter().find_map(|drive| drive.rotation_rate),
        aligned: stack.iter().filter_map(|drive| drive.aligned).min(),
        scheduler: scheduled
            .and_then(|drive| drive.scheduler.clone())
            .map(Into::into),
        scheduler_advice: scheduled
            .and_then(|drive| scheduler_advice(drive))
            .map(Into::into),
        max_queue_depth: parallel.into_iter().flatten().min(),
        link: link.map(|link| link.name.clone()).map(Into::into),
        link_max_bytes_per_s: link.map(|link| link.max_bytes_per_s),
        backing_file: backed
            .and_then(|drive| drive.backing_file.clone())
            .map(Into::into),
        direct_io: backed.and_then(|drive| drive.details.direct_io),
        virtual_disk: stack
            .iter()
            .find_map(|drive| virtual_disk_evidence(drive, hypervisor))
            .map(Into::into),
        memory_backing: in_memory_evidence(target, top.copied())
            .or_else(|| backing_file_in_memory(backed.copied()?))
            .map(Into::into),
    }
}

fn scheduler_advice(drive: &BlockDevice) -> Option<String> {
    let all = advice::tuning_advice(drive, &[], None);
    let about = all.into_iter().find(|advice| advice.code == "scheduler")?;
    Some(format!(
        "{}: {} ({})",
        drive.name, about.reason, about.command
    ))
}

/// The evidence that a drive belongs to a hypervisor.
fn virtual_disk_evidence(drive: &BlockDevice, hypervisor: Option<&str>) -> Option<String> {
    let by_transport = drive
        .transport
        .as_deref()
        .filter(|it| ["virtio", "xen"].contains(it));
    let model = [drive.vendor.as_deref(), drive.model.as_deref()];
    let by_model = model
        .into_iter()
        .flatten()
        .find(|name| VIRTUAL_MODELS.iter().any(|sign| name.contains(sign)));
    let sign = match (by_transport, by_model) {
        (Some(transport), _) => format!("is attached by {transport}"),
        (None, Some(model)) => format!("calls itself {model}"),
        (None, None) => return None,
    };
    let host = hypervisor.map_or_else(String::new, |name| format!(", in {name}"));
    Some(format!("{} {sign}{host}", drive.name))
}

fn in_memory_evidence(target: &Target, top: Option<&BlockDevice>) -> Option<String> {
    let file_system = target.file_system.as_deref();
    let by_file_system = file_system
        .filter(|kind| IN_MEMORY_FILE_SYSTEMS.contains(kind))
        .map(|kind| format!("its file system is {kind}"));
    let by_device = top
        .filter(|drive| drive.kind == DriveKind::RamDisk)
        .map(|drive| format!("{} is a part of memory", drive.name));
    by_file_system.or(by_device)
}

/// The evidence that the backing file of a loop device lies in memory.
fn backing_file_in_memory(drive: &BlockDevice) -> Option<String> {
    let file = drive.backing_file.as_ref()?;
    let handle = ForeignTree::own().find(Path::new(file)).ok()?.into_handle();
    let found = rustix::fs::fstatfs(handle).ok()?;
    let is_in_memory = IN_MEMORY_MAGIC.contains(&(found.f_type as u32));
    is_in_memory.then(|| format!("the backing file {file} of {} is in memory", drive.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine;
    use crate::engine::EngineChoice;
    use crate::roots::SysPaths;

    fn target() -> Target {
        let opened = engine::open_target(
            &SysPaths::default(),
            "sim:constant",
            EngineChoice::Auto,
            None,
        );
        opened.unwrap().target
    }

    fn changed_drive(change: impl FnOnce(&mut BlockDevice)) -> BlockDevice {
        let mut drive = target().drive.unwrap();
        change(&mut drive);
        drive
    }

    #[test]
    fn virtual_disk_is_detected_by_transport_or_model() {
        let virtio = changed_drive(|it| it.transport = Some("virtio".to_owned()));
        let named = changed_drive(|it| it.model = Some("VMware Virtual S".to_owned()));
        let found =
            |drive: &BlockDevice| drive_setup(&target(), &[drive], Some("KVM")).virtual_disk;
        assert_eq!(
            found(&virtio).as_deref(),
            Some("sim:constant is attached by virtio, in KVM")
        );
        assert!(found(&named).unwrap().contains("VMware"));
        assert_eq!(found(&changed_drive(|_| {})), None);
    }

    #[test]
    fn drive_setup_combines_facts_of_all_layers() {
        let part = changed_drive(|it| {
            it.kind = DriveKind::Partition;
            it.aligned = Some(false);
        });
        let whole = changed_drive(|it| {
            it.queue_depth = Some(32);
            it.rotation_rate = Some(7200);
            it.rotational = Some(true);
            it.scheduler = Some("none".to_owned());
            it.details.schedulers = vec!["none".to_owned(), "mq-deadline".to_owned()];
        });
        let facts = drive_setup(&target(), &[&part, &whole], None);
        assert_eq!(facts.aligned, Some(false));
        assert_eq!(
            (facts.max_queue_depth, facts.rotation_rate),
            (Some(32), Some(7200))
        );
        assert!(facts.scheduler_advice.unwrap().contains("mq-deadline"));
        assert_eq!(drive_setup(&target(), &[], None), DriveSetup::default());
    }

    #[test]
    fn target_in_memory_is_flagged() {
        let mut on_tmpfs = target();
        on_tmpfs.file_system = Some("tmpfs".to_owned());
        assert!(
            drive_setup(&on_tmpfs, &[], None)
                .memory_backing
                .unwrap()
                .contains("tmpfs")
        );
        let zram = changed_drive(|it| it.kind = DriveKind::RamDisk);
        assert!(
            drive_setup(&target(), &[&zram], None)
                .memory_backing
                .is_some()
        );
    }
}
