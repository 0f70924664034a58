//! Commands for deleted files, and advice on drives.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::Command;

use diskscope::why::remedies::{ProcessInstance, idle_class};
use serde_json::Value;

use crate::file_system::make_file_system;
use crate::fio::has_fio;
use crate::loop_device::LoopDevice;
use crate::printed_commands::medium::run_pasted_command;
use crate::process::wait_until;
use crate::requirement::Requirement;

/// What the program says of the deleted files.
fn deleted_files() -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["files", "--json"])
        .output()
        .unwrap();
    let listed: Value = serde_json::from_slice(&output.stdout).unwrap();
    let listed = listed
        .as_array()
        .cloned()
        .or_else(|| listed["files"].as_array().cloned());
    listed.unwrap()
}

/// What the program says of one of this test's deleted files.
fn deleted_file_report(of: &fs::File) -> Value {
    let pid = u64::from(std::process::id());
    let descriptor = u64::try_from(of.as_raw_fd()).unwrap();
    let is_ours = |file: &&Value| {
        let holders = file["holders"].as_array().unwrap();
        holders
            .iter()
            .any(|h| h["pid"] == pid && h["descriptor"] == descriptor)
    };
    deleted_files().iter().find(is_ours).cloned().unwrap()
}

#[test]
fn deleted_file_commands_copy_and_truncate_only_that_file() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let name = OsStr::from_bytes(b"it's $(x)\n\xff\x1b log");
    let path = place.path().join(name);
    let content = b"content ".repeat(5000);
    fs::write(&path, &content).unwrap();
    let held = fs::File::options().append(true).open(&path).unwrap();
    fs::remove_file(&path).unwrap();
    let room = place.path().join("room");
    fs::create_dir(&room).unwrap();
    let file = deleted_file_report(&held);
    let rescue = file["rescue"].as_str().unwrap();
    let rescue = rescue.replace("/where/there/is/room", room.to_str().unwrap());
    let output = Command::new("bash").args(["-c", &rescue]).output().unwrap();
    assert!(output.status.success(), "{rescue}: {output:?}");
    assert_eq!(fs::read(room.join(name)).unwrap(), content, "{rescue}");
    // A file of that name is kept.
    fs::write(room.join(name), "newer").unwrap();
    run_pasted_command(&rescue, &room);
    assert_eq!(fs::read(room.join(name)).unwrap(), b"newer");
    let release = file["release"].as_str().unwrap();
    // The same descriptor, but another file: the commands leave it alone.
    let other = place.path().join("other");
    fs::write(&other, "precious").unwrap();
    let number = held.as_raw_fd();
    let aside = held.try_clone().unwrap();
    let precious = fs::File::open(&other).unwrap();
    let mut slot = std::os::fd::OwnedFd::from(held);
    rustix::io::dup2(&precious, &mut slot).unwrap();
    assert_eq!(slot.as_raw_fd(), number);
    for command in [release, &rescue] {
        let output = run_pasted_command(command, &room);
        assert!(!output.status.success(), "{command}: {output:?}");
    }
    assert_eq!(fs::read(&other).unwrap(), b"precious");
    rustix::io::dup2(&aside, &mut slot).unwrap();
    let output = run_pasted_command(release, &room);
    assert!(output.status.success(), "{release}: {output:?}");
    assert_eq!(aside.metadata().unwrap().len(), 0);
}

#[test]
fn scratch_file_of_a_benchmark_is_shown_as_such_throughout() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut run = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["run", "random-read", "--duration", "3s", "--json"])
        .args([place.path().join("output"), place.path().to_owned()])
        .env("XDG_STATE_HOME", place.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let (mut shown, mut measured) = (HashSet::new(), false);
    while run.try_wait().unwrap().is_none() {
        for file in deleted_files() {
            let path = file["path"].as_str().unwrap().to_owned();
            if Path::new(&path).starts_with(place.path()) {
                assert_eq!(file["needed_by"], "benchmark", "{file}");
                measured |= file["holders"].as_array().unwrap().len() > 1;
                shown.insert(path);
            }
        }
    }
    assert!(measured && !shown.is_empty(), "{shown:?}");
}

