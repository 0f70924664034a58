//! Processes that have the target open.

use std::fs::{File, OpenOptions};
use std::process::{Command, Stdio};

use rustix::mm::{MapFlags, ProtFlags};

use crate::loop_device::LoopDevice;
use crate::place::{Background, Place, assert_refused, assert_written, overwrite, wait_until};
use crate::requirement::{Requirement, skip};

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

#[test]
fn file_that_a_process_has_mapped_as_a_library_is_refused() {
    let place = Place::new();
    let file = place.image("file");
    let open = File::open(&file).unwrap();
    // SAFETY: nothing in this process touches the mapping, which is taken away below.
    let mapping = unsafe {
        let flags = MapFlags::PRIVATE;
        rustix::mm::mmap(std::ptr::null_mut(), 4096, ProtFlags::READ, flags, &open, 0)
    };
    let mapping = mapping.unwrap();
    drop(open);
    let expected = format!("process {} (", std::process::id());
    let output = overwrite(&file);
    assert_refused(&output, "mapped");
    assert_refused(&output, &expected);
    // SAFETY: it was mapped above with that length.
    unsafe { rustix::mm::munmap(mapping, 4096) }.unwrap();
    assert_written(&overwrite(&file));
}

/// The first thread ends, the second one keeps a shared mapping of the file.
const ORPHAN: &str = "
import ctypes, mmap, os, sys, threading, time
file = os.open(sys.argv[1], os.O_RDWR)
memory = mmap.mmap(file, 4096)
os.close(file)
def stay():
    time.sleep(0.2)
    open(sys.argv[2], 'w').close()
    time.sleep(600)
threading.Thread(target=stay).start()
ctypes.CDLL(None).pthread_exit(None)
";

#[test]
fn device_mapped_by_a_process_whose_first_thread_has_ended_is_refused() {
    let place = Place::new();
    let image = place.image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let done = place.path("done");
    let child = Command::new("python3")
        .args(["-c", ORPHAN, device.path(), done.to_str().unwrap()])
        .stdin(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        return skip(Requirement::Program, "no python3");
    };
    let mut child = Background(child);
    let status = format!("/proc/{}/stat", child.0.id());
    wait_until("its first thread has ended", || {
        let stat = std::fs::read_to_string(&status).unwrap_or_default();
        done.exists() && stat.contains(") Z ") || child.0.try_wait().unwrap().is_some()
    });
    if child.0.try_wait().unwrap().is_some() {
        return skip(
            Requirement::Program,
            "python3 cannot end its first thread alone",
        );
    }
    assert_refused(&overwrite(device.path()), "mapped for writing");
    drop(child);
}
