//! A file system made through another name of the same bytes, behind the back of the page cache.

use std::fs::File;
use std::io::Read;

use crate::guard::sandbox::{
    GuardSandbox, assert_refused, command_output, run_overwrite, test_content,
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
        assert_refused(&run_overwrite(first.path()), "holds ext4");
        assert!(test_content(&image) == before);
    }
}