#[test]
fn loop_device_advice_command_has_stated_effect() {
    let Some(device) = LoopDevice::with(&vec![0; 16 << 20]) else {
        return;
    };
    let empty = tempfile::tempdir().unwrap();
    let name = device.name().to_owned();
    let devices = || {
        let binary = env!("CARGO_BIN_EXE_diskscope");
        Command::new(binary)
            .args(["devices", "--json"])
            .output()
            .unwrap()
            .stdout
    };
    let advice = |code: &str| advice_command(&devices(), &name, code);
    let direct = advice("loop-direct-io").unwrap();
    let output = run_pasted_command(&direct, empty.path());
    assert!(output.status.success(), "{direct}: {output:?}");
    assert_eq!(advice("loop-direct-io"), None);
    if device.set("scheduler", "mq-deadline") {
        let scheduler = advice("scheduler").unwrap();
        let output = run_pasted_command(&scheduler, empty.path());
        assert!(output.status.success(), "{scheduler}: {output:?}");
        assert!(device.queue("scheduler").contains("[none]"));
        assert_eq!(advice("scheduler"), None);
    }
}

#[test]
fn idle_class_command_sets_all_threads() {
    let mut process = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["watch", "--json", "--interval", "60"])
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // The process that was started supervises the one that works, which has several threads.
    let children = format!("/proc/{0}/task/{0}/children", process.id());
    let worker = || {
        fs::read_to_string(&children)
            .unwrap()
            .trim()
            .parse::<u32>()
            .ok()
    };
    let tasks_of = |pid: u32| -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{pid}/task"));
        let names = tasks.into_iter().flatten().flatten();
        let names = names.map(|task| task.file_name().into_string().unwrap());
        names.collect()
    };
    // At its start it has another child for a moment.
    let found = std::cell::Cell::new(0);
    wait_until("a second thread", || {
        found.set(worker().unwrap_or(0));
        tasks_of(found.get()).len() > 1
    });
    let pid = found.get();
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let start_ticks = stat.split(' ').nth(21).unwrap().parse().unwrap();
    let remedy = idle_class(ProcessInstance { pid, start_ticks }, &"bfq".into());
    let command = remedy.command.unwrap();
    let output = run_pasted_command(&command, Path::new("/"));
    assert!(output.status.success(), "{command}: {output:?}");
    for task in tasks_of(pid) {
        let class = Command::new("ionice").args(["-p", &task]).output().unwrap();
        assert_eq!(class.stdout, b"idle\n", "{task}");
    }
    process.kill().unwrap();
    process.wait().unwrap();
}

/// The lines of fio that repeat a run that writes on a target.
fn writing_fio_lines(target: &str) -> String {
    let state = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["run", "random-write", target, "--requests", "100"])
        .args(["--overwrite", target, "--json", "-"])
        .env("XDG_STATE_HOME", state.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let lines = document["runs"][0]["reproduce"]["fio"].as_str();
    lines.unwrap().to_owned()
}

#[test]
fn fio_line_that_writes_leaves_a_shorter_file_alone() {
    if !has_fio() {
        return;
    }
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let (file, link) = (place.path().join("it's"), place.path().join("link"));
    let content = vec![0xa5; 1 << 20];
    fs::write(&file, &content).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let lines = writing_fio_lines(link.to_str().unwrap());
    let run = || run_pasted_command(&lines, Path::new("/"));
    let shorter = &content[..512 << 10];
    fs::write(&file, shorter).unwrap();
    assert!(!run().status.success());
    assert!(fs::read(&link).unwrap() == shorter, "{lines}");
    fs::remove_file(&file).unwrap();
    assert!(!run().status.success());
    assert!(fs::symlink_metadata(&link).is_ok(), "{lines}");
    // The condition is the only obstacle.
    fs::write(&file, &content).unwrap();
    let output = run();
    assert!(output.status.success(), "{lines}: {output:?}");
    assert!(fs::read(&file).unwrap() != content);
}

