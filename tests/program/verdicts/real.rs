//! On loop devices and files of this machine.

use std::fs::File;
use std::path::Path;

use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};
use crate::slow_disk::SlowDisk;
use crate::verdicts::sandbox::{DISK_BYTES, VerdictSandbox};

/// What may be true of any run on this machine: what it is, and that others use its processors and
/// its disk while the tests run.
const MACHINE_DEPENDENT_CHECKS: [&str; 10] = [
    "queue-depth-not-reached",
    "virtual-disk",
    "host-cache-likely",
    "too-short",
    "scheduler-unsuited",
    "machine-busy",
    "throughput-drifted",
    "throughput-cliff",
    "bimodal-latency",
    "too-few-samples",
];
/// Short, and past the page cache.
const SHORT_RUN: [&str; 4] = ["--depth", "4", "--duration", "700ms"];

fn run_random_read(
    sandbox: &VerdictSandbox,
    target: &str,
    more: &[&str],
) -> crate::verdicts::sandbox::Run {
    sandbox.run_benchmark(&[&["random-read", target][..], &SHORT_RUN, more].concat())
}

#[test]
fn clean_run_on_loop_device_has_no_check_of_its_own() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = sandbox.attach_loop_device() else {
        return;
    };
    let run = run_random_read(&sandbox, disk.path(), &["--ramp", "200ms"]);
    run.assert_only_checks(&MACHINE_DEPENDENT_CHECKS);
    let count = |pointer: &str| run.value_at(pointer).as_u64().unwrap();
    assert_eq!(count("/evidence/issued/reads"), count("/kernel/reads"));
    assert_eq!(
        count("/evidence/issued/read_bytes"),
        count("/kernel/read_bytes")
    );
    // The stack is followed down to what the file lies on.
    assert_eq!(run.value_at("/evidence/drive_setup/direct_io"), true);
    let file = run.value_at("/evidence/extents");
    assert_eq!(
        (&file["bytes"], &file["hole_bytes"]),
        (&DISK_BYTES.into(), &0.into())
    );
}

#[test]
fn sequential_read_of_small_loop_device_is_unaffected_by_time_limit() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = sandbox.attach_loop_device() else {
        return;
    };
    let rate = |more: &[&str]| {
        let run = sandbox
            .run_benchmark(&[&["sequential-read", disk.path(), "--depth", "8"], more].concat());
        let metrics = run.value_at("/figures").as_array().unwrap();
        let mean = metrics.iter().find(|it| it["name"] == "throughput_mean");
        mean.unwrap()["value"].as_f64().unwrap()
    };
    // Ten requests in each zone. In turn, so that what else the machine does slows down both.
    let block = ["--block-size", "64KiB"];
    let timed = [&block[..], &["--duration", "30s"]].concat();
    let mut ratios: Vec<f64> = (0..9).map(|_| rate(&timed) / rate(&block)).collect();
    ratios.sort_by(f64::total_cmp);
    // A queue that runs empty after each zone reaches three quarters at best. Other load of the machine
    // makes single ratios lower, so the third best of nine counts.
    assert!(ratios[6] > 0.87, "{ratios:?}");
}

#[test]
fn loop_device_through_page_cache_is_flagged() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = LoopDevice::attach(
        &sandbox.create_random_file("disk", DISK_BYTES),
        &["--direct-io=off"],
    ) else {
        return;
    };
    let run = run_random_read(&sandbox, disk.path(), &[]);
    // The file was just written, and is in the page cache. Others may read from the same drive: its
    // count then hides that.
    let bytes = |pointer: &str| run.value_at(pointer).as_f64().unwrap_or(f64::INFINITY);
    let issued = bytes("/evidence/issued/read_bytes");
    match bytes("/evidence/underlying/0/read_bytes") < 0.9 * issued {
        true => run.assert_check("page-cache-backed", &["the page cache served the rest"]),
        false => run.assert_check(
            "loop-without-direct-io",
            &["disk", "through the page cache"],
        ),
    }
}

#[test]
fn loop_device_on_a_file_in_memory_is_flagged() {
    let Ok(directory) = tempfile::tempdir_in("/dev/shm") else {
        return skip(Requirement::Tmpfs, "no tmpfs to write to");
    };
    let file = directory.path().join("disk");
    std::fs::write(&file, vec![7; 16 << 20]).unwrap();
    let Some(disk) = LoopDevice::attach(&file, &[]) else {
        return;
    };
    let run = run_random_read(&VerdictSandbox::new(), disk.path(), &[]);
    run.assert_check("memory-backed", &["the backing file", "is in memory"]);
}

/// A mount of the test's own, gone when it is dropped.
struct Mount(std::path::PathBuf);

