//! The command of `--exec`: its facts, its privileges, and what it cannot hold up.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{PermissionsExt, lchown, symlink};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::{ALWAYS, printed, text, watch};
use crate::live::live_sampler::RunningChild;
use crate::requirement;

/// Shows what the process of a command has.
const SHOW: &str = "sh -c 'grep -E \"^(Uid|Gid|Groups|CapEff|CapAmb|SigIgn):\" /proc/self/status; \
                    echo cwd $(pwd); echo fds $(ls /proc/self/fd | wc -l); \
                    echo session $(cut -d\" \" -f6 /proc/$$/stat) of $$; env'";

/// The stderr of a `watch` whose command shows what it has.
fn shown(prepare: impl FnOnce(&mut std::process::Command)) -> String {
    let mut command = watch(&["--count", "2", "--on", ALWAYS, "--exec", SHOW]);
    prepare(&mut command);
    let (_, stderr) = printed(&command.output().unwrap());
    assert!(
        stderr.contains("--exec for cpu_busy(system)>=0%: exit status: 0"),
        "{stderr}"
    );
    stderr
}

/// The words of the line that begins with this one.
fn words<'a>(shown: &'a str, first: &str) -> Vec<&'a str> {
    let mut lines = shown.lines().map(|line| line.split_whitespace());
    let line = lines.find(|line| line.clone().next() == Some(first));
    line.unwrap_or_else(|| panic!("no {first} in {shown}"))
        .skip(1)
        .collect()
}

#[test]
fn command_gets_the_facts() {
    let shown = shown(|_| {});
    for line in [
        "DISKSCOPE_CONDITION=cpu_busy(system)>=0%",
        "DISKSCOPE_METRIC=cpu_busy",
        "DISKSCOPE_SCOPE=system",
        "DISKSCOPE_UNIT=ratio",
        "DISKSCOPE_THRESHOLD=0",
        "DISKSCOPE_TRIGGER_COUNT=1",
    ] {
        assert!(shown.lines().any(|it| it == line), "{line}: {shown}");
    }
    assert!(shown.contains("DISKSCOPE_TRIGGERS={\"time\":"), "{shown}");
    assert!(!shown.contains("DISKSCOPE_PID"), "{shown}");
}

#[test]
fn command_is_not_run_by_a_shell() {
    let arguments = [
        "--count",
        "2",
        "--on",
        ALWAYS,
        "--exec",
        "echo $DISKSCOPE_NAME; * 'a  b'",
    ];
    let (_, stderr) = printed(&watch(&arguments).output().unwrap());
    assert!(stderr.contains("\n$DISKSCOPE_NAME; * a  b\n"), "{stderr}");
    assert!(
        stderr.contains("note: --exec uses no shell: $DISKSCOPE_NAME;"),
        "{stderr}"
    );
}

#[test]
fn command_of_sudo_runs_as_the_caller_with_nothing_of_root() {
    if !requirement::is_root() {
        return;
    }
    let sudo = |command: &mut std::process::Command| {
        command.env("SUDO_UID", "64998").env("SUDO_GID", "65533");
        command
            .env("LD_LIBRARY_PATH", "/tmp")
            .env("PATH", "/tmp:/usr/bin:/bin");
        command.env("LANG", "C.UTF-8");
    };
    let shown = shown(sudo);
    assert_eq!(words(&shown, "Uid:"), ["64998"; 4], "{shown}");
    assert_eq!(words(&shown, "Gid:"), ["65533"; 4]);
    assert!(words(&shown, "Groups:").is_empty());
    assert_eq!(words(&shown, "CapEff:"), ["0000000000000000"]);
    assert_eq!(words(&shown, "CapAmb:"), ["0000000000000000"]);
    assert_eq!(words(&shown, "cwd"), ["/"]);
    assert!(
        !shown.contains("LD_LIBRARY_PATH") && !shown.contains("SUDO_UID"),
        "{shown}"
    );
    assert!(
        !shown.contains("PATH=/tmp") && shown.contains("\nLANG=C.UTF-8"),
        "{shown}"
    );
}

#[test]
fn command_stays_root_on_request() {
    if !requirement::is_root() {
        return;
    }
    let mut as_root = watch(&[
        "--count",
        "2",
        "--on",
        ALWAYS,
        "--exec-user",
        "root",
        "--exec",
        SHOW,
    ]);
    as_root.env("SUDO_UID", "65534").env("SUDO_GID", "65534");
    let (_, stderr) = printed(&as_root.output().unwrap());
    assert_eq!(words(&stderr, "Uid:"), ["0"; 4], "{stderr}");
    let mut unclear = watch(&["--count", "2", "--on", ALWAYS, "--exec", "true"]);
    let output = unclear.env("SUDO_UID", "0x0").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn command_has_a_session_and_no_inherited_descriptors() {
    let file = std::fs::File::open("/dev/null").unwrap();
    // The next program inherits it.
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty()).unwrap();
    assert!(file.as_raw_fd() > 2);
    let shown = shown(|_| {});
    let session = words(&shown, "session");
    assert_eq!(session[0], session[2], "{shown}");
    // stdin, stdout, stderr, and the directory that ls lists.
    assert_eq!(words(&shown, "fds"), ["4"], "{shown}");
}

