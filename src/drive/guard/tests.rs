//! The guard on real loop devices. Each needs root and loop devices; where it cannot run it says
//! so and passes.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::drive::target;

/// Runs a program; its output when it succeeded.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A file and a loop device attached to it, detached again at the end.
struct Loop {
    device: String,
    file: PathBuf,
    directory: tempfile::TempDir,
}

impl Loop {
    fn new(options: &[&str]) -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("image");
        fs::File::create(&file).unwrap().set_len(64 << 20).unwrap();
        let mut arguments = vec!["--find", "--show"];
        arguments.extend(options);
        arguments.push(file.to_str().unwrap());
        let device = run("losetup", &arguments);
        if device.is_none() {
            println!("skipped: no loop device can be attached here (root is needed)");
        }
        Some(Self {
            device: device?,
            file,
            directory,
        })
    }

    fn path(&self, name: &str) -> String {
        self.directory.path().join(name).display().to_string()
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        run("losetup", &["--detach", &self.device]);
    }
}

/// Undoes something when it goes out of scope, also after a failed assertion.
struct Undo(&'static str, Vec<String>);

impl Drop for Undo {
    fn drop(&mut self) {
        let arguments: Vec<&str> = self.1.iter().map(String::as_str).collect();
        run(self.0, &arguments);
    }
}

/// Asks for permission with consent that names the target itself.
fn ask(name: &str) -> Result<WritePermit, Refusal> {
    let roots = Roots::default();
    let medium = target::open(&roots, name, None).unwrap();
    permit(&roots, &medium, Some(Path::new(name)))
}

fn refusal(name: &str) -> String {
    let error = ask(name).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Refused);
    assert!(!error.advice().is_empty());
    error.to_string()
}

fn short(device: &str) -> &str {
    device.trim_start_matches("/dev/")
}

#[test]
fn an_unused_device_is_permitted_with_consent_and_held_meanwhile() {
    let Some(device) = Loop::new(&[]) else { return };
    let permit = ask(&device.device).unwrap();
    let second = refusal(&device.device);
    assert!(second.contains("for itself alone"), "{second}");
    drop(permit);
    assert!(ask(&device.device).is_ok());
}

#[test]
fn consent_must_name_the_target_by_whatever_path() {
    let Some(device) = Loop::new(&[]) else { return };
    let roots = Roots::default();
    let medium = target::open(&roots, &device.device, None).unwrap();
    let ask = |consent: Option<&str>| permit(&roots, &medium, consent.map(Path::new));
    assert!(matches!(ask(None), Err(Refusal::NoConsent { .. })));
    let file = device.file.to_str().unwrap();
    assert!(matches!(ask(Some(file)), Err(Refusal::OtherPath { .. })));
    assert!(matches!(
        ask(Some("/nonexistent")),
        Err(Refusal::OtherPath { .. })
    ));
    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    assert!(ask(Some(&link)).is_ok());
}

#[test]
fn a_mounted_device_is_refused_by_all_its_names() {
    let Some(device) = Loop::new(&[]) else { return };
    if run("mkfs.ext4", &["-q", &device.device]).is_none() {
        return println!("skipped: no mkfs.ext4");
    }
    let point = device.path("mounted");
    fs::create_dir(&point).unwrap();
    if run("mount", &[&device.device, &point]).is_none() {
        return println!("skipped: cannot mount here");
    }
    let _undo = Undo("umount", vec![point.clone()]);
    let expected = format!("{} is mounted at {point}", short(&device.device));
    assert!(refusal(&device.device).contains(&expected));

    let link = device.path("link");
    symlink(&device.device, &link).unwrap();
    assert!(refusal(&link).contains(&expected));

    let number = fs::metadata(&device.device).unwrap().rdev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let node = device.path("node");
    let numbers = [major.to_string(), minor.to_string()];
    if run("mknod", &[&node, "b", &numbers[0], &numbers[1]]).is_some() {
        // A file system mounted with nodev would not let it be opened.
        match target::open(&Roots::default(), &node, None) {
            Ok(_) => assert!(refusal(&node).contains(&expected)),
            Err(error) => println!("skipped the other node: {error}"),
        }
    }
    let file = device.file.to_str().unwrap();
    assert!(refusal(file).contains("is attached to"), "its backing file");
}

#[test]
fn a_device_is_refused_when_a_partition_of_it_is_mounted() {
    let Some(device) = Loop::new(&["--partscan"]) else {
        return;
    };
    let label = device.path("label");
    fs::write(&label, "label: gpt\nsize=20MiB\nsize=20MiB\n").unwrap();
    let script = format!("sfdisk -q {} < {label}", device.device);
    let parts = [
        format!("{}p1", device.device),
        format!("{}p2", device.device),
    ];
    if run("sh", &["-c", &script]).is_none() || !Path::new(&parts[1]).exists() {
        return println!("skipped: no partitions on loop devices here");
    }
    if run("mkfs.ext4", &["-q", &parts[0]]).is_none() {
        return println!("skipped: no mkfs.ext4");
    }
    let point = device.path("mounted");
    fs::create_dir(&point).unwrap();
    if run("mount", &[&parts[0], &point]).is_none() {
        return println!("skipped: cannot mount here");
    }
    let _undo = Undo("umount", vec![point]);
    assert!(refusal(&device.device).contains("p1 is mounted at"));
    assert!(refusal(&parts[0]).contains("p1 is mounted at"));
    assert!(ask(&parts[1]).is_ok(), "the other partition is free");

    let roots = Roots::default();
    let medium = target::open(&roots, &device.device, None).unwrap();
    let facts = inspect(&roots, &medium).unwrap();
    assert_eq!(facts.signatures, ["gpt"]);
    assert_eq!(facts.partitions.len(), 2);
    assert_eq!(facts.partitions[0].mounted_at.len(), 1);
    assert!(!facts.conflicts.is_empty());
}

