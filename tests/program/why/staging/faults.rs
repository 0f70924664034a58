//! Devices that fail, and files in pieces.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;

use super::{Draw, Load, MIB, Staged, disk, drop_cache, own_directory, slow_file_system};

pub(in super::super) fn area_that_fails(draw: &mut Draw) -> Option<Staged> {
    let directory = own_directory();
    let device = disk(directory.path(), 64 * MIB)?;
    // Reads beyond the end of the file fail.
    let file = File::options().write(true).open(device.file()).unwrap();
    file.set_len(MIB).unwrap();
    let block = draw.number("block", 300, 16_000);
    let load = Load::shell([format!(
        "while :; do dd if={} of=/dev/null bs=4k count=1 skip={block} iflag=direct; sleep 0.5; done",
        device.path()
    )]);
    let staged = Staged::new(load).on(device.name());
    Some(staged.holding(device).holding(directory))
}

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

pub(in super::super) fn file_in_many_pieces(draw: &mut Draw) -> Option<Staged> {
    let (slow, file_system) = slow_file_system(&["-F", "-E", "nodiscard,lazy_itable_init=0"])?;
    if !file_system.device().set("rotational", "1") {
        return None;
    }
    let piece = draw.number("pages", 4, 10) * 4096;
    let path = write_fragmented(file_system.mount_point(), 20 * MIB, piece);
    drop_cache(&path);
    // A seek and half a revolution for each read that does not continue the one before.
    slow.serve_serially(draw.micros("service", 14_000, 20_000));
    let path = path.display().to_string();
    let load = Load::shell([format!("exec dd if={path} of=/dev/null bs=64k")]);
    let staged = Staged::new(load).waits(&[0]).on(file_system.device_name());
    let staged = staged.says(path);
    Some(staged.holding(file_system).holding(slow))
}
