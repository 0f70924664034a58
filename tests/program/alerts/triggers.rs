//! Triggers of loads on a loop device and on a file system that does not answer.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{ALWAYS, printed, text, watch};
use crate::live::live_sampler::RunningChild;
use crate::loop_device::LoopDevice;
use crate::process::wait_until;
use crate::requirement::{Requirement, skip};
use crate::slow_disk::{Operation, SlowDisk};

/// The first line of a `watch` with these conditions, which takes 20 s at most.
fn first_trigger(conditions: &[String]) -> Value {
    let mut arguments = vec!["--json", "--count", "200"];
    for condition in conditions {
        arguments.extend(["--on", condition]);
    }
    let mut command = watch(&arguments);
    let mut running = RunningChild(
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let mut line = String::new();
    let mut output = BufReader::new(running.0.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    serde_json::from_str(&line).unwrap()
}

#[test]
fn writes_to_a_loop_device_trigger_its_condition() {
    let Some(disk) = LoopDevice::with(&vec![0; 8 << 20]) else {
        return;
    };
    let script = format!(
        "while dd if=/dev/zero of={} bs=1M count=8 oflag=direct conv=notrunc 2>/dev/null; do :; done",
        disk.path()
    );
    let mut load = RunningChild(Command::new("sh").args(["-c", &script]).spawn().unwrap());
    let name = disk.name();
    let trigger = first_trigger(&[
        format!("write_bytes_per_s({name})>=1GB/s for 1h"),
        format!("write_bytes_per_s({name})>0 for 200ms"),
    ]);
    load.0.kill().unwrap();
    assert_eq!(trigger["metric"], "write_bytes_per_s");
    assert_eq!(
        trigger["condition"],
        format!("write_bytes_per_s({name})>0 for 200ms")
    );
    assert_eq!(trigger["scope"], "device");
    assert_eq!(trigger["name"], name);
    assert_eq!(trigger["unit"], "B/s");
    assert!(trigger["value"].as_f64().unwrap() > 0.0);
    assert!(trigger["held_ns"].as_u64().unwrap() >= 200_000_000);
    assert!(trigger["since"].as_str() < trigger["time"].as_str());
}

#[test]
fn process_in_uninterruptible_sleep_triggers_dstate() {
    let Some(slow) = SlowDisk::mount() else {
        return;
    };
    // A process that waits for the file system itself sleeps interruptibly at first.
    let Some(disk) = LoopDevice::attach(&slow.file(), &[]) else {
        return;
    };
    slow.slow_down(Operation::Read);
    let input = format!("if={}", disk.path());
    let mut reader = RunningChild(
        Command::new("dd")
            .args([&*input, "of=/dev/null", "bs=4k", "count=1", "iflag=direct"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let pid = reader.0.id();
    let trigger = first_trigger(&[format!("dstate({pid})>1h"), format!("dstate({pid})>=500ms")]);
    slow.be_quick();
    reader.0.wait().unwrap();
    assert_eq!(trigger["scope"], "process");
    assert_eq!(trigger["pid"], pid);
    assert!(trigger["name"].as_str().unwrap().starts_with("dd "));
    let blocked = trigger["value"].as_f64().unwrap();
    assert!((0.5e9..60e9).contains(&blocked), "{blocked}");
}

/// The kernel's average over 10 s of the time in which tasks wait for I/O, in percent.
fn io_pressure() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/pressure/io").ok()?;
    let some = text.lines().find(|line| line.starts_with("some "))?;
    let average = some.split(' ').find_map(|it| it.strip_prefix("avg10="))?;
    average.parse().ok()
}

/// Whether a task waits for I/O at this moment.
fn tasks_wait_for_io() -> bool {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let count = text
        .lines()
        .find_map(|line| line.strip_prefix("procs_blocked "));
    count.is_some_and(|count| count != "0")
}

#[test]
fn processes_that_wait_for_their_requests_trigger_io_pressure() {
    if io_pressure().is_none() {
        skip(Requirement::Kernel, "no /proc/pressure/io");
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let path = directory.path().join("file");
    std::fs::write(&path, vec![7; 64 << 20]).unwrap();
    File::open(&path).unwrap().sync_all().unwrap();
    // Short waits in quick succession: some kernels count hardly any of long waits on processors
    // that are idle otherwise.
    let read = || {
        let mut reader = Command::new("sh");
        reader.args([
            "-c",
            "while dd if=\"$0\" of=/dev/null bs=4k iflag=direct; do :; done",
        ]);
        RunningChild(reader.arg(&path).stderr(Stdio::null()).spawn().unwrap())
    };
    let readers = [read(), read()];
    // The average rises to 63 % within 10 s of waiting all the time.
    let (mut looks, mut blocked) = (0, 0);
    let deadline = Instant::now() + Duration::from_secs(45);
    while io_pressure().is_some_and(|percent| percent < 2.0) {
        looks += 1;
        blocked += u32::from(tasks_wait_for_io());
        if Instant::now() >= deadline {
            assert!(blocked * 20 >= looks, "nobody waits: {blocked} of {looks}");
            drop(readers);
            skip(
                Requirement::Kernel,
                "/proc/pressure/io does not count these waits",
            );
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let trigger = first_trigger(&[
        "pressure_some(system)>100%".to_owned(),
        "pressure_some(system)>=1%".to_owned(),
    ]);
    drop(readers);
    assert_eq!(trigger["condition"], "pressure_some(system)>=1%");
    assert_eq!(
        (&trigger["scope"], &trigger["unit"]),
        (&"system".into(), &"ratio".into())
    );
    let value = trigger["value"].as_f64().unwrap();
    assert!((0.01..=1.0).contains(&value), "{value}");
}

#[test]
fn request_that_a_fuse_server_does_not_answer_triggers_waiting() {
    let Some(slow) = SlowDisk::mount() else {
        return;
    };
    let connections = std::fs::read_dir("/sys/fs/fuse/connections");
    if connections.is_ok_and(|mut it| it.next().is_none()) {
        skip(Requirement::Kernel, "fusectl is not mounted");
        return;
    }
    slow.slow_down(Operation::Read);
    let input = format!("if={}", slow.file().display());
    let mut reader = RunningChild(
        Command::new("dd")
            .args([&*input, "of=/dev/null", "bs=4k", "count=1"])
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    wait_until("the server has the request", || {
        slow.is_waited_for(Operation::Read)
    });
    let mount = slow.file().parent().unwrap().display().to_string();
    let trigger = first_trigger(&[
        format!("waiting({mount})>1000"),
        format!("waiting({mount})>0"),
    ]);
    slow.be_quick();
    reader.0.wait().unwrap();
    assert_eq!(trigger["condition"], format!("waiting({mount})>0"));
    assert_eq!(trigger["scope"], "mount");
    assert_eq!(trigger["name"], mount.as_str());
    assert!(trigger["value"].as_f64() >= Some(1.0), "{trigger}");
}

#[test]
fn condition_that_goes_on_is_printed_once() {
    let output = watch(&["--count", "4", "--on", ALWAYS]).output().unwrap();
    let (stdout, _) = printed(&output);
    let lines: Vec<&str> = stdout.lines().collect();
    let [line] = lines.as_slice() else {
        panic!("{stdout}");
    };
    assert!(line.contains("Z cpu_busy(system)>=0%: "), "{line}");
}

#[test]
fn scope_that_does_not_exist_is_noted() {
    let condition = "busy(no-such-device)>5%";
    let output = watch(&["--count", "1", "--on", condition])
        .output()
        .unwrap();
    let (stdout, stderr) = printed(&output);
    assert_eq!(stdout, "");
    assert!(
        stderr.contains("note: busy(no-such-device)>5%: there is nothing"),
        "{stderr}"
    );
}

#[test]
fn wrong_conditions_and_commands_are_usage_errors() {
    for (arguments, hint) in [
        (&["--on", "awiat(sda)>5ms"][..], "did you mean await?"),
        (&["--on", "await(sda)>5"], "a time such as"),
        (&["--exec", "true"], "--on"),
        (&["--on", ALWAYS, "--exec", "no-such-program"], "no program"),
        (
            &["--on", ALWAYS, "--exec", "echo 'x"],
            "a quote is not closed",
        ),
        (
            &["--on", ALWAYS, "--exec", "true", "--exec-timeout", "x"],
            "--exec-timeout",
        ),
        (&["--on", ALWAYS, "--format", "csv"], "triggers have no CSV"),
    ] {
        let output = watch(arguments).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(hint), "{arguments:?}: {stderr}");
    }
}
