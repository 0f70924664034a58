//! Names that another user made.

use std::fs;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::PathBuf;

use crate::guard::sandbox::{
    GuardSandbox, assert_refused, assert_written, is_root, run_overwrite, test_content,
};
use crate::loop_device::LoopDevice;

const USER: u32 = 1000;

/// A directory of another user, or one that everybody may write.
fn directories(sandbox: &GuardSandbox) -> [PathBuf; 2] {
    let theirs = sandbox.subdirectory("theirs");
    lchown(&theirs, Some(USER), Some(USER)).unwrap();
    let shared = sandbox.subdirectory("shared");
    fs::set_permissions(&shared, fs::Permissions::from_mode(0o1777)).unwrap();
    [theirs, shared]
}

#[test]
fn link_of_another_user_to_a_file_or_device_of_root_is_refused() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let image = sandbox.create_image("image");
    let device = LoopDevice::attach(&image, &[]);
    let mut victims = vec![file.clone()];
    victims.extend(device.iter().map(|device| PathBuf::from(device.path())));
    for directory in directories(&sandbox) {
        for victim in &victims {
            let link = directory.join("link");
            symlink(victim, &link).unwrap();
            lchown(&link, Some(USER), Some(USER)).unwrap();
            assert_refused(&run_overwrite(&link), "symbolic link");
            fs::remove_file(&link).unwrap();
        }
        let (real, moved) = (directory.join("real"), directory.join("moved"));
        symlink(sandbox.directory.path(), &real).unwrap();
        lchown(&real, Some(USER), Some(USER)).unwrap();
        assert_refused(&run_overwrite(real.join("file")), "symbolic link");
        fs::rename(&real, &moved).unwrap();
    }
    for untouched in [&file, &image] {
        assert!(test_content(untouched).iter().all(|byte| *byte == 0));
    }
}

#[test]
fn own_link_and_file_of_another_user_are_written() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let link = sandbox.path("link");
    symlink(&file, &link).unwrap();
    assert_written(&run_overwrite(&link));
    let [theirs, _] = directories(&sandbox);
    let their_file = theirs.join("file");
    fs::rename(&file, &their_file).unwrap();
    lchown(&their_file, Some(USER), Some(USER)).unwrap();
    assert_written(&run_overwrite(&their_file));
}
