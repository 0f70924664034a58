//! Situations of an ordinary day: work that waits for itself or for its equals, each with the sentence of
//! an expert beside it. Its processes are explained by name.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use super::devices::{has_program, names, serial_disk};
use super::faults::{MIB, disk, own_directory};
use super::memory::SlowWrites;
use super::{Load, diagnosis, draw};
use crate::file_system::LoopFileSystem;
use crate::process::wait_until;
use crate::requirement::Requirement;

/// The first cause that names one of these processes.
fn cause_of<'d>(document: &'d Value, pids: &[u64]) -> Option<&'d Value> {
    let mut causes = document["causes"].as_array().unwrap().iter();
    causes.find(|cause| {
        let named = |pid: &u64| names(&cause["victims"], *pid) || names(&cause["who"], *pid);
        pids.iter().any(named)
    })
}

/// Asserts code and a part of the sentence of what is said of these processes.
fn assert_explained(document: &Value, pids: &[u64], code: &str, part: &str) {
    let found = cause_of(document, pids);
    assert!(found.is_some(), "{pids:?} {document:#}");
    let found = found.unwrap();
    assert_eq!(found["code"], code, "{document:#}");
    let sentence = found["sentence"].as_str().unwrap();
    assert!(sentence.contains(part), "{document:#}");
}

fn fio(device: &str, rest: &str) -> String {
    format!(
        "exec fio --name=reader --filename={device} --bs=4k --direct=1 --thread --time_based \
         --runtime=120 --output=/dev/null {rest}"
    )
}

/// Random readers of a disk: one waits for the arm, several wait for each other.
#[test]
fn random_readers_of_a_disk_are_explained() {
    if !has_program("fio", Requirement::Fio) {
        return;
    }
    for (readers, code, part) in [
        (1, "at-limit", "one request at a time"),
        (2, "device-saturated", "wait for each other"),
        (4, "device-saturated", "wait for each other"),
    ] {
        let Some((slow, device)) = serial_disk(Duration::from_micros(draw(8_000, 12_000))) else {
            return;
        };
        let reader = fio(device.path(), "--rw=randread --ioengine=psync");
        let load = Load::shell((0..readers).map(|_| reader.clone()));
        let document = diagnosis("8s");
        let pids = load.pids();
        slow.be_quick();
        drop(load);
        assert_explained(&document, &pids, code, part);
    }
}

/// One reader keeps the queue full by itself: the device is at its limit, and nobody suffers.
#[test]
fn reader_at_a_depth_of_64_is_at_the_limit_of_its_device() {
    if !has_program("fio", Requirement::Fio) {
        return;
    }
    let Some((slow, device)) = serial_disk(Duration::from_micros(draw(3_000, 6_000))) else {
        return;
    };
    let load = Load::shell([fio(
        device.path(),
        "--rw=randread --ioengine=libaio --iodepth=64",
    )]);
    let document = diagnosis("8s");
    let pids = load.pids();
    slow.be_quick();
    drop(load);
    assert_explained(&document, &pids, "at-limit", "limit");
}

/// One writer that flushes each write waits for the flushes, and for nobody.
#[test]
fn writer_that_flushes_each_write_is_flush_bound() {
    let directory = own_directory();
    let Some(device) = disk(directory.path(), 64 * MIB) else {
        return;
    };
    let load = Load::shell([format!(
        "exec dd if=/dev/zero of={} bs=4k oflag=direct,dsync count=16000",
        device.path()
    )]);
    let document = diagnosis("5s");
    let pids = load.pids();
    drop(load);
    let Some(found) = cause_of(&document, &pids) else {
        // It waits for less than a fifth of the time on a machine whose flushes are quick.
        return;
    };
    assert_eq!(found["severity"], "note", "{document:#}");
}

/// syncfs(2) of data that a slow device works off is no hang: it is told how long it takes.
#[test]
fn slow_sync_makes_progress() {
    let Some(file_system) = LoopFileSystem::new("ext4", Requirement::Ext4) else {
        return;
    };
    let device = file_system.device().name().to_owned();
    let Some(slow) = SlowWrites::limit(&device, draw(1_000_000, 2_000_000)) else {
        return;
    };
    let file = file_system.mount_point().join("file");
    let written = 40 * MIB;
    let load = Load::shell([format!(
        "dd if=/dev/zero of={file} bs=1M count=40; exec sync -f {file}",
        file = file.display()
    )]);
    wait_until("it is written to memory", || {
        fs::metadata(&file).is_ok_and(|it| it.len() >= written)
    });
    let document = diagnosis("12s");
    let pids = load.pids();
    drop(slow);
    drop(load);
    let found = cause_of(&document, &pids);
    assert!(found.is_some(), "{document:#}");
    assert_ne!(found.unwrap()["code"], "hung-io", "{document:#}");
}

/// A frozen file system is named with the command that thaws it.
#[test]
fn frozen_file_system_is_named() {
    let Some(file_system) = LoopFileSystem::new("ext4", Requirement::Ext4) else {
        return;
    };
    let place = file_system.mount_point();
    let fsfreeze = |option: &str| {
        let mut command = std::process::Command::new("fsfreeze");
        command
            .arg(option)
            .arg(place)
            .status()
            .is_ok_and(|it| it.success())
    };
    if !fsfreeze("--freeze") {
        return;
    }
    let load = Load::shell([format!(
        "exec dd if=/dev/zero of={}/file bs=4k count=1",
        place.display()
    )]);
    let document = diagnosis("9s");
    let pids = load.pids();
    let thawed = fsfreeze("--unfreeze");
    drop(load);
    assert!(thawed);
    assert_explained(&document, &pids, "hung-io", "thawed");
}
