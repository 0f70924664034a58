//! Writers: flushes, the page cache, bursts, locks.

use std::fs;
use std::process::Command;

use super::limits::SlowWrites;
use super::memory::DirtyLimit;
use super::{
    Draw, Load, MIB, Requirement, Staged, direct_reader, fio, slow_device, slow_file_system,
    write_file,
};
use crate::file_system::LoopFileSystem;
use crate::process::wait_until;

/// Writers to a device whose flushes take that long.
fn dsync_writers(draw: &mut Draw, writers: u64, flush_us: (u64, u64)) -> Option<Staged> {
    let (slow, device) = slow_device()?;
    slow.flush_in(draw.micros("flush", flush_us.0, flush_us.1));
    let load = Load::shell((0..writers).map(|writer| {
        let (device, seek) = (device.path(), writer * 1000);
        format!(
            "while :; do dd if=/dev/zero of={device} bs=4k seek={seek} count=900 oflag=direct,dsync conv=notrunc; done"
        )
    }));
    let staged = Staged::new(load).on(device.name()).says("dd");
    Some(staged.holding(device).holding(slow))
}

pub(in super::super) fn one_dsync_writer(draw: &mut Draw) -> Option<Staged> {
    Some(dsync_writers(draw, 1, (3_000, 12_000))?.says("flushes"))
}

pub(in super::super) fn one_dsync_writer_with_slow_flushes(draw: &mut Draw) -> Option<Staged> {
    Some(dsync_writers(draw, 1, (35_000, 60_000))?.says("flushes"))
}

pub(in super::super) fn dsync_storm(draw: &mut Draw) -> Option<Staged> {
    let writers = draw.number("writers", 5, 10);
    dsync_writers(draw, writers, (6_000, 15_000))
}

/// A database that writes its log, and whose checkpoint comes every few seconds.
pub(in super::super) fn checkpoint_against_wal(draw: &mut Draw) -> Option<Staged> {
    let (slow, device) = slow_device()?;
    let rate = draw.number("mb_per_s", 15, 30);
    slow.serve_as_hard_disk(draw.micros("seek", 6_000, 10_000), rate as f64 * 1e6);
    slow.flush_in(draw.micros("flush", 1_000, 4_000));
    // The burst takes 1.5 s, and the pause the rest of the period.
    let (size, pause) = (rate * 3 / 2, draw.number("pause_s", 2, 4));
    let path = device.path();
    let wal = fio(
        "wal",
        path,
        "--rw=write --bs=8k --direct=1 --sync=dsync --ioengine=psync --size=8M --thinktime=5ms",
    )?;
    let checkpoint = format!(
        "exec perl -MIO::Handle -e '$data = \"x\" x ({size} << 20); open $f, \"+<\", \"{path}\"; \
         while (1) {{ seek $f, 16 << 20, 0; syswrite $f, $data; $f->sync; sleep {pause} }}'"
    );
    let load = Load::shell([wal, checkpoint]);
    let staged = Staged::new(load).waits(&[0]).causes(&[1]);
    let staged = staged.on(device.name());
    Some(staged.holding(device).holding(slow))
}

pub(in super::super) fn random_buffered_writer(draw: &mut Draw) -> Option<Staged> {
    let (slow, file_system) = slow_file_system(&[])?;
    let file = write_file(file_system.file_path("table"), 32 * MIB);
    super::drop_cache(file.as_ref());
    let dirty = draw.number("dirty_mib", 4, 12) * MIB;
    let dirty = DirtyLimit::of(file_system.device_name(), dirty)?;
    slow.serve_serially(draw.micros("service", 3_000, 8_000));
    let job = "--rw=randwrite --bs=4k --ioengine=psync --overwrite=1 --size=32M";
    let load = Load::shell([fio("writer", &file, job)?]);
    let staged = Staged::new(load).names(&[0]).on(file_system.device_name());
    let staged = staged.holding(dirty).holding(file_system);
    Some(staged.holding(slow))
}

