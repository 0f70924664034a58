//! Processes that no sample has seen alive.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::live::live_sampler::{LiveSampler, MIB, RunningChild, create_file, path_text};
use crate::requirement::{Requirement, skip};

/// Number of short-lived processes.
const COUNT: u64 = 150;

/// Waits for a line, starts one process after the other, says so, and waits for the end of its input.
const SHELL: &str = "read go; i=0; while [ $i -lt 150 ]; do i=$((i+1)); \
    dd if=\"$0\" of=/dev/null bs=1M status=none; done; echo done; read end; exit 0";

#[test]
fn short_lived_children_are_shown_as_ended_children_and_not_as_their_parent() {
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 4);
    let shell = Command::new("sh")
        .args(["-c", SHELL, &path_text(&source)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut shell = RunningChild(shell.unwrap());
    let pid = shell.0.id();
    let mut sampler = LiveSampler::start();
    writeln!(shell.0.stdin.as_mut().unwrap(), "go").unwrap();
    let mut answer = String::new();
    let mut output = BufReader::new(shell.0.stdout.take().unwrap());
    output.read_line(&mut answer).unwrap();
    let snapshot = sampler.next_snapshot();

    let seconds = snapshot.interval.unwrap().as_secs_f64();
    let bytes = |exited: bool| {
        let mut processes = snapshot.processes.iter();
        let found = processes.find(|process| process.pid == pid && process.exited == exited)?;
        Some(found.rchar_bytes_per_s? * seconds)
    };
    let expected = (COUNT * 4 * MIB) as f64;
    // Each of them also reads a library or two.
    let ended = bytes(true).expect("a line of ended children");
    assert!(
        ended > expected && ended < expected * 1.05,
        "{ended} of {expected}"
    );
    let own = bytes(false).unwrap_or(0.0);
    assert!(own < expected * 0.01, "{own} of the shell itself");
}

/// Starts processes one after the other and does not wait for them: the kernel drops their counters
/// (SIGCHLD is ignored), so that no parent has them.
const IGNORING: &str = "import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
sys.stdin.readline()
for _ in range(150):
    child = os.posix_spawn('/bin/dd', ['dd', 'if=' + sys.argv[1], 'of=/dev/null', 'bs=1M', 'status=none'], os.environ)
    try:
        os.waitpid(child, 0)
    except ChildProcessError:
        pass
print('done', flush=True)
sys.stdin.readline()
";

#[test]
fn short_lived_processes_that_no_parent_counts_do_not_vanish() {
    if skip_unless_exit_records() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 4);
    let starter = Command::new("python3")
        .args(["-c", IGNORING, &path_text(&source)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut starter = RunningChild(starter.unwrap());
    let pid = starter.0.id();
    let mut sampler = LiveSampler::start();
    // The interpreter has read its libraries before the interval begins.
    writeln!(starter.0.stdin.as_mut().unwrap()).unwrap();
    let mut answer = String::new();
    let mut output = BufReader::new(starter.0.stdout.take().unwrap());
    output.read_line(&mut answer).unwrap();
    let snapshot = sampler.next_snapshot();

    let mut lines = snapshot.processes.iter();
    let ended = lines.find(|line| line.pid == pid && line.is_ended_children());
    let ended = ended.expect("a line of ended children");
    let dd = ended
        .ended_programs
        .iter()
        .find(|program| &*program.name == "dd");
    assert_eq!(dd.map(|dd| dd.count), Some(COUNT), "{ended:?}");
    let seconds = snapshot.interval.unwrap().as_secs_f64();
    let bytes = ended.rchar_bytes_per_s.unwrap() * seconds;
    let expected = (COUNT * 4 * MIB) as f64;
    assert!(
        bytes > expected && bytes < expected * 1.05,
        "{bytes} of {expected}"
    );
}

/// Bytes that were read, by the processes themselves and by their ended children, while a test ran.
#[derive(Default)]
struct ReadBytes {
    /// By the parent itself: by read(2), and from devices.
    own: (f64, f64),
    /// By its children, alive or ended.
    children: (f64, f64),
}

/// Takes samples until a process has printed a line. Returns what it and its children have read, and the line.
fn read_until_answer(parent: &mut RunningChild) -> (ReadBytes, String) {
    let pid = parent.0.id();
    let mut sampler = LiveSampler::start();
    writeln!(parent.0.stdin.as_mut().unwrap(), "go").unwrap();
    let mut output = BufReader::new(parent.0.stdout.take().unwrap());
    let answer = std::thread::spawn(move || {
        let mut answer = String::new();
        output.read_line(&mut answer).unwrap();
        answer
    });
    let mut read = ReadBytes::default();
    let mut is_over = false;
    while !is_over {
        std::thread::sleep(Duration::from_millis(60));
        // One more sample after the answer.
        is_over = answer.is_finished();
        let snapshot = sampler.next_snapshot();
        let seconds = snapshot.interval.unwrap().as_secs_f64();
        for process in &snapshot.processes {
            let sum = match (process.pid == pid, process.parent_pid == pid) {
                (true, _) if !process.exited => &mut read.own,
                (true, _) | (_, true) => &mut read.children,
                _ => continue,
            };
            sum.0 += process.rchar_bytes_per_s.unwrap_or(0.0) * seconds;
            sum.1 += process.read_bytes_per_s.unwrap_or(0.0) * seconds;
        }
    }
    (read, answer.join().unwrap())
}

#[track_caller]
fn assert_near(found: f64, expected: u64) {
    let expected = expected as f64;
    let text = format!("{found} of {expected}");
    assert!(found > expected * 0.98 && found < expected * 1.04, "{text}");
}

#[test]
fn pipeline_of_a_shell_is_counted_once_when_it_ends() {
    if skip_unless_exit_records() {
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = create_file(directory.path(), "source", 192);
    File::open(&source).unwrap().sync_all().unwrap();
    let line = "read go; dd if=\"$0\" bs=1M iflag=direct status=none | cat > /dev/null; \
                dd if=\"$0\" of=/dev/null bs=1M iflag=direct status=none; echo done; read end; exit 0";
    let shell = Command::new("bash")
        .args(["-c", line, &path_text(&source)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut shell = RunningChild(shell.unwrap());
    let (read, _) = read_until_answer(&mut shell);
    assert_near(read.children.1, 2 * 192 * MIB);
    assert!(
        read.own.1 < MIB as f64,
        "{} of the shell itself",
        read.own.1
    );
}

/// Reads zeros itself while its children, one after the other, read a file. Prints how many bytes it read.
const READER: &str = "import subprocess, sys
zeros = open('/dev/zero', 'rb', buffering=0)
sys.stdin.readline()
total = 0
for _ in range(14):
    child = subprocess.Popen(['dd', 'if=' + sys.argv[1], 'of=/dev/null', 'bs=16k', 'status=none'])
    while child.poll() is None:
        total += len(zeros.read(1 << 18))
print(total, flush=True)
sys.stdin.readline()
";

#[test]
fn children_of_a_parent_that_goes_on_reading_are_counted_once() {
    if skip_unless_exit_records() {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 63);
    let parent = Command::new("python3")
        .args(["-c", READER, &path_text(&source)])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn();
    let mut parent = RunningChild(parent.unwrap());
    let (read, answer) = read_until_answer(&mut parent);
    let zeros: u64 = answer.trim().parse().unwrap();
    assert_near(read.children.0, 14 * 63 * MIB);
    assert_near(read.own.0, zeros);
}

#[test]
fn text_of_watch_ends_with_the_totals_of_programs_that_have_ended() {
    if skip_unless_exit_records() {
        return;
    }
    let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let source = create_file(directory.path(), "source", 64);
    std::fs::File::open(&source).unwrap().sync_all().unwrap();
    // No other test has a program of that name.
    let program = directory.path().join("totals-dd");
    std::fs::copy("/bin/dd", &program).unwrap();
    let shell = Command::new("sh")
        .args([
            "-c",
            "read go; \"$1\" if=\"$0\" of=/dev/null bs=1M iflag=direct; read end",
        ])
        .args([path_text(&source), path_text(&program)])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut shell = RunningChild(shell.unwrap());
    let watch = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["watch", "--interval", "500ms", "--count", "6"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut watch = RunningChild(watch.unwrap());
    let mut output = BufReader::new(watch.0.stdout.take().unwrap());
    let mut text = String::new();
    output.read_line(&mut text).unwrap();
    writeln!(shell.0.stdin.as_mut().unwrap(), "go").unwrap();
    output.read_to_string(&mut text).unwrap();
    let (_, totals) = text.split_once("PROGRAM (").expect("a report of totals");
    let line = totals.lines().find(|line| line.ends_with(" totals-dd"));
    let line = line.unwrap_or_else(|| panic!("{totals}"));
    let read: f64 = line.split_whitespace().next().unwrap().parse().unwrap();
    assert!((64.0..72.0).contains(&read), "{line}");
}

#[test]
fn another_network_namespace_is_named_where_exit_records_do_not_arrive() {
    if skip_unless_exit_records() {
        return;
    }
    let watch = Command::new("unshare")
        .args(["--net", env!("CARGO_BIN_EXE_diskscope")])
        .args(["watch", "--interval", "200ms", "--count", "1"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&watch.stderr);
    let text = String::from_utf8_lossy(&watch.stdout);
    assert!(watch.status.success(), "{errors}");
    let whole = format!("{text}{errors}");
    let words: Vec<&str> = whole.split_whitespace().collect();
    let joined = words.join(" ");
    assert!(
        joined.contains("taskstats need the first user, PID and network namespaces"),
        "{joined}"
    );
}

/// Whether `watch` says that it has none here.
fn skip_unless_exit_records() -> bool {
    let watch = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["watch", "--interval", "100ms", "--count", "1"])
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&watch.stderr);
    let is_missing = errors.contains("exit records") || !rustix::process::geteuid().is_root();
    if is_missing {
        skip(Requirement::Taskstats, "no exit records of taskstats");
    }
    is_missing
}
