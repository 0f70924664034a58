//! Staged faults.

use std::fs::File;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::{Load, codes_of_device, diagnosis, draw, first_code};
use crate::control_group::TestCgroup;
use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::process::wait_until;
use crate::requirement::{Requirement, skip};
use crate::slow_disk::{Operation, SlowDisk};

pub const MIB: u64 = 1 << 20;

/// A loop device of that size whose file is allocated, with direct I/O.
pub fn disk(directory: &Path, size: u64) -> Option<LoopDevice> {
    let path = directory.join("disk");
    let file = File::create(&path).unwrap();
    let allocated = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size);
    if let Err(error) = allocated {
        skip(Requirement::Files, error);
        return None;
    }
    LoopDevice::attach(&path, &["--direct-io=on"])
}

pub fn own_directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

#[test]
fn limit_of_control_group_is_named_first() {
    let directory = own_directory();
    let Some(device) = disk(directory.path(), 256 * MIB) else {
        return;
    };
    let limit = draw(1_000_000, 6_000_000);
    let Some(group) = TestCgroup::with_read_limit(device.number(), limit) else {
        return;
    };
    let load = Load::shell([group.command(&format!(
        "exec dd if={} of=/dev/null bs=128K iflag=direct",
        device.path()
    ))]);
    let document = diagnosis("6s");
    drop(load);
    let code = first_code(&document, device.path());
    assert_eq!(code, Some("cgroup-throttled"), "{limit} {document:#}");
}

#[test]
fn limit_that_one_request_exceeds_is_named_before_the_process_that_hangs() {
    let directory = own_directory();
    let Some(device) = disk(directory.path(), 64 * MIB) else {
        return;
    };
    // A request of 128 KiB takes 16 s and longer: the rate is 0 in most seconds.
    let limit = draw(2_000, 8_000);
    let Some(group) = TestCgroup::with_read_limit(device.number(), limit) else {
        return;
    };
    let load = Load::shell([group.command(&format!(
        "exec dd if={} of=/dev/null bs=128K iflag=direct",
        device.path()
    ))]);
    let document = diagnosis("11s");
    group.lift_read_limit(device.number());
    drop(load);
    let codes = codes_of_device(&document, device.path());
    assert_eq!(
        codes.first(),
        Some(&"cgroup-throttled"),
        "{limit} {document:#}"
    );
}

#[test]
fn synchronous_writers_are_a_sync_storm() {
    let directory = own_directory();
    let Some(device) = disk(directory.path(), 256 * MIB) else {
        return;
    };
    let writers = draw(5, 10);
    let load = Load::shell((0..writers).map(|writer| {
        format!(
            "exec dd if=/dev/zero of={} bs=4k seek={} count=1000000 oflag=direct,dsync conv=notrunc",
            device.path(),
            writer * 6000
        )
    }));
    let document = diagnosis("8s");
    let pids = load.pids();
    drop(load);
    let code = first_code(&document, device.path());
    assert!(
        matches!(code, Some("sync-storm" | "device-saturated")),
        "{writers} {document:#}"
    );
    let causes = document["causes"].as_array().unwrap();
    let cause = causes
        .iter()
        .find(|cause| cause["code"] == code.unwrap())
        .unwrap();
    let victim = cause["victims"][0]["pid"].as_u64().unwrap();
    assert!(pids.contains(&victim), "{document:#}");
}

#[test]
fn device_whose_requests_take_seconds_is_slow() {
    let Some(slow) = SlowDisk::mount() else {
        return;
    };
    let Some(device) = LoopDevice::attach(&slow.file(), &["--direct-io=on"]) else {
        return;
    };
    slow.slow_down(Operation::Read);
    let load = Load::shell([format!(
        "exec dd if={} of=/dev/null bs=4k iflag=direct",
        device.path()
    )]);
    wait_until("a read waits", || slow.is_waited_for(Operation::Read));
    let document = diagnosis("13s");
    slow.be_quick();
    drop(load);
    let code = first_code(&document, device.path());
    assert_eq!(code, Some("device-slow"), "{document:#}");
}

#[test]
fn server_that_does_not_answer_is_stalled() {
    let Some(slow) = SlowDisk::mount() else {
        return;
    };
    slow.slow_down(Operation::Read);
    let load = Load::shell([format!(
        "exec dd if={} of=/dev/null bs=4k",
        slow.file().display()
    )]);
    wait_until("a read waits", || slow.is_waited_for(Operation::Read));
    let document = diagnosis("11s");
    let pid = load.pids()[0];
    slow.be_quick();
    drop(load);
    let causes = document["causes"].as_array().unwrap().iter();
    let stalled: Vec<_> = causes
        .filter(|cause| cause["code"] == "fuse-or-network-stalled")
        .collect();
    assert_eq!(stalled.len(), 1, "{document:#}");
    let victims = stalled[0]["victims"].as_array().unwrap();
    assert!(
        victims.iter().any(|victim| victim["pid"] == pid),
        "{document:#}"
    );
}

