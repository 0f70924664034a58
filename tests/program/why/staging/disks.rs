//! Readers and maintenance of slow devices.

use std::fs;
use std::process::Command;

use super::{
    Draw, Load, MIB, Requirement, Staged, direct_reader, fio, has_program, own_directory,
    serial_device, slow_device, slow_file_system,
};

/// Random readers with one request each.
fn random_readers(draw: &mut Draw, readers: usize) -> Option<Staged> {
    let (slow, device) = serial_device(draw.micros("service", 8_000, 12_000))?;
    let reader = fio(
        "reader",
        device.path(),
        "--bs=4k --direct=1 --rw=randread --ioengine=psync --norandommap --randrepeat=0",
    )?;
    let load = Load::shell((0..readers).map(|_| reader.clone()));
    let all: Vec<usize> = (0..readers).collect();
    let staged = Staged::new(load).waits(&all).on(device.name());
    Some(staged.holding(device).holding(slow))
}

pub(in super::super) fn one_random_reader(draw: &mut Draw) -> Option<Staged> {
    Some(random_readers(draw, 1)?.says("one request at a time"))
}

pub(in super::super) fn two_random_readers(draw: &mut Draw) -> Option<Staged> {
    Some(random_readers(draw, 2)?.says("wait for each other"))
}

pub(in super::super) fn four_random_readers(draw: &mut Draw) -> Option<Staged> {
    Some(random_readers(draw, 4)?.says("wait for each other"))
}

pub(in super::super) fn two_sequential_readers(draw: &mut Draw) -> Option<Staged> {
    let (slow, device) = slow_device()?;
    let rate = draw.number("mb_per_s", 80, 160) as f64 * 1e6;
    slow.serve_as_hard_disk(draw.micros("seek", 6_000, 12_000), rate);
    let size = draw.number("mib", 1, 3);
    let reader = |start: u64| {
        let job = format!(
            "--rw=read --direct=1 --ioengine=psync --bs={size}M --offset={start}M --size=28M"
        );
        fio("reader", device.path(), &job)
    };
    let load = Load::shell([reader(0)?, reader(32)?]);
    let staged = Staged::new(load).waits(&[0, 1]).on(device.name());
    Some(staged.holding(device).holding(slow))
}

pub(in super::super) fn reader_at_depth_64(draw: &mut Draw) -> Option<Staged> {
    let (slow, device) = serial_device(draw.micros("service", 3_000, 6_000))?;
    let engine = ["libaio", "io_uring"][draw.number("engine", 0, 2) as usize];
    let job = format!("--bs=4k --direct=1 --rw=randread --ioengine={engine} --iodepth=64");
    let load = Load::shell([fio("reader", device.path(), &job)?]);
    let staged = Staged::new(load).names(&[0]).on(device.name());
    Some(staged.says("limit").holding(device).holding(slow))
}

pub(in super::super) fn backup_against_reader(draw: &mut Draw) -> Option<Staged> {
    let (slow, device) = serial_device(draw.micros("service", 4_000, 9_000))?;
    let job = format!(
        "--rw=randread --bs=4k --direct=1 --ioengine=libaio --iodepth={}",
        draw.number("depth", 12, 24)
    );
    let load = Load::shell([
        fio("backup", device.path(), &job)?,
        direct_reader(device.path(), "4k", 2000),
    ]);
    let staged = Staged::new(load).causes(&[0]).waits(&[1]);
    let staged = staged.on(device.name()).says("saturated");
    Some(staged.holding(device).holding(slow))
}

pub(in super::super) fn tar_of_small_files(draw: &mut Draw) -> Option<Staged> {
    let (slow, file_system) = slow_file_system(&["-N", "4000"])?;
    let place = file_system.mount_point().to_owned();
    for number in 0..3000 {
        let file = place.join(format!("file{number}"));
        fs::write(file, vec![7; 4096 * (1 + number % 3)]).unwrap();
    }
    // Nothing is cached then.
    file_system.unmount().unwrap();
    file_system.mount().unwrap();
    assert!(file_system.device().set("rotational", "1"));
    slow.serve_serially(draw.micros("service", 6_000, 12_000));
    // The shell stays, so that the numbers of its children are not known.
    let load = Load::shell([format!("tar -c -C {} . | cat", place.display())]);
    let staged = Staged::new(load).on(file_system.device_name());
    let staged = staged.says("tar").says("one request at a time");
    Some(staged.holding(file_system).holding(slow))
}