#[test]
fn hanging_command_delays_no_sample_and_is_ended() {
    let later = format!("{ALWAYS} for 600ms");
    let mut command = watch(&[
        "--count",
        "9",
        "--on",
        ALWAYS,
        "--on",
        &later,
        "--exec",
        "sleep 600",
        "--exec-timeout",
        "3s",
    ]);
    let begun = Instant::now();
    let mut running = RunningChild(
        command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap(),
    );
    let lines: Vec<String> = BufReader::new(running.0.stdout.take().unwrap())
        .lines()
        .map(Result::unwrap)
        .collect();
    let stderr = std::io::read_to_string(running.0.stderr.take().unwrap()).unwrap();
    assert!(running.0.wait().unwrap().success());
    assert!(
        begun.elapsed() < Duration::from_secs(300),
        "it waits for sleep"
    );
    // The second condition was evaluated and printed while the first command hung.
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(lines[1].contains(" for 600ms: "), "{lines:?}");
    assert_eq!(
        stderr.matches("ended by SIGTERM after 3.").count(),
        2,
        "{stderr}"
    );
    assert_eq!(
        stderr.matches("signal: 15 (SIGTERM)").count(),
        2,
        "{stderr}"
    );
}

#[test]
fn status_of_the_command_is_reported() {
    let arguments = ["--count", "2", "--on", ALWAYS, "--exec", "sh -c 'exit 3'"];
    let (_, stderr) = printed(&watch(&arguments).output().unwrap());
    assert!(
        stderr.contains("--exec for cpu_busy(system)>=0%: exit status: 3 after "),
        "{stderr}"
    );
}

/// A program that only root can write.
fn make_program(path: &Path) {
    fs::write(path, "#!/bin/sh\necho it was run\n").unwrap();
    set_mode(path, 0o755);
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

/// `watch` as root, whose command runs as `user`.
fn run_program_as(user: &str, program: &Path) -> std::process::Output {
    let program = program.to_str().unwrap();
    let arguments = [
        "--count",
        "2",
        "--on",
        ALWAYS,
        "--exec-user",
        user,
        "--exec",
        program,
    ];
    watch(&arguments).output().unwrap()
}

#[test]
fn program_that_other_users_control_is_refused() {
    /// Changes a directory, or the program in it.
    type Change<'a> = &'a dyn Fn(&Path, &Path);
    const OTHER: u32 = 65534;
    if !requirement::is_root() {
        return;
    }
    let give = |path: &Path| lchown(path, Some(OTHER), None).unwrap();
    let prepare: [(&str, Change<'_>); 7] = [
        ("writable program", &|_, program| set_mode(program, 0o757)),
        ("writable by group", &|_, program| set_mode(program, 0o775)),
        ("program of another user", &|_, program| give(program)),
        ("writable directory", &|directory, _| {
            set_mode(directory, 0o777)
        }),
        ("directory of another user", &|directory, _| give(directory)),
        ("link of another user", &|directory, program| {
            set_mode(directory, 0o1777);
            fs::remove_file(program).unwrap();
            symlink("/bin/true", program).unwrap();
            give(program);
        }),
        (
            "link into a directory of another user",
            &|directory, program| {
                let below = directory.join("below");
                fs::create_dir(&below).unwrap();
                fs::rename(program, below.join("program")).unwrap();
                symlink("below/program", program).unwrap();
                give(&below);
            },
        ),
    ];
    for (case, change) in prepare {
        let sandbox = tempfile::tempdir().unwrap();
        let directory = sandbox.path().join("directory");
        fs::create_dir(&directory).unwrap();
        let program = directory.join("program");
        make_program(&program);
        let before = printed(&run_program_as("root", &program)).1;
        assert!(before.contains("it was run"), "{case}: {before}");
        change(&directory, &program);
        let output = run_program_as("root", &program);
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{case}: {message}");
        assert!(
            message.contains("is not run as root: "),
            "{case}: {message}"
        );
        assert!(output.stdout.is_empty(), "{case}: nothing was sampled");
    }
}

#[test]
fn program_of_the_user_of_the_command_is_run() {
    if !requirement::is_root() {
        return;
    }
    let sandbox = tempfile::tempdir().unwrap();
    set_mode(sandbox.path(), 0o755);
    let program = sandbox.path().join("program");
    make_program(&program);
    lchown(&program, Some(65534), None).unwrap();
    let shown = printed(&run_program_as("65534", &program)).1;
    assert!(shown.contains("it was run"), "{shown}");
    lchown(&program, Some(65533), None).unwrap();
    let output = run_program_as("65534", &program);
    assert_eq!(output.status.code(), Some(3), "{}", text(&output.stderr));
}
