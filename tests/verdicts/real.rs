//! On loop devices and files of this machine.

use crate::requirement::{Requirement, skip};
use std::fs::File;
use std::path::Path;

use crate::loop_device::LoopDevice;
use crate::place::{DISK, Place};

/// What may be true of any run on this machine: what it is, and that others use its processors and
/// its disk while the tests run.
const OF_THE_MACHINE: [&str; 9] = [
    "virtual-disk",
    "host-cache-likely",
    "rotational-flag-doubtful",
    "scheduler-unsuited",
    "machine-busy",
    "throughput-drifted",
    "throughput-cliff",
    "two-speeds",
    "too-few-samples",
];
/// Short, and past the page cache.
const BRIEFLY: [&str; 4] = ["--depth", "4", "--duration", "700ms"];

fn random_read(place: &Place, target: &str, more: &[&str]) -> crate::place::Run {
    place.run(&[&["random-read", target][..], &BRIEFLY, more].concat())
}

#[test]
fn a_clean_run_on_a_loop_device_deserves_no_verdict_of_its_own() {
    let place = Place::new();
    let Some(disk) = place.disk() else {
        return;
    };
    let run = random_read(&place, disk.path(), &["--ramp", "200ms"]);
    run.assert_only(&OF_THE_MACHINE);
    let count = |pointer: &str| run.at(pointer).as_u64().unwrap();
    assert_eq!(count("/evidence/asked/reads"), count("/kernel/reads"));
    assert_eq!(
        count("/evidence/asked/read_bytes"),
        count("/kernel/read_bytes")
    );
    // The stack is followed down to what the file lies on.
    assert_eq!(run.at("/evidence/setup/direct_io"), true);
    let file = run.at("/evidence/extents");
    assert_eq!(
        (&file["bytes"], &file["hole_bytes"]),
        (&DISK.into(), &0.into())
    );
}

#[test]
fn sequential_read_of_a_small_loop_device_is_as_fast_with_a_time_limit_as_without() {
    let place = Place::new();
    let Some(disk) = place.disk() else {
        return;
    };
    let rate = |more: &[&str]| {
        let run = place.run(&[&["sequential-read", disk.path(), "--depth", "8"], more].concat());
        let figures = run.at("/figures").as_array().unwrap();
        let mean = figures.iter().find(|it| it["name"] == "throughput_mean");
        mean.unwrap()["value"].as_f64().unwrap()
    };
    // Ten requests in each zone. In turn, so that what else the machine does slows down both.
    let block = ["--block-size", "64KiB"];
    let timed = [&block[..], &["--duration", "30s"]].concat();
    let mut ratios: Vec<f64> = (0..9).map(|_| rate(&timed) / rate(&block)).collect();
    ratios.sort_by(f64::total_cmp);
    // A queue that runs empty after each zone reaches three quarters.
    assert!(ratios[4] > 0.87, "{ratios:?}");
}

#[test]
fn a_loop_device_through_the_page_cache_is_told() {
    let place = Place::new();
    let Some(disk) = LoopDevice::attach(&place.file("disk", DISK), &["--direct-io=off"]) else {
        return;
    };
    let run = random_read(&place, disk.path(), &[]);
    run.assert_found(
        "loop-without-direct-io",
        &["disk", "through the page cache"],
    );
}

#[test]
fn holes_and_unwritten_extents_are_told() {
    let place = Place::new();
    let sparse = place.path("sparse");
    File::create(&sparse).unwrap().set_len(DISK).unwrap();
    let run = random_read(&place, sparse.to_str().unwrap(), &[]);
    run.assert_found("file-has-holes", &["sparse", "67.1 MB are holes", "100 %"]);
    let written = place.run(&[
        "random-write",
        sparse.to_str().unwrap(),
        "--overwrite",
        sparse.to_str().unwrap(),
        "--bytes",
        "2MiB",
    ]);
    written.assert_found("blocks-not-allocated", &["sparse"]);
    reserved(&place);
    if let Some(disk) = LoopDevice::attach(&sparse, &["--direct-io=on"]) {
        let run = random_read(&place, disk.path(), &[]);
        run.assert_found("file-has-holes", &["sparse", "are holes"]);
    }
}

/// Room that was reserved and never written.
fn reserved(place: &Place) {
    let path = place.file("reserved", 16 << 20);
    let file = File::options().write(true).open(&path).unwrap();
    let flags = rustix::fs::FallocateFlags::empty();
    if let Err(error) = rustix::fs::fallocate(&file, flags, 16 << 20, 48 << 20) {
        return skip(Requirement::Files, format!("no fallocate here: {error}"));
    }
    let run = random_read(place, path.to_str().unwrap(), &[]);
    run.assert_found("file-has-holes", &["reserved", "75 %"]);
}

#[test]
fn a_whole_file_has_no_holes_and_a_cached_one_is_served_from_memory() {
    let place = Place::new();
    let path = place.file("whole", 32 << 20);
    let target = path.to_str().unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len(), 32 << 20);
    let run = random_read(&place, target, &["--cache", "keep"]);
    assert!(
        !run.codes().contains(&"file-has-holes"),
        "{:?}",
        run.codes()
    );
    run.assert_found("buffered", &["--cache keep"]);
    match run.at("/kernel").is_null() {
        true => skip(
            Requirement::Drive,
            format!("the kernel keeps no counts for {target}"),
        ),
        false => run.assert_found("served-from-cache", &["came from a cache"]),
    }
}