pub(in super::super) fn one_request_at_a_time_on_flash(draw: &mut Draw) -> Option<Staged> {
    let (slow, device) = slow_device()?;
    // Each request takes as long as one of a network disk; it serves many at a time.
    slow.serve_in_parallel(draw.micros("service", 1_500, 3_000));
    if !device.set("rotational", "0") {
        return None;
    }
    let job = "--bs=4k --direct=1 --rw=randread --ioengine=psync";
    let load = Load::shell([fio("reader", device.path(), job)?]);
    let staged = Staged::new(load).names(&[0]).on(device.name());
    Some(staged.holding(device).holding(slow))
}

pub(in super::super) fn network_disk_of_high_latency(draw: &mut Draw) -> Option<Staged> {
    let (slow, device) = slow_device()?;
    slow.serve_in_parallel(draw.micros("service", 100_000, 2_000_000));
    let load = Load::shell([direct_reader(device.path(), "4k", 0)]);
    let staged = Staged::new(load).waits(&[0]).on(device.name());
    Some(staged.holding(device).holding(slow))
}

pub(in super::super) fn badblocks_against_readers(draw: &mut Draw) -> Option<Staged> {
    if !has_program("badblocks", Requirement::Program) {
        return None;
    }
    let (slow, device) = serial_device(draw.micros("service", 8_000, 14_000))?;
    // One request of each is in flight: together with that of the program more than a queue of three.
    let reader = direct_reader(device.path(), "4k", 3000);
    let load = Load::shell([
        format!("exec badblocks -p 100 -b 4096 -c 256 {}", device.path()),
        reader.clone(),
        reader.clone(),
        reader,
    ]);
    let staged = Staged::new(load).causes(&[0]).waits(&[1, 2, 3]);
    let staged = staged.on(device.name());
    Some(staged.holding(device).holding(slow))
}

pub(in super::super) fn check_of_a_file_system_against_readers(draw: &mut Draw) -> Option<Staged> {
    if !has_program("e2fsck", Requirement::Program) {
        return None;
    }
    let (slow, device) = slow_device()?;
    if !device.set("rotational", "1") {
        return None;
    }
    // All inode tables are written and checked.
    let run = |program: &str, words: &[&str]| {
        let output = Command::new(program)
            .args(words)
            .arg(device.path())
            .output();
        assert!(output.unwrap().status.success(), "{program}");
    };
    run(
        "mkfs.ext4",
        &[
            "-qF",
            "-N120000",
            "-O^uninit_bg,^metadata_csum",
            "-Enodiscard,lazy_itable_init=0",
        ],
    );
    run("blockdev", &["--flushbufs"]);
    // Slow enough that the check does not end within the window.
    slow.serve_serially(draw.micros("service", 16_000, 22_000));
    let reader = direct_reader(device.path(), "4k", 9000);
    let load = Load::shell([
        format!("exec e2fsck -f -n {}", device.path()),
        reader.clone(),
        reader.clone(),
        reader,
    ]);
    let staged = Staged::new(load).causes(&[0]).waits(&[1, 2, 3]);
    let staged = staged.on(device.name());
    Some(staged.holding(device).holding(slow))
}

pub(in super::super) fn unfit_scheduler(draw: &mut Draw) -> Option<Staged> {
    let directory = own_directory();
    let device = super::disk(directory.path(), 64 * MIB)?;
    if !device.set("scheduler", "mq-deadline") {
        return None;
    }
    let size = draw.number("pages", 1, 16) * 4;
    let job = format!("--bs={size}k --direct=1 --rw=read --ioengine=psync --rate_iops=500");
    let load = Load::shell([fio("reader", device.path(), &job)?]);
    let staged = Staged::new(load).on(device.name());
    Some(staged.holding(device).holding(directory))
}