pub(in super::super) fn writer_faster_than_its_device(draw: &mut Draw) -> Option<Staged> {
    let file_system = LoopFileSystem::new("ext4", Requirement::Ext4)?;
    let device = file_system.device().name().to_owned();
    let dirty = DirtyLimit::of(&device, draw.number("dirty_mib", 8, 24) * MIB)?;
    let slow = SlowWrites::limit(&device, draw.number("mb_per_s", 2, 8) * 1_000_000)?;
    let file = file_system.file_path("file");
    let load = Load::shell([format!(
        "exec dd if=/dev/zero of={} bs=64k count=4000",
        file.display()
    )]);
    wait_until("it writes", || {
        fs::metadata(&file).is_ok_and(|it| it.len() > 8 * MIB)
    });
    let staged = Staged::new(load).waits(&[0]).on(device);
    let staged = staged.holding(slow).holding(dirty);
    Some(staged.holding(file_system))
}

/// 200 MB to a device of 7 MB/s: it takes half a minute, and makes progress.
pub(in super::super) fn slow_sync(draw: &mut Draw) -> Option<Staged> {
    // Of a smaller one, ext4 writes back early.
    let file_system = LoopFileSystem::ext4(1200 * MIB)?;
    DirtyLimit::remove(file_system.device_name());
    let rate = draw.number("kb_per_s", 5_000, 9_000) * 1000;
    let slow = SlowWrites::limit(file_system.device_name(), rate)?;
    let size = draw.number("mib", 170, 230);
    let file = write_file(file_system.file_path("file"), size * MIB);
    let load = Load::shell([format!("exec sync -f {file}")]);
    let staged = Staged::new(load).waits(&[0]).says("MB/s");
    Some(staged.holding(slow).holding(file_system))
}

/// Each creation is written while the directory is locked.
pub(in super::super) fn lock_of_a_directory(draw: &mut Draw) -> Option<Staged> {
    let (slow, file_system) = slow_file_system(&[])?;
    let place = file_system.mount_point().display().to_string();
    let changed = Command::new("chattr").args(["+D", &place]).status();
    assert!(changed.unwrap().success());
    slow.serve_serially(draw.micros("service", 6_000, 15_000));
    let creators = draw.number("creators", 3, 6);
    let load = Load::shell((0..creators).map(|number| {
        format!(
            "exec perl -e 'for (;;) {{ open F, \">{place}/new{number}\"; close F; \
             rename \"{place}/new{number}\", \"{place}/old{number}\" }}'"
        )
    }));
    let all: Vec<usize> = (0..creators as usize).collect();
    let staged = Staged::new(load).waits(&all).on(file_system.device_name());
    Some(staged.holding(file_system).holding(slow))
}

/// Whoever has the lock reads slowly; the other one does nothing but wait for it.
pub(in super::super) fn lock_of_a_slow_reader(draw: &mut Draw) -> Option<Staged> {
    let (slow, file_system) = slow_file_system(&[])?;
    let data = write_file(file_system.file_path("data"), 40 * MIB);
    let lock = write_file(file_system.file_path("lock"), 1);
    super::drop_cache(data.as_ref());
    slow.serve_serially(draw.micros("service", 8_000, 20_000));
    let reader = direct_reader(&data, "4k", 0);
    // The lock belongs to the open file: the program that has taken it has ended.
    let load = Load::shell([
        format!("exec 9<{lock}; flock -x 9; {reader}"),
        format!("sleep 0.5; exec flock -x {lock} true"),
    ]);
    let waits = format!(" {} ", load.pids()[1]);
    wait_until("it waits for the lock", || {
        fs::read_to_string("/proc/locks").is_ok_and(|locks| locks.contains(&waits))
    });
    let staged = Staged::new(load).waits(&[1]).causes(&[0]).says("lock");
    Some(staged.holding(file_system).holding(slow))
}
