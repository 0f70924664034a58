//! How the drive is attached and set up, as far as verdicts care.

use crate::drive::{Drive, DriveKind, Target, advice};
use crate::session::document::Setup;

/// File systems that are memory.
const IN_MEMORY: [&str; 3] = ["tmpfs", "ramfs", "devtmpfs"];
/// What hypervisors call their disks.
const VIRTUAL_MODELS: [&str; 6] = [
    "QEMU",
    "VBOX",
    "VMware",
    "Virtual disk",
    "Virtual Disk",
    "Msft",
];

/// The facts of a target whose devices are these, from top to bottom; `hypervisor` is the
/// machine's, where it has one.
#[must_use]
pub fn setup(target: &Target, stack: &[&Drive], hypervisor: Option<&str>) -> Setup {
    let top = stack.first();
    let backed = stack.iter().find(|drive| drive.kind == DriveKind::Loop);
    let queued = |drive: &&&Drive| matches!(drive.kind, DriveKind::Disk | DriveKind::Loop);
    let scheduled = stack.iter().find(queued);
    let link = stack.iter().find_map(|drive| drive.details.link.as_ref());
    let parallel = [
        link.and_then(|link| link.parallel_requests),
        stack.iter().find_map(|drive| drive.queue_depth),
    ];
    Setup {
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
        parallel_requests: parallel.into_iter().flatten().min(),
        link: link.map(|link| link.name.clone()).map(Into::into),
        link_bytes_per_s: link.map(|link| link.ceiling_bytes_per_s),
        backing_file: backed
            .and_then(|drive| drive.backing_file.clone())
            .map(Into::into),
        direct_io: backed.and_then(|drive| drive.details.direct_io),
        virtual_disk: stack
            .iter()
            .find_map(|drive| virtual_disk(drive, hypervisor))
            .map(Into::into),
        memory: memory(target, top.copied()).map(Into::into),
    }
}

fn scheduler_advice(drive: &Drive) -> Option<String> {
    let all = advice::advise(drive, &[], None);
    let about = all.into_iter().find(|advice| advice.code == "scheduler")?;
    Some(format!(
        "{}: {} ({})",
        drive.name, about.reason, about.command
    ))
}

/// What makes a drive for one of a hypervisor.
fn virtual_disk(drive: &Drive, hypervisor: Option<&str>) -> Option<String> {
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

fn memory(target: &Target, top: Option<&Drive>) -> Option<String> {
    let file_system = target.file_system.as_deref();
    let by_file_system = file_system
        .filter(|kind| IN_MEMORY.contains(kind))
        .map(|kind| format!("its file system is {kind}"));
    let by_device = top
        .filter(|drive| drive.kind == DriveKind::Memory)
        .map(|drive| format!("{} is a part of memory", drive.name));
    by_file_system.or(by_device)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{self, Choice};
    use crate::roots::Roots;

    fn target() -> Target {
        let opened = engine::open(&Roots::default(), "sim:constant", Choice::Auto, None);
        opened.unwrap().target
    }

    fn drive(change: impl FnOnce(&mut Drive)) -> Drive {
        let mut drive = target().drive.unwrap();
        change(&mut drive);
        drive
    }

    #[test]
    fn virtual_disks_are_known_by_transport_or_name() {
        let virtio = drive(|it| it.transport = Some("virtio".to_owned()));
        let named = drive(|it| it.model = Some("VMware Virtual S".to_owned()));
        let found = |drive: &Drive| setup(&target(), &[drive], Some("KVM")).virtual_disk;
        assert_eq!(
            found(&virtio).as_deref(),
            Some("sim:constant is attached by virtio, in KVM")
        );
        assert!(found(&named).unwrap().contains("VMware"));
        assert_eq!(found(&drive(|_| {})), None);
    }

    #[test]
    fn facts_come_from_whichever_layer_has_them() {
        let part = drive(|it| {
            it.kind = DriveKind::Partition;
            it.aligned = Some(false);
        });
        let whole = drive(|it| {
            it.queue_depth = Some(32);
            it.rotation_rate = Some(7200);
            it.rotational = Some(true);
            it.scheduler = Some("none".to_owned());
            it.details.schedulers = vec!["none".to_owned(), "mq-deadline".to_owned()];
        });
        let facts = setup(&target(), &[&part, &whole], None);
        assert_eq!(facts.aligned, Some(false));
        assert_eq!(
            (facts.parallel_requests, facts.rotation_rate),
            (Some(32), Some(7200))
        );
        assert!(facts.scheduler_advice.unwrap().contains("mq-deadline"));
        assert_eq!(setup(&target(), &[], None), Setup::default());
    }

    #[test]
    fn memory_is_no_drive() {
        let mut on_tmpfs = target();
        on_tmpfs.file_system = Some("tmpfs".to_owned());
        assert!(
            setup(&on_tmpfs, &[], None)
                .memory
                .unwrap()
                .contains("tmpfs")
        );
        let zram = drive(|it| it.kind = DriveKind::Memory);
        assert!(setup(&target(), &[&zram], None).memory.is_some());
    }
}
