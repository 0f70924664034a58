//! Staged fault of a file in many pieces.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::FallocateFlags;

use super::devices::{names, set_queue};
use super::faults::MIB;
use super::{Load, diagnosis, draw};
use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::requirement::Requirement;
use crate::slow_disk::SlowDisk;

/// Writes a file into the gaps of another one that fills the file system: in pieces of `piece` bytes.
fn write_fragmented(directory: &Path, size: u64, piece: u64) -> PathBuf {
    let filler = File::create(directory.join("filler")).unwrap();
    let blocks = vec![7; MIB as usize];
    let mut length = 0;
    while (&filler).write_all(&blocks).is_ok() {
        length += MIB;
    }
    filler.sync_all().unwrap();
    let punch = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
    for start in (0..length.min(2 * size + 2 * MIB)).step_by(2 * piece as usize) {
        rustix::fs::fallocate(&filler, punch, start, piece).unwrap();
    }
    filler.sync_all().unwrap();
    let path = directory.join("data");
    let file = File::create(&path).unwrap();
    for _ in 0..size / MIB {
        (&file).write_all(&blocks).unwrap();
    }
    file.sync_all().unwrap();
    // A full file system would be a cause of its own.
    fs::remove_file(directory.join("filler")).unwrap();
    path
}

#[test]
fn file_in_many_pieces_on_a_rotational_disk_is_fragmented() {
    let Some(slow) = SlowDisk::mount() else {
        return;
    };
    let Some(device) = LoopDevice::attach(&slow.file(), &["--direct-io=on"]) else {
        return;
    };
    if !set_queue(&device, "rotational", "1") {
        return;
    }
    let options = ["-F", "-E", "nodiscard,lazy_itable_init=0"];
    let Some(file_system) = LoopFileSystem::on(device, "ext4", &options, Requirement::Ext4) else {
        return;
    };
    let piece = draw(4, 10) * 4096;
    let path = write_fragmented(file_system.mount_point(), 20 * MIB, piece);
    let path = path.display().to_string();
    let dropped = Command::new("dd")
        .args(["iflag=nocache", "count=0"])
        .arg(format!("if={path}"))
        .output();
    assert!(dropped.unwrap().status.success());
    // A seek and half a revolution for each read that does not continue the one before.
    slow.serve_serially(Duration::from_millis(draw(14, 20)));
    let load = Load::shell([format!("exec dd if={path} of=/dev/null bs=64k")]);
    let document = diagnosis("7s");
    let pid = load.pids()[0];
    slow.be_quick();
    drop(load);
    let causes = document["causes"].as_array().unwrap();
    let name = file_system.device_name();
    let own = causes.iter().find(|cause| cause["device"] == name);
    let Some(own) = own else {
        panic!("{piece} {document:#}");
    };
    assert_eq!(own["code"], "fragmented", "{piece} {document:#}");
    assert!(names(&own["victims"], pid), "{document:#}");
    let evidence = own["evidence"].as_array().unwrap();
    let pieces = evidence.iter().find(|it| it["name"] == "piece_size");
    let found = pieces.unwrap()["value"].as_f64().unwrap();
    assert!(found <= 3.0 * piece as f64, "{piece} {document:#}");
}
