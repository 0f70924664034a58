//! The same bytes by another way: loop devices on one image.

use std::path::Path;

use crate::guard::sandbox::{
    Background, GuardSandbox, assert_refused, command_output, run_overwrite,
    start_in_mount_namespace, test_content,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

/// A device with ext4 that is mounted in a mount namespace of its own.
fn mount_in_other_namespace(sandbox: &GuardSandbox, device: &LoopDevice) -> Option<Background> {
    if command_output("mkfs.ext4", &["-q", device.path()]).is_none() {
        skip(Requirement::Ext4, "no mkfs.ext4");
        return None;
    }
    let (point, done) = (sandbox.subdirectory("elsewhere"), sandbox.path("done"));
    let command = format!(
        "mount {} {} && touch {} && exec sleep 600",
        device.path(),
        point.display(),
        done.display()
    );
    start_in_mount_namespace(&command, &[], &done, "no mount in a namespace of its own")
}

/// Asserts that whatever shares an image with a mounted loop device is refused, and nothing is written.
fn assert_image_is_refused(image: &Path, mounted: &LoopDevice) -> Option<()> {
    let second = LoopDevice::attach(image, &[])?;
    let behind = LoopDevice::attach(image, &["--offset", "1048576"])?;
    let above = LoopDevice::attach(second.path().as_ref(), &[])?;
    let before = test_content(image);
    for device in [mounted, &second, &behind, &above] {
        assert_refused(&run_overwrite(device.path()), "");
    }
    assert_refused(&run_overwrite(image), "");
    assert!(test_content(image) == before);
    Some(())
}

#[test]
fn what_shares_the_image_of_a_mounted_loop_device_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = sandbox.mounted_loop_device(&image, &[]) else {
        return;
    };
    assert_refused(&run_overwrite(device.path()), "mounted");
    assert_image_is_refused(&image, &device);
    let image = sandbox.create_image("other");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    if let Some(elsewhere) = mount_in_other_namespace(&sandbox, &device) {
        assert_image_is_refused(&image, &device);
        drop(elsewhere);
    }
}

/// A loop device claims nothing: what it is attached to is claimed by the run.
#[test]
fn loop_device_over_a_device_in_use_is_refused() {
    let mut sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(lower) = sandbox.mounted_loop_device(&image, &[]) else {
        return;
    };
    let Some(upper) = LoopDevice::attach(Path::new(lower.path()), &[]) else {
        return;
    };
    assert_refused(&run_overwrite(upper.path()), "mounted");
    drop(upper);
    let free = sandbox.create_image("free");
    let Some(lower) = LoopDevice::attach(&free, &[]) else {
        return;
    };
    let Some(upper) = LoopDevice::attach(Path::new(lower.path()), &[]) else {
        return;
    };
    let Some(elsewhere) = mount_in_other_namespace(&sandbox, &lower) else {
        return;
    };
    assert_refused(&run_overwrite(upper.path()), "mounted");
    drop(elsewhere);
}