#[test]
fn a_cache_that_holds_a_part_is_told_with_its_part() {
    let place = Place::new();
    let Some(disk) = place.disk() else {
        return;
    };
    // The first half comes into the page cache of the device, and stays there as long as it is open.
    let device = File::open(disk.path()).unwrap();
    let mut half = vec![0; (DISK / 2) as usize];
    std::os::unix::fs::FileExt::read_exact_at(&device, &mut half, 0).unwrap();
    let words = [
        "sequential-read",
        disk.path(),
        "--cache",
        "keep",
        "--zone-bytes",
        "1MiB",
    ];
    let run = place.run(&words);
    run.assert_found("served-from-cache", &["came from a cache"]);
    let share = run.at("/kernel/read_bytes").as_f64().unwrap()
        / run.at("/evidence/asked/read_bytes").as_f64().unwrap();
    assert!((0.3..0.7).contains(&share), "{share}");
}

#[test]
fn what_was_written_into_memory_is_told() {
    let place = Place::new();
    let Some(disk) = place.disk() else {
        return;
    };
    // As long as somebody has the device open, closing it does not write it back.
    let _open = File::open(disk.path()).unwrap();
    let words = ["random-write", disk.path(), "--overwrite", disk.path()];
    let run = place.run(&[&words[..], &["--cache", "keep", "--bytes", "8MiB"]].concat());
    run.assert_found("still-in-memory", &["had reached"]);
}

#[test]
fn requests_larger_than_the_queue_takes_are_split() {
    let place = Place::new();
    let Some(disk) = place.disk() else {
        return;
    };
    if !disk.set("max_sectors_kb", "64") {
        return;
    }
    let words = [
        "random-read",
        disk.path(),
        "--block-size",
        "512KiB",
        "--requests",
        "150",
    ];
    place
        .run(&words)
        .assert_found("requests-split", &["150 requests", "64 KiB"]);
}

#[test]
fn neighbours_that_the_kernel_joins_are_told() {
    let place = Place::new();
    let Some(disk) = place.disk() else {
        return;
    };
    let words = ["sequential-read", disk.path(), "--block-size", "4KiB"];
    let run = place.run(&[&words[..], &["--depth", "32", "--duration", "700ms"]].concat());
    let merged = run.at("/kernel/reads_merged").as_u64().unwrap();
    // What io_uring hands over in one go waits in the plug for its neighbours.
    run.assert_found("requests-merged", &[&merged.to_string()]);
}

#[test]
fn blocks_below_the_physical_sector_are_told() {
    let place = Place::new();
    let options = ["--direct-io=on", "--sector-size", "4096"];
    let Some(disk) = LoopDevice::attach(&place.file("disk", DISK), &options) else {
        return;
    };
    let run = random_read(
        &place,
        disk.path(),
        &["--cache", "keep", "--block-size", "512"],
    );
    run.assert_found("below-physical-block", &["512", "4 KiB"]);
}

#[test]
fn a_scheduler_on_a_loop_device_is_unsuited() {
    let place = Place::new();
    let Some(disk) = place.disk() else {
        return;
    };
    if disk.set("scheduler", "mq-deadline") {
        let run = random_read(&place, disk.path(), &[]);
        run.assert_found("scheduler-unsuited", &["mq-deadline", "echo none"]);
    }
}

#[test]
fn a_device_that_says_it_rotates_and_cannot_is_told() {
    let place = Place::new();
    let Some(disk) = place.disk() else {
        return;
    };
    if !disk.set("rotational", "1") {
        return;
    }
    let run = random_read(&place, disk.path(), &[]);
    match run.at("/evidence/setup/virtual_disk").is_null() {
        true => skip(
            Requirement::Drive,
            "the drive beneath may be a disk, whose cache holds all of it",
        ),
        false => run.assert_found("rotational-flag-doubtful", &["rotational=1"]),
    }
}

#[test]
fn a_virtual_machine_s_disk_is_called_one() {
    let place = Place::new();
    let target = place.file("file", 32 << 20);
    let run = random_read(&place, target.to_str().unwrap(), &[]);
    let device = run
        .at("/target/transport")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    match ["virtio", "xen"].contains(&device.as_str()) {
        true => run.assert_found("virtual-disk", &[&device]),
        false => skip(
            Requirement::Drive,
            format!("the disk here is attached by {device:?}"),
        ),
    }
}

#[test]
fn memory_is_no_drive() {
    let shared = Path::new("/dev/shm");
    let Ok(directory) = tempfile::tempdir_in(shared) else {
        return skip(Requirement::Tmpfs, "no tmpfs to write to");
    };
    let words = [
        "random-read",
        directory.path().to_str().unwrap(),
        "--scratch-size",
        "8MiB",
    ];
    let run = Place::new().run(&[&words[..], &["--duration", "200ms", "--cache", "keep"]].concat());
    run.assert_found("lies-in-memory", &["tmpfs"]);
}
