//! Partitions that contain sectors of the partition table of their disk.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::process::{Command, Output};

use crate::guard::sandbox::{
    GuardSandbox, assert_refused, assert_written, command_output, overwrite_command, run_overwrite,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

/// Size of the disk in bytes.
const DISK_BYTES: u64 = 64 << 20;

/// A disk of its own with the partitions of that script of sfdisk(8); `count` of them are shown.
fn partitioned_disk(sandbox: &GuardSandbox, script: &str, count: usize) -> Option<LoopDevice> {
    let image = sandbox.path("disk");
    let file = File::create(&image).unwrap();
    file.set_len(DISK_BYTES).unwrap();
    let command = format!("printf '{script}' | sfdisk -q {}", image.display());
    if command_output("sh", &["-c", &command]).is_none() {
        skip(Requirement::Program, "no sfdisk");
        return None;
    }
    // Without holes, which would need space.
    let size = DISK_BYTES.to_string();
    let path = image.to_str().unwrap();
    command_output("fallocate", &["--length", &size, path]).unwrap();
    attach(&image, count)
}

fn attach(image: &std::path::Path, count: usize) -> Option<LoopDevice> {
    let device = LoopDevice::attach(image, &["--partscan"])?;
    let shown = || {
        let directory = format!("/sys/class/block/{}", device.name());
        let entries = std::fs::read_dir(directory).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(device.name())).count()
    };
    // losetup(8) returns when the kernel has read the table.
    if shown() != count {
        skip(
            Requirement::Partitions,
            "no partitions on loop devices here",
        );
        return None;
    }
    Some(device)
}

/// Overwrites with single sectors: an extended partition has two.
fn overwrite_sectors(path: &str) -> Output {
    let mut command: Command = overwrite_command(
        path.as_ref(),
        &["--overwrite-signatures", "--block-size", "512"],
    );
    command.args(["--requests", "20"]).output().unwrap()
}

/// Whoever holds a partition as a mounted file system does.
fn hold(path: &str) -> File {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_EXCL);
    options.open(path).unwrap()
}

#[test]
fn partition_whose_type_tells_its_content_needs_consent_to_that() {
    for (script, content) in [
        (
            "label: gpt\\nsize=8192, type=21686148-6449-6E6F-744E-656564454649\\nsize=8192\\n",
            "boot loader (BIOS boot)",
        ),
        (
            "label: dos\\nsize=8192, type=42\\nsize=8192\\n",
            "dynamic disk of Windows",
        ),
    ] {
        let sandbox = GuardSandbox::new();
        let Some(disk) = partitioned_disk(&sandbox, script, 2) else {
            return;
        };
        let part = |number: u32| format!("{}p{number}", disk.path());
        let mut command = overwrite_command(part(1).as_ref(), &["--requests", "20"]);
        assert_refused(&command.output().unwrap(), content);
        command.arg("--overwrite-signatures");
        assert_written(&command.output().unwrap());
        // A type that says nothing about its content.
        let mut command = overwrite_command(part(2).as_ref(), &["--requests", "20"]);
        assert_written(&command.output().unwrap());
    }
}

#[test]
fn extended_partition_is_refused_while_a_logical_one_is_used() {
    let sandbox = GuardSandbox::new();
    let script = "label: dos\\nstart=2048, size=8192, type=83\\nstart=16384, size=80000, type=5\\n\
                  start=18432, size=8192, type=83\\nstart=40960, size=8192, type=83\\n";
    let Some(disk) = partitioned_disk(&sandbox, script, 4) else {
        return;
    };
    let part = |number: u32| format!("{}p{number}", disk.path());
    let lost = format!(
        "partition table of {}, without which {}p5",
        disk.name(),
        disk.name()
    );
    let before = std::fs::read(disk.file()).unwrap();
    for used in [
        hold(&part(5)),
        OpenOptions::new().write(true).open(part(5)).unwrap(),
    ] {
        assert_refused(&overwrite_sectors(&part(2)), &lost);
        assert_written(&run_overwrite(part(1)));
        assert_written(&run_overwrite(part(6)));
        drop(used);
    }
    let table = 16384 * 512..16386 * 512;
    let now = std::fs::read(disk.file()).unwrap();
    assert!(now[table.clone()] == before[table.clone()]);
    // Nothing is lost but what consent names.
    let used = hold(&part(1));
    assert_written(&overwrite_sectors(&part(2)));
    drop(used);
}

#[test]
fn partition_from_the_first_sector_is_refused_while_another_one_is_used() {
    let sandbox = GuardSandbox::new();
    let script = "label: dos\\nstart=2048, size=8192, type=17\\nstart=40960, size=8192, type=83\\n";
    let Some(disk) = partitioned_disk(&sandbox, script, 2) else {
        return;
    };
    // As the images of CDs have it (isohybrid); sfdisk refuses that.
    let image = disk.file().to_owned();
    drop(disk);
    let file = OpenOptions::new().write(true).open(&image).unwrap();
    file.write_all_at(&0_u32.to_le_bytes(), 446 + 8).unwrap();
    file.sync_all().unwrap();
    let Some(disk) = attach(&image, 2) else {
        return;
    };
    let part = |number: u32| format!("{}p{number}", disk.path());
    let used = hold(&part(2));
    assert_refused(
        &overwrite_sectors(&part(1)),
        "sectors of the partition table",
    );
    drop(used);
    let used = hold(&part(1));
    assert_written(&run_overwrite(part(2)));
    drop(used);
    assert_written(&overwrite_sectors(&part(1)));
}

#[test]
fn partitions_up_to_both_tables_of_a_gpt_are_written_while_another_one_is_used() {
    let sandbox = GuardSandbox::new();
    let script = "label: gpt\\nfirst-lba: 34\\nlast-lba: 131038\\nstart=34, size=8000\\n\
                  start=10000, size=8192\\nstart=40960, size=90079\\n";
    let Some(disk) = partitioned_disk(&sandbox, script, 3) else {
        return;
    };
    let part = |number: u32| format!("{}p{number}", disk.path());
    let used = hold(&part(2));
    assert_written(&run_overwrite(part(1)));
    assert_written(&run_overwrite(part(3)));
    drop(used);
}