#[test]
fn a_device_under_device_mapper_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
    let name = format!("diskscope-test-{}", std::process::id());
    let table = format!("0 65536 linear {} 0", device.device);
    if run("dmsetup", &["create", &name, "--table", &table]).is_none() {
        return println!("skipped: no device mapper here");
    }
    let _undo = Undo("dmsetup", vec!["remove".to_owned(), name]);
    assert!(refusal(&device.device).contains("lies on"));
}

#[test]
fn a_member_of_a_raid_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
    let array = "/dev/md/diskscope-test";
    let create = [
        "--create",
        array,
        "--level=linear",
        "--force",
        "--raid-devices=1",
        "--run",
        device.device.as_str(),
    ];
    if run("mdadm", &create).is_none() {
        return println!("skipped: no software RAID here");
    }
    let _undo = Undo("mdadm", vec!["--stop".to_owned(), array.to_owned()]);
    assert!(refusal(&device.device).contains("lies on"));
}

#[test]
fn swap_is_refused_on_a_device() {
    let Some(device) = Loop::new(&[]) else { return };
    if run("mkswap", &[&device.device]).is_none() || run("swapon", &[&device.device]).is_none() {
        return println!("skipped: cannot swap here");
    }
    let _undo = Undo("swapoff", vec![device.device.clone()]);
    assert!(refusal(&device.device).contains("swaps to"));
}

#[test]
fn swap_is_refused_in_a_file() {
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let file = directory.path().join("swap");
    fs::write(&file, vec![0; 8 << 20]).unwrap();
    let name = file.to_str().unwrap();
    run("chmod", &["600", name]);
    if run("mkswap", &[name]).is_none() || run("swapon", &[name]).is_none() {
        return println!("skipped: cannot swap to a file here");
    }
    let _undo = Undo("swapoff", vec![name.to_owned()]);
    assert!(refusal(name).contains("swaps to"));
}

#[test]
fn a_device_that_someone_holds_exclusively_is_refused() {
    let Some(device) = Loop::new(&[]) else { return };
    let flags = OFlags::RDONLY | OFlags::EXCL | OFlags::CLOEXEC;
    let held = rustix::fs::open(&device.device, flags, Permissions::empty()).unwrap();
    assert!(refusal(&device.device).contains("for itself alone"));
    drop(held);
    assert!(ask(&device.device).is_ok());
}

#[test]
fn a_read_only_device_is_refused() {
    let Some(device) = Loop::new(&["--read-only"]) else {
        return;
    };
    assert!(refusal(&device.device).ends_with("is read-only"));
}

#[test]
fn a_device_with_a_loop_device_on_it_is_refused_in_both_directions() {
    let Some(lower) = Loop::new(&[]) else { return };
    let Some(upper) = run("losetup", &["--find", "--show", &lower.device]) else {
        return println!("skipped: no loop device on a loop device");
    };
    let _undo = Undo("losetup", vec!["--detach".to_owned(), upper.clone()]);
    assert!(refusal(&lower.device).contains("is attached to"));
    if run("mkfs.ext4", &["-q", &lower.device]).is_none() {
        return println!("skipped: no mkfs.ext4");
    }
    assert!(ask(&upper).is_ok(), "nobody uses what lies below");
    let point = lower.path("mounted");
    fs::create_dir(&point).unwrap();
    if run("mount", &[&lower.device, &point]).is_none() {
        return println!("skipped: cannot mount here");
    }
    let _mounted = Undo("umount", vec![point]);
    assert!(
        refusal(&upper).contains("is mounted at"),
        "what lies below is"
    );
}

#[test]
fn a_device_that_is_mounted_after_the_permit_was_prepared_cannot_be() {
    let Some(device) = Loop::new(&[]) else { return };
    if run("mkfs.ext4", &["-q", &device.device]).is_none() {
        return println!("skipped: no mkfs.ext4");
    }
    let point = device.path("mounted");
    fs::create_dir(&point).unwrap();
    let permit = ask(&device.device).unwrap();
    let mounted = run("mount", &[&device.device, &point]);
    let _undo = mounted.as_ref().map(|_| Undo("umount", vec![point]));
    assert!(mounted.is_none(), "the permit keeps file systems off");
    drop(permit);
}

#[test]
fn a_permit_opens_its_own_medium_only() {
    let directory = tempfile::tempdir().unwrap();
    let names = ["one", "two"].map(|name| directory.path().join(name).display().to_string());
    names
        .iter()
        .for_each(|name| fs::write(name, vec![1; 8192]).unwrap());
    let roots = Roots::default();
    let [one, two] = names
        .clone()
        .map(|name| target::open(&roots, &name, None).unwrap());
    let permit = permit(&roots, &one, Some(Path::new(&names[0]))).unwrap();
    let access = target::Access {
        mode: target::Mode::Write(&permit),
        ..target::Access::default()
    };
    assert!(one.open(access).is_ok());
    assert!(matches!(two.open(access), Err(DriveError::Changed { .. })));
    fs::rename(&names[1], &names[0]).unwrap();
    assert!(one.open(access).is_ok(), "still the inode that was checked");
    let metadata = fs::metadata(&names[0]).unwrap();
    assert_ne!(FileId::of(&metadata), one.id());
}

#[test]
fn without_the_table_of_mounts_nothing_is_permitted() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, vec![1; 8192]).unwrap();
    let name = file.to_str().unwrap();
    let medium = target::open(&Roots::default(), name, None).unwrap();
    let blind = Roots::below(directory.path());
    let result = permit(&blind, &medium, Some(&file));
    assert!(matches!(result, Err(Refusal::Unknown { .. })));
}
