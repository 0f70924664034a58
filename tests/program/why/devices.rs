//! Staged faults of devices that several processes use, and of settings.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::faults::{MIB, disk, own_directory};
use super::{Load, codes_of_device, diagnosis, draw};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};
use crate::slow_disk::SlowDisk;

/// A device that serves one request after the other, each in that time.
pub(super) fn serial_disk(service: Duration) -> Option<(SlowDisk, LoopDevice)> {
    let slow = SlowDisk::mount()?;
    let device = LoopDevice::attach(&slow.file(), &["--direct-io=on"])?;
    slow.serve_serially(service);
    Some((slow, device))
}

pub(super) fn has_program(name: &str, requirement: Requirement) -> bool {
    let found = Command::new("which").arg(name).output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        skip(requirement, format!("{name} is not installed"));
    }
    found
}

/// The cause with this code of a device.
fn cause<'d>(document: &'d Value, code: &str, device: &LoopDevice) -> Option<&'d Value> {
    let name = device.name();
    let mut causes = document["causes"].as_array().unwrap().iter();
    causes.find(|cause| cause["code"] == code && cause["device"] == name)
}

pub(super) fn names(parties: &Value, pid: u64) -> bool {
    let parties = parties.as_array().unwrap();
    parties.iter().any(|party| party["pid"] == pid)
}

#[test]
fn process_that_keeps_the_queue_full_is_blamed_for_the_wait_of_another() {
    if !has_program("fio", Requirement::Fio) {
        return;
    }
    let service = Duration::from_micros(draw(4_000, 9_000));
    let Some((slow, device)) = serial_disk(service) else {
        return;
    };
    let depth = draw(12, 24);
    let load = Load::shell([
        format!(
            "exec fio --name=culprit --filename={} --rw=randread --bs=4k --direct=1 --ioengine=libaio \
             --iodepth={depth} --thread --time_based --runtime=120 --output=/dev/null",
            device.path()
        ),
        format!(
            "exec dd if={} of=/dev/null bs=4k iflag=direct skip=2000",
            device.path()
        ),
    ]);
    let pids = load.pids();
    let document = diagnosis("9s");
    slow.be_quick();
    drop(load);
    let found = cause(&document, "device-saturated", &device);
    assert!(found.is_some(), "{depth} {service:?} {document:#}");
    let found = found.unwrap();
    assert!(names(&found["who"], pids[0]), "{pids:?} {document:#}");
    assert!(names(&found["victims"], pids[1]), "{pids:?} {document:#}");
    // Where the requests could be traced, they prove it.
    let evidence = found["evidence"].as_array().unwrap();
    let ahead = evidence.iter().find(|it| it["name"] == "requests_ahead");
    if let Some(ahead) = ahead {
        assert!(ahead["value"].as_f64() >= Some(0.5), "{document:#}");
        assert_eq!(found["certainty"], "confirmed", "{document:#}");
    }
}

#[test]
fn maintenance_program_that_others_wait_for_is_named() {
    if !has_program("badblocks", Requirement::Program) {
        return;
    }
    let service = Duration::from_micros(draw(8_000, 14_000));
    let Some((slow, device)) = serial_disk(service) else {
        return;
    };
    // One request of each is in flight: together with that of the program more than a queue of three.
    let reader = format!(
        "exec dd if={} of=/dev/null bs=4k iflag=direct skip=3000",
        device.path()
    );
    let load = Load::shell([
        format!(
            "exec badblocks -p 100 -b 4096 -c 256 {} > /dev/null",
            device.path()
        ),
        reader.clone(),
        reader.clone(),
        reader,
    ]);
    let pids = load.pids();
    let document = diagnosis("9s");
    slow.be_quick();
    drop(load);
    let found = cause(&document, "maintenance", &device);
    assert!(found.is_some(), "{service:?} {document:#}");
    assert!(names(&found.unwrap()["who"], pids[0]), "{document:#}");
}

#[test]
fn check_of_a_file_system_that_others_wait_for_is_maintenance() {
    if !has_program("e2fsck", Requirement::Program) {
        return;
    }
    let Some(slow) = SlowDisk::mount() else {
        return;
    };
    let Some(device) = LoopDevice::attach(&slow.file(), &["--direct-io=on"]) else {
        return;
    };
    if !set_queue(&device, "rotational", "1") {
        return;
    }
    // All inode tables are written and checked.
    let made = Command::new("mkfs.ext4")
        .args([
            "-q",
            "-F",
            "-N",
            "120000",
            "-O",
            "^uninit_bg,^metadata_csum",
        ])
        .args(["-E", "nodiscard,lazy_itable_init=0", device.path()])
        .output();
    assert!(made.unwrap().status.success());
    let flushed = Command::new("blockdev")
        .args(["--flushbufs", device.path()])
        .output();
    assert!(flushed.unwrap().status.success());
    // Slow enough that the check does not end within the window.
    let service = Duration::from_micros(draw(16_000, 22_000));
    slow.serve_serially(service);
    let reader = format!(
        "exec dd if={} of=/dev/null bs=4k iflag=direct skip=9000",
        device.path()
    );
    let load = Load::shell([
        format!("exec e2fsck -f -n {}", device.path()),
        reader.clone(),
        reader.clone(),
        reader,
    ]);
    let pids = load.pids();
    let document = diagnosis("8s");
    slow.be_quick();
    drop(load);
    let found = cause(&document, "maintenance", &device);
    assert!(found.is_some(), "{service:?} {document:#}");
    assert!(names(&found.unwrap()["who"], pids[0]), "{document:#}");
}

/// Sets an attribute of a device's queue.
pub(super) fn set_queue(device: &LoopDevice, setting: &str, value: &str) -> bool {
    let name = device.name();
    let set = fs::write(format!("/sys/block/{name}/queue/{setting}"), value);
    if let Err(error) = &set {
        skip(Requirement::Kernel, format!("queue/{setting}: {error}"));
    }
    set.is_ok()
}

#[test]
fn scheduler_of_a_loop_device_is_unfit() {
    let directory = own_directory();
    let Some(device) = disk(directory.path(), 64 * MIB) else {
        return;
    };
    if !set_queue(&device, "scheduler", "mq-deadline") {
        return;
    }
    let size = draw(1, 16) * 4;
    let load = Load::shell([format!(
        "while :; do dd if={} of=/dev/null bs={size}k iflag=direct; done",
        device.path()
    )]);
    let document = diagnosis("4s");
    drop(load);
    let codes = codes_of_device(&document, device.path());
    assert!(codes.contains(&"setup-unfit"), "{document:#}");
}

#[test]
fn reader_with_one_request_in_flight_on_flash_is_queue_starved() {
    let Some(slow) = SlowDisk::mount() else {
        return;
    };
    let Some(device) = LoopDevice::attach(&slow.file(), &["--direct-io=on"]) else {
        return;
    };
    // Each request takes as long as one of a network disk; it serves many at a time.
    slow.serve_in_parallel(Duration::from_micros(draw(1_500, 3_000)));
    if !set_queue(&device, "rotational", "0") {
        return;
    }
    let load = Load::shell([format!(
        "while :; do dd if={} of=/dev/null bs=4k iflag=direct; done",
        device.path()
    )]);
    let document = diagnosis("6s");
    slow.be_quick();
    drop(load);
    let found = cause(&document, "queue-starved", &device);
    assert!(found.is_some(), "{document:#}");
    assert_eq!(found.unwrap()["severity"], "note");
    // Nothing is wrong with the device itself.
    let codes = codes_of_device(&document, device.path());
    assert!(!codes.contains(&"device-slow"), "{document:#}");
}
