//! Devices and file systems in a sparse image: when the file system of the image is full, the kernel
//! drops data that it has accepted from others.

use std::fs::File;
use std::path::PathBuf;

use crate::loop_device::LoopDevice;
use crate::place::{
    IMAGE_BYTES, Place, assert_refused, assert_written, command_output, overwrite_command,
    run_overwrite,
};
use crate::requirement::{Requirement, skip};

/// Mounts a file system that is smaller than the reserve; its directory.
fn mount_small_file_system(place: &mut Place) -> Option<(LoopDevice, PathBuf)> {
    let image = place.path("small");
    File::create(&image)
        .unwrap()
        .set_len(8 * IMAGE_BYTES)
        .unwrap();
    let device = place.mounted_loop_device(&image, &[])?;
    Some((device, place.path("mounted-0")))
}

#[test]
fn device_in_sparse_image_without_room_below_is_refused() {
    let mut place = Place::new();
    let Some((_lower, directory)) = mount_small_file_system(&mut place) else {
        return;
    };
    let image = directory.join("image");
    File::create(&image).unwrap().set_len(1 << 30).unwrap();
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_refused(&run_overwrite(device.path()), "lies in the sparse image");
    drop(device);
    let image = directory.join("allocated");
    let size = IMAGE_BYTES.to_string();
    command_output("fallocate", &["--length", &size, image.to_str().unwrap()]).unwrap();
    let Some(allocated) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_written(&run_overwrite(allocated.path()));
}

#[test]
fn scratch_file_in_sparse_image_without_room_below_is_refused() {
    let mut place = Place::new();
    let Some((_lower, directory)) = mount_small_file_system(&mut place) else {
        return;
    };
    let image = directory.join("image");
    File::create(&image).unwrap().set_len(4 << 30).unwrap();
    let image = image.to_str().unwrap();
    let format = ["-q", "-F", "-O", "^has_journal", image];
    if command_output("mkfs.ext4", &format).is_none() {
        return skip(Requirement::Ext4, "no mkfs.ext4");
    }
    let point = place.path("inner");
    let point = point.to_str().unwrap();
    if !place.mount(&["-o", "loop", image, point], Requirement::Loop) {
        return;
    }
    let mut command = overwrite_command(point.as_ref(), &["--scratch-size", "32MiB"]);
    let output = command.args(["--requests", "20"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("lies in the sparse image"), "{said}");
}