#[test]
fn fio_line_that_writes_leaves_a_device_in_use_alone() {
    if !has_fio() {
        return;
    }
    let Some(device) = LoopDevice::with(&vec![0; 16 << 20]) else {
        return;
    };
    let place = tempfile::tempdir().unwrap();
    let link = place.path().join("link");
    std::os::unix::fs::symlink(device.path(), &link).unwrap();
    let lines = [device.path(), link.to_str().unwrap()].map(writing_fio_lines);
    for line in &lines {
        let output = run_pasted_command(line, Path::new("/"));
        assert!(output.status.success(), "{line}: {output:?}");
    }
    if !make_file_system(&device, "ext4", &[], Requirement::Ext4) {
        return;
    }
    for line in &lines {
        // In a mount namespace of its own: nothing of it is seen outside.
        let script = format!("mount \"$1\" \"$2\"; ! {{\n{line}\n}}");
        let output = Command::new("unshare")
            .args(["--mount", "sh", "-e", "-c", &script, "sh", device.path()])
            .arg(place.path())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
        assert!(output.stdout.is_empty(), "fio has run: {output:?}");
    }
    let check = Command::new("fsck.ext4")
        .args(["-fn", device.path()])
        .output();
    let check = check.unwrap();
    assert!(check.status.success(), "{check:?}");
}

/// The command of one piece of advice on a drive, from what `diskscope devices --json` printed.
fn advice_command(devices: &[u8], name: &str, code: &str) -> Option<String> {
    let listed: Value = serde_json::from_slice(devices).unwrap();
    let drives = listed
        .as_array()
        .or_else(|| listed["devices"].as_array())
        .unwrap();
    let drive = drives.iter().find(|drive| drive["name"] == name).unwrap();
    let mut advice = drive["advice"].as_array().unwrap().iter();
    let found = advice.find(|advice| advice["code"] == code)?;
    Some(found["command"].as_str().unwrap().to_owned())
}

#[test]
fn strictatime_advice_command_remounts_named_mount_point() {
    let Some(device) = LoopDevice::with(&vec![0; 16 << 20]) else {
        return;
    };
    if !make_file_system(&device, "ext4", &[], Requirement::Ext4) {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let name = device.name();
    for (directory, command) in [
        ("it's $(here) a\\b", "mount "),
        ("line\nbreak ", "mount "),
        ("covered", "findmnt "),
    ] {
        let at = place.path().join(directory);
        fs::create_dir(&at).unwrap();
        // /etc/fstab has other options than the mount: it is neither to lose one nor to get one.
        let table = place.path().join("fstab");
        let mount_point = at
            .to_str()
            .unwrap()
            .replace('\\', "\\134")
            .replace(' ', "\\040")
            .replace('\n', "\\012");
        let line = format!(
            "{} {mount_point} ext4 strictatime,nodiratime 0 2\n",
            device.path()
        );
        fs::write(&table, line).unwrap();
        // In a mount namespace of its own: nothing of it is seen outside.
        let mounted = |script: &str| {
            let mount = "mount --bind \"$3\" /etc/fstab; mount -o strictatime,nosuid \"$1\" \"$2\"";
            // By its mount point, a command would remount the file system above it.
            let cover = match directory {
                "covered" => "; mount -t tmpfs above \"$2\"",
                _ => "",
            };
            let output = Command::new("unshare")
                .args(["--mount", "bash", "-e", "-c"])
                .arg(format!("{mount}{cover}; {script}"))
                .args(["bash", device.path(), at.to_str().unwrap()])
                .arg(&table)
                .output()
                .unwrap();
            assert!(output.status.success(), "{script}: {output:?}");
            output.stdout
        };
        let binary = env!("CARGO_BIN_EXE_diskscope");
        let devices = mounted(&format!("'{binary}' devices --json"));
        let advised = advice_command(&devices, name, "access-time").unwrap();
        assert!(advised.starts_with(command), "{advised}");
        let after = mounted(&format!("{advised} >&2; grep \"^$1 \" /proc/mounts"));
        let after = String::from_utf8(after).unwrap();
        let has = |option| after.contains(option);
        assert_eq!(has("relatime"), command == "mount ", "{advised}: {after}");
        assert!(has("nosuid") && !has("nodiratime"), "{advised}: {after}");
        if command == "findmnt " {
            continue;
        }
        // Another mount of the file system stays as it is.
        let other = "mkdir -p \"$2/../other\"; mount --bind \"$2\" \"$2/../other\"; \
                     mount -o remount,bind,ro \"$2\"";
        let readonly = mounted(&format!("{other}; '{binary}' devices --json"));
        assert_eq!(advice_command(&readonly, name, "access-time"), None);
        let after = mounted(&format!("{other}; {advised} >&2; : > \"$2/../other/x\""));
        assert_eq!(after, b"");
    }
}
