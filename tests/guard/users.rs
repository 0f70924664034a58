//! Processes that have the target open.

use std::fs::{File, OpenOptions};

use rustix::mm::{MapFlags, ProtFlags};

use crate::loop_device::LoopDevice;
use crate::place::{Place, assert_refused, assert_written, overwrite};

fn writer(path: impl AsRef<std::path::Path>) -> File {
    OpenOptions::new().write(true).open(path).unwrap()
}

#[test]
fn file_that_a_process_has_open_for_writing_is_refused_and_the_process_named() {
    let place = Place::new();
    let file = place.image("file");
    let open = writer(&file);
    let expected = format!("process {} (", std::process::id());
    assert_refused(&overwrite(&file), &expected);
    drop(open);
    assert_written(&overwrite(&file));
}

#[test]
fn file_that_a_process_reads_is_written() {
    let place = Place::new();
    let file = place.image("file");
    let open = File::open(&file).unwrap();
    assert_written(&overwrite(&file));
    drop(open);
}

#[test]
fn device_that_a_process_has_open_for_writing_is_refused() {
    let place = Place::new();
    let image = place.image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let open = writer(device.path());
    assert_refused(&overwrite(device.path()), "open for writing");
    drop(open);
    let open = writer(&image);
    assert_refused(&overwrite(device.path()), "open for writing");
    drop(open);
    assert_written(&overwrite(device.path()));
}

#[test]
fn file_or_device_that_a_process_has_mapped_for_writing_is_refused() {
    let place = Place::new();
    let file = place.image("file");
    let image = place.image("image");
    let device = LoopDevice::attach(&image, &[]);
    let mut targets = vec![file.clone()];
    targets.extend(device.iter().map(|device| device.path().into()));
    for target in &targets {
        let open = OpenOptions::new().read(true).write(true).open(target);
        let rights = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: nothing in this process touches the mapping, which is taken away below.
        let mapping = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                4096,
                rights,
                MapFlags::SHARED,
                open.unwrap(),
                0,
            )
        };
        let mapping = mapping.unwrap();
        assert_refused(&overwrite(target), "mapped for writing");
        // SAFETY: it was mapped above with that length.
        unsafe { rustix::mm::munmap(mapping, 4096) }.unwrap();
        assert_written(&overwrite(target));
    }
}