impl Mount {
    /// Calls mount(8) with these words; `None`, and why, where that is not permitted.
    fn attach(target: &Path, words: &[&str]) -> Option<Self> {
        let output = std::process::Command::new("mount")
            .args(words)
            .arg(target)
            .output();
        match output {
            Ok(output) if output.status.success() => Some(Self(target.to_owned())),
            Ok(output) => {
                skip(
                    Requirement::Root,
                    String::from_utf8_lossy(&output.stderr).trim(),
                );
                None
            }
            Err(error) => {
                skip(Requirement::Overlay, format!("mount: {error}"));
                None
            }
        }
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn file_without_a_block_device_is_flagged() {
    let Some(disk) = SlowDisk::mount() else {
        return;
    };
    let file = disk.file();
    let words = ["random-read", file.to_str().unwrap()];
    let run = VerdictSandbox::new().run_benchmark(&[&words[..], &SHORT_RUN].concat());
    run.assert_check("device-unknown", &["fuse", "could not be compared"]);
}

/// Its files have a device number that belongs to no device.
#[test]
fn file_on_overlay_is_compared_with_the_device_of_its_upper_directory() {
    let Some(file_system) = LoopFileSystem::ext4(64 << 20) else {
        return;
    };
    let [lower, upper, work, merged] = ["lower", "upper", "work", "merged"].map(|name| {
        let path = file_system.file_path(name);
        std::fs::create_dir(&path).unwrap();
        path
    });
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.display(),
        upper.display(),
        work.display()
    );
    let words = ["-t", "overlay", "overlay", "-o", &options];
    let Some(mount) = Mount::attach(&merged, &words) else {
        return;
    };
    let words = ["random-read", merged.to_str().unwrap(), "--scratch-size"];
    let words = [&words[..], &["16MiB", "--cache", "keep"], &SHORT_RUN].concat();
    let run = VerdictSandbox::new().run_benchmark(&words);
    drop(mount);
    run.assert_check("served-from-cache", &["reached loop", "came from a cache"]);
    assert!(!run.check_codes().contains(&"device-unknown"));
}

#[test]
fn drive_that_stops_answering_is_flagged_as_stalled() {
    let sandbox = VerdictSandbox::new();
    let Some(file_system) = LoopFileSystem::ext4(64 << 20) else {
        return;
    };
    let file = file_system.file_path("file");
    std::fs::write(&file, vec![7; 16 << 20]).unwrap();
    let freeze = |option: &str| {
        let mut command = std::process::Command::new("fsfreeze");
        command
            .arg(option)
            .arg(file_system.mount_point())
            .status()
            .is_ok_and(|status| status.success())
    };
    let target = file.to_str().unwrap();
    let words = [
        "random-write",
        target,
        "--overwrite",
        target,
        "--duration",
        "7s",
        "--depth",
        "2",
    ];
    let mut is_frozen = false;
    // A frozen file system holds writes until it is thawed, as a drive does while it is reset.
    let run = sandbox.run_benchmark_while(&words, |_| {
        std::thread::sleep(std::time::Duration::from_millis(2500));
        is_frozen = freeze("--freeze");
        std::thread::sleep(std::time::Duration::from_millis(3500));
        freeze("--unfreeze");
    });
    drop(file_system);
    match is_frozen {
        true => run.assert_check("stalled", &["no request completed for", "after the start"]),
        false => skip(Requirement::Root, "fsfreeze is not permitted"),
    }
}

#[test]
fn holes_and_unwritten_extents_are_flagged() {
    let sandbox = VerdictSandbox::new();
    let sparse = sandbox.file_path("sparse");
    File::create(&sparse).unwrap().set_len(DISK_BYTES).unwrap();
    let run = run_random_read(&sandbox, sparse.to_str().unwrap(), &[]);
    run.assert_check("file-has-holes", &["sparse", "67.1 MB are holes", "100 %"]);
    let written = sandbox.run_benchmark(&[
        "random-write",
        sparse.to_str().unwrap(),
        "--overwrite",
        sparse.to_str().unwrap(),
        "--bytes",
        "2MiB",
    ]);
    written.assert_check("blocks-not-allocated", &["sparse"]);
    assert_unwritten_extents_flagged(&sandbox);
    if let Some(disk) = LoopDevice::attach(&sparse, &["--direct-io=on"]) {
        let run = run_random_read(&sandbox, disk.path(), &[]);
        run.assert_check("file-has-holes", &["sparse", "are holes"]);
    }
}

/// Room that was reserved and never written.
fn assert_unwritten_extents_flagged(sandbox: &VerdictSandbox) {
    let path = sandbox.create_random_file("reserved", 16 << 20);
    let file = File::options().write(true).open(&path).unwrap();
    let flags = rustix::fs::FallocateFlags::empty();
    if let Err(error) = rustix::fs::fallocate(&file, flags, 16 << 20, 48 << 20) {
        return skip(Requirement::Files, format!("no fallocate here: {error}"));
    }
    let run = run_random_read(sandbox, path.to_str().unwrap(), &[]);
    run.assert_check("file-has-holes", &["reserved", "75 %"]);
}

#[test]
fn full_file_has_no_holes_and_cached_file_is_served_from_memory() {
    let sandbox = VerdictSandbox::new();
    let path = sandbox.create_random_file("whole", 32 << 20);
    let target = path.to_str().unwrap();
    assert_eq!(std::fs::read(&path).unwrap().len(), 32 << 20);
    let run = run_random_read(&sandbox, target, &["--cache", "keep"]);
    assert!(
        !run.check_codes().contains(&"file-has-holes"),
        "{:?}",
        run.check_codes()
    );
    run.assert_check("buffered", &["--cache keep"]);
    match run.value_at("/kernel").is_null() {
        true => skip(
            Requirement::Drive,
            format!("the kernel keeps no counts for {target}"),
        ),
        false => run.assert_check("served-from-cache", &["came from a cache"]),
    }
}

#[test]
fn partially_cached_target_is_flagged_with_fraction() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = sandbox.attach_loop_device() else {
        return;
    };
    // The first half comes into the page cache of the device, and stays there as long as it is open.
    let device = File::open(disk.path()).unwrap();
    let mut half = vec![0; (DISK_BYTES / 2) as usize];
    std::os::unix::fs::FileExt::read_exact_at(&device, &mut half, 0).unwrap();
    let words = [
        "sequential-read",
        disk.path(),
        "--cache",
        "keep",
        "--zone-bytes",
        "1MiB",
    ];
    let run = sandbox.run_benchmark(&words);
    run.assert_check("served-from-cache", &["came from a cache"]);
    let share = run.value_at("/kernel/read_bytes").as_f64().unwrap()
        / run
            .value_at("/evidence/issued/read_bytes")
            .as_f64()
            .unwrap();
    assert!((0.3..0.7).contains(&share), "{share}");
}

