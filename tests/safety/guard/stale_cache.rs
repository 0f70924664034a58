//! Other names of the same bytes have page caches of their own: a file system made by one of them, and what a run
//! leaves in that of its target.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::guard::sandbox::{
    Background, GuardSandbox, assert_refused, assert_written, command_output, overwrite_command,
    run_overwrite, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

#[test]
fn file_system_made_through_second_loop_device_is_not_overwritten() {
    for (own, other) in [(&[] as &[&str], &["--direct-io=on"] as &[&str]), (&[], &[])] {
        let sandbox = GuardSandbox::new();
        let image = sandbox.create_image("image");
        let Some(first) = LoopDevice::attach(&image, own) else {
            return;
        };
        let Some(second) = LoopDevice::attach(&image, other) else {
            return;
        };
        // A program that monitors the device: the page cache lives as long as it is open.
        let mut monitor = File::open(first.path()).unwrap();
        monitor.read_to_end(&mut Vec::new()).unwrap();
        if command_output("mkfs.ext4", &["-q", second.path()]).is_none() {
            return skip(Requirement::Ext4, "no mkfs.ext4");
        }
        let before = test_content(&image);
        assert_refused(&run_overwrite(first.path()), "ext4");
        assert!(test_content(&image) == before);
    }
}

/// The kernel writes nothing back when the run closes a device that others have open, too.
#[test]
fn written_pages_of_a_device_that_others_read_are_written_back_at_the_end() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let _reader = File::open(device.path()).unwrap();
    let written = || test_content(device.path().as_ref());
    let untouched = written();
    assert_written(&run_overwrite(device.path()));
    let (after_end, stored) = (written(), test_content(&image));
    assert!(after_end != untouched && after_end == stored);
    // The same after an interruption.
    let words = ["--duration", "30s", "--rate", "100/s"];
    let mut command = overwrite_command(device.path().as_ref(), &words);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = Background(command.spawn().unwrap());
    wait_until("it writes", || written() != after_end);
    let pid = rustix::process::Pid::from_child(&run.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    assert_eq!(run.0.wait().unwrap().code(), Some(130));
    // A thread that is in the kernel may still be at it, on a disk that others use as well. The kernel by
    // itself waits for half a minute.
    let began = Instant::now();
    while written() != test_content(&image) {
        assert!(began.elapsed() < Duration::from_secs(20), "only in memory");
        std::thread::sleep(Duration::from_millis(50));
    }
}
