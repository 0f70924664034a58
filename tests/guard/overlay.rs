//! Overlays: a file has one identity in the overlay and another in its upper directory.

use std::fs::OpenOptions;
use std::path::PathBuf;

use crate::loop_device::LoopDevice;
use crate::place::{Place, assert_refused, assert_written, content, is_root, overwrite};
use crate::requirement::Requirement;

/// An overlay with a file in its upper directory: the path through the overlay and the real one.
fn overlay(place: &mut Place, is_relative: bool) -> Option<(PathBuf, PathBuf)> {
    if !is_root() {
        return None;
    }
    for name in ["lower", "upper", "work"] {
        place.subdirectory(name);
    }
    let real = place.image("upper/file");
    let base = place.directory.path().display().to_string();
    let base = if is_relative {
        String::new()
    } else {
        format!("{base}/")
    };
    let options = format!("lowerdir={base}lower,upperdir={base}upper,workdir={base}work");
    let point = place.path("merged");
    let point = point.to_str().unwrap();
    if is_relative {
        std::fs::create_dir_all(point).unwrap();
        let command = format!(
            "cd {} && mount -t overlay overlay -o {options} {point}",
            place.directory.path().display()
        );
        let mounted = place.mount_by(&command, point, Requirement::Overlay);
        return mounted.then(|| (place.path("merged/file"), real));
    }
    let arguments = ["-t", "overlay", "overlay", "-o", &options, point];
    let mounted = place.mount(&arguments, Requirement::Overlay);
    mounted.then(|| (place.path("merged/file"), real))
}

#[test]
fn file_of_overlay_that_nobody_uses_is_written() {
    let mut place = Place::new();
    let Some((merged, real)) = overlay(&mut place, false) else {
        return;
    };
    assert_written(&overwrite(&merged));
    assert_written(&overwrite(&real));
}

#[test]
fn file_attached_through_overlay_is_refused_in_upper_directory() {
    let mut place = Place::new();
    let Some((merged, real)) = overlay(&mut place, false) else {
        return;
    };
    let Some(device) = LoopDevice::attach(&merged, &[]) else {
        return;
    };
    assert_refused(&overwrite(&real), "is attached to");
    assert_refused(&overwrite(&merged), "is attached to");
    drop(device);
}

#[test]
fn file_attached_in_upper_directory_is_refused_through_overlay() {
    let mut place = Place::new();
    let Some((merged, real)) = overlay(&mut place, false) else {
        return;
    };
    let Some(device) = LoopDevice::attach(&real, &[]) else {
        return;
    };
    assert_refused(&overwrite(&merged), "is attached to");
    drop(device);
}

#[test]
fn loop_device_on_upper_file_is_refused_when_the_one_through_overlay_is_mounted() {
    let mut place = Place::new();
    let Some((merged, real)) = overlay(&mut place, false) else {
        return;
    };
    let Some(first) = place.mounted(&merged, &[]) else {
        return;
    };
    let Some(second) = LoopDevice::attach(&real, &[]) else {
        return;
    };
    let before = content(&real);
    assert_refused(&overwrite(second.path()), "is mounted at");
    assert!(content(&real) == before);
    drop((first, second));
}

#[test]
fn file_open_for_writing_on_one_side_of_overlay_is_refused_on_the_other() {
    let mut place = Place::new();
    let Some((merged, real)) = overlay(&mut place, false) else {
        return;
    };
    for (open, target) in [(&merged, &real), (&real, &merged)] {
        let writer = OpenOptions::new().write(true).open(open).unwrap();
        assert_refused(&overwrite(target), "open for writing");
        drop(writer);
    }
}

#[test]
fn file_of_overlay_whose_upper_directory_cannot_be_found_is_refused() {
    let mut place = Place::new();
    let Some((merged, _)) = overlay(&mut place, true) else {
        return;
    };
    assert_refused(&overwrite(&merged), "upper directory of the overlay");
}