#[test]
fn writes_into_page_cache_are_flagged() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = sandbox.attach_loop_device() else {
        return;
    };
    // As long as somebody has the device open, closing it does not write it back.
    let _open = File::open(disk.path()).unwrap();
    let words = ["random-write", disk.path(), "--overwrite", disk.path()];
    let run =
        sandbox.run_benchmark(&[&words[..], &["--cache", "keep", "--bytes", "8MiB"]].concat());
    run.assert_check("still-in-memory", &["had reached"]);
}

#[test]
fn requests_above_queue_limit_are_flagged_as_split() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = sandbox.attach_loop_device() else {
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
    sandbox
        .run_benchmark(&words)
        .assert_check("requests-split", &["150 requests", "64 KiB"]);
}

#[test]
fn adjacent_requests_merged_by_kernel_are_flagged() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = sandbox.attach_loop_device() else {
        return;
    };
    let words = ["sequential-read", disk.path(), "--block-size", "4KiB"];
    let run =
        sandbox.run_benchmark(&[&words[..], &["--depth", "32", "--duration", "700ms"]].concat());
    let merged = run.value_at("/kernel/reads_merged").as_u64().unwrap();
    // What io_uring hands over in one go waits in the plug for its neighbours.
    run.assert_check("requests-merged", &[&merged.to_string()]);
}

#[test]
fn blocks_below_physical_sector_are_flagged() {
    let sandbox = VerdictSandbox::new();
    let options = ["--direct-io=on", "--sector-size", "4096"];
    let Some(disk) = LoopDevice::attach(&sandbox.create_random_file("disk", DISK_BYTES), &options)
    else {
        return;
    };
    let run = run_random_read(
        &sandbox,
        disk.path(),
        &["--cache", "keep", "--block-size", "512"],
    );
    run.assert_check("below-physical-block", &["512", "4 KiB"]);
}

#[test]
fn scheduler_on_loop_device_is_flagged_unsuited() {
    let sandbox = VerdictSandbox::new();
    let Some(disk) = sandbox.attach_loop_device() else {
        return;
    };
    if disk.set("scheduler", "mq-deadline") {
        let run = run_random_read(&sandbox, disk.path(), &[]);
        run.assert_check("scheduler-unsuited", &["mq-deadline", "echo none"]);
    }
}

#[test]
fn run_of_half_a_second_is_flagged() {
    let sandbox = VerdictSandbox::new();
    let target = sandbox.create_random_file("file", 32 << 20);
    let run = |duration: &str| {
        let words = ["random-read", target.to_str().unwrap(), "--duration"];
        sandbox.run_benchmark(&[&words[..], &[duration]].concat())
    };
    run("500ms").assert_check("too-short", &["ms"]);
    assert!(!run("1100ms").check_codes().contains(&"too-short"));
}

#[test]
fn virtual_machine_disk_is_flagged() {
    let sandbox = VerdictSandbox::new();
    let target = sandbox.create_random_file("file", 32 << 20);
    let run = run_random_read(&sandbox, target.to_str().unwrap(), &[]);
    let device = run
        .value_at("/target/transport")
        .as_str()
        .unwrap_or_default()
        .to_owned();
    match ["virtio", "xen"].contains(&device.as_str()) {
        true => run.assert_check("virtual-disk", &[&device]),
        false => skip(
            Requirement::Drive,
            format!("the disk here is attached by {device:?}"),
        ),
    }
}

#[test]
fn target_in_memory_is_flagged() {
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
    let run = VerdictSandbox::new()
        .run_benchmark(&[&words[..], &["--duration", "200ms", "--cache", "keep"]].concat());
    run.assert_check("memory-backed", &["tmpfs"]);
}