#[test]
fn server_that_does_not_answer_is_the_one_whose_file_is_read() {
    let (Some(healthy), Some(slow)) = (SlowDisk::mount(), SlowDisk::mount()) else {
        return;
    };
    slow.serve_in_parallel(Duration::from_secs(15));
    let load = Load::shell([format!(
        "exec dd if={} of=/dev/null bs=4k 3<{}",
        slow.file().display(),
        healthy.file().display()
    )]);
    let document = diagnosis("7s");
    let pid = load.pids()[0];
    let causes = document["causes"].as_array().unwrap();
    let is_stalled = |cause: &&Value| cause["code"] == "fuse-or-network-stalled";
    let stalled = causes.iter().find(is_stalled).unwrap();
    let mut remedies = stalled["remedies"].as_array().unwrap().iter();
    let command =
        remedies.find_map(|it| it["command"].as_str()?.split_once(" && umount -f -l -- "));
    let is_met = || {
        let (condition, _) = command.unwrap();
        let shell = Command::new("sh").args(["-c", condition]).status();
        shell.unwrap().success()
    };
    let unmounts = |disk: &SlowDisk| {
        let directory = disk.directory();
        command.is_some_and(|(_, place)| Path::new(place) == directory)
    };
    // The servers of other tests may be slow at the same time.
    let victims = stalled["victims"].as_array().unwrap();
    let is_alone = victims.iter().all(|victim| victim["pid"] == pid);
    let while_waiting = is_alone && unmounts(&slow) && is_met();
    slow.be_quick();
    drop(load);
    assert!(!unmounts(&healthy), "{document:#}");
    assert_eq!(while_waiting, is_alone, "{document:#}");
    assert!(!is_alone || !is_met(), "{document:#}");
}

#[test]
fn file_system_without_space_is_named_with_its_mount_point() {
    let directory = own_directory();
    let Some(device) = disk(directory.path(), draw(64, 128) * MIB) else {
        return;
    };
    let Some(file_system) = LoopFileSystem::on(device, "ext4", &[], Requirement::Ext4) else {
        return;
    };
    let place = file_system.mount_point();
    let load = Load::shell([format!(
        "dd if=/dev/zero of={0}/big bs=1M; while :; do echo x > {0}/more; sync {0}/more; sleep 0.2; done",
        place.display()
    )]);
    wait_until("it is full", || {
        rustix::fs::statvfs(place).is_ok_and(|it| it.f_bavail == 0)
    });
    let document = diagnosis("4s");
    drop(load);
    wait_until("it is unmounted", || file_system.unmount().is_ok());
    let code = first_code(&document, file_system.device().path());
    assert_eq!(code, Some("file-system-full"), "{document:#}");
    let causes = document["causes"].as_array().unwrap().iter();
    let sentences: Vec<_> = causes
        .map(|cause| cause["sentence"].as_str().unwrap())
        .collect();
    let name = place.to_str().unwrap();
    assert!(sentences.iter().any(|it| it.contains(name)), "{document:#}");
}

#[test]
fn failed_requests_in_the_kernel_log_are_drive_errors() {
    let directory = own_directory();
    let Some(device) = disk(directory.path(), 64 * MIB) else {
        return;
    };
    // Reads beyond the end of the file fail.
    let file = File::options().write(true).open(device.file()).unwrap();
    file.set_len(MIB).unwrap();
    let block = draw(300, 16_000);
    let load = Load::shell([format!(
        "while :; do dd if={} of=/dev/null bs=4k count=1 skip={block} iflag=direct; sleep 0.5; done",
        device.path()
    )]);
    let document = diagnosis("5s");
    drop(load);
    let codes = codes_of_device(&document, device.path());
    assert_eq!(codes.first(), Some(&"drive-errors"), "{block} {document:#}");
}

#[test]
fn busy_processors_are_not_io() {
    let count = std::thread::available_parallelism().unwrap().get() * 3;
    let load = Load::shell((0..count).map(|_| "while :; do :; done".to_owned()));
    let document = diagnosis("13s");
    drop(load);
    let causes = document["causes"].as_array().unwrap();
    let found = causes.iter().any(|cause| cause["code"] == "not-io");
    // Unless other load waits for I/O at the same time: then the processors are not the only limit.
    let waits = document["evidence"]
        .as_array()
        .unwrap()
        .iter()
        .any(|it| it["name"] == "io_pressure_some" && it["value"].as_f64() >= Some(0.2));
    assert!(found || waits, "{document:#}");
}
