//! What helps, as commands that can be pasted.

use crate::diagnosis::remedy::{AwaitedMount, ProcessInstance, Remedy};
use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::mountinfo;
use crate::probe::process::blocked_task::ThreadSleep;
use crate::roots;

/// Of the limit from which writers wait, the one from which the kernel writes back is this part.
const BACKGROUND_DIVISOR: u64 = 4;
/// The largest directories that du(1) lists, each in one line. Its users choose their names, which a terminal
/// would take for commands.
const LARGEST_LAST: &str = r"sort -zh | tail -zn 20 | tr '\0\n' '\n?' | cat -v";
/// Mounts that a sentence names at most.
const MAX_SUBMOUNTS: usize = 4;

/// A measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemedyText {
    /// The command line; `None` where no command helps.
    pub command: Option<String>,
    /// What it does, and what to mind; without a command, what to do.
    pub note: String,
}

impl RemedyText {
    fn command(command: String, note: impl Into<String>) -> Self {
        Self {
            command: Some(command),
            note: note.into(),
        }
    }

    /// The command with its note; without a command, as where a name cannot be written in one, the advice.
    fn command_or(
        command: Option<String>,
        note: impl Into<String>,
        advice: impl Into<String>,
    ) -> Self {
        match command {
            Some(command) => Self::command(command, note),
            None => Self::advice(advice),
        }
    }

    fn advice(note: impl Into<String>) -> Self {
        Self {
            command: None,
            note: note.into(),
        }
    }

    /// The sentence before the command. It is no comment behind it: a shell may take the words of a
    /// comment as arguments (zshoptions(1), `INTERACTIVE_COMMENTS`).
    #[must_use]
    pub fn sentence(&self) -> String {
        match &self.command {
            Some(_) => format!("{}:", self.note),
            None => self.note.clone(),
        }
    }
}

/// The path, if a command can name it: it is absolute, and what the kernel has. One with control
/// characters is shown with backslashes, and a command would name another file; so does a recording
/// that has the sign for what is no character.
fn exact_path(path: &SafeText) -> Option<&str> {
    let is_exact = |path: &&str| path.starts_with('/') && !path.contains('\u{fffd}');
    path.original().filter(is_exact)
}

/// A condition that holds while the number of a process belongs to it, and not to another one that got it
/// later: the time of its start, the 20th field behind the name of the program (proc_pid_stat(5)).
fn same_process_condition(process: ProcessInstance) -> String {
    let ProcessInstance { pid, start_ticks } = process;
    format!(r"grep -qE '\) .( \S+){{18}} {start_ticks} ' /proc/{pid}/stat")
}

/// A condition that holds as long as this sleep of a thread lasts.
fn same_sleep_condition(sleep: &ThreadSleep) -> String {
    let ThreadSleep {
        pid,
        tid,
        run_times: [on_processor, in_queue, count],
    } = sleep;
    format!("cat /proc/{pid}/task/{tid}/schedstat | grep -qx '{on_processor} {in_queue} {count}'")
}

/// Unmounts a file system while a thread waits for its server, as long as its mount point leads to it: the mount
/// table lists it as the last one there, and none on it, neither below it nor over it.
fn unmount_command(mount_point: &SafeText, mount: &AwaitedMount) -> Option<String> {
    let path = exact_path(mount_point)?;
    let AwaitedMount {
        id,
        parent,
        device_id: (major, minor),
        waiter,
    } = mount;
    // Behind the first path of a row, the root of the mount within its file system, and before its separator
    // is the mount point only.
    let place = basic_regex(&mountinfo::escape(path));
    Some(format!(
        "{} && cat /proc/self/mountinfo | grep -a {} | tail -n 1 | grep -q '^{id} {parent} {major}:{minor} ' && ! grep -q '^[0-9]* {id} ' /proc/self/mountinfo && {}",
        same_sleep_condition(waiter),
        shell::quote_word(format!(" /.* {place} .* - "))?,
        shell::command_line(["umount", "-f", "-l", "--", path])?,
    ))
}

/// A basic regular expression, as of grep(1), that matches this text only.
fn basic_regex(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '.' | '*' | '[' | '^' | '$') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// At most [`MAX_SUBMOUNTS`] of these places, and how many more there are.
fn listed(places: &[SafeText]) -> String {
    let (shown, rest) = places.split_at(places.len().min(MAX_SUBMOUNTS));
    let shown: Vec<&str> = shown.iter().map(|it| it.as_str()).collect();
    match rest.len() {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Limits what a unit reads and writes until the next boot.
fn limit_command(
    unit: &str,
    device: &str,
    read_bytes_per_s: Option<u64>,
    write_bytes_per_s: Option<u64>,
) -> Option<String> {
    let node = roots::device_node(device)?;
    let limits = [
        ("IOReadBandwidthMax", read_bytes_per_s),
        ("IOWriteBandwidthMax", write_bytes_per_s),
    ];
    let mut words = ["systemctl", "set-property", "--runtime", "--", unit]
        .map(str::to_owned)
        .to_vec();
    for (name, limit) in limits {
        words.extend(limit.map(|bytes_per_s| format!("{name}={node} {bytes_per_s}")));
    }
    shell::command_line(words)
}

/// Limits the speed of a resynchronization, in KiB/s. The kernel ignores the maximum up to the minimum
/// (drivers/md/md.c, `md_do_sync`), which may be high: the minimum becomes the default of the kernel.
fn slow_resync_command(device: &str) -> Option<String> {
    let set = |setting: &str, speed: u32| {
        let file = roots::device_directory(device)? + "/md/" + setting;
        Some(format!("echo {speed} > {}", shell::quote_word(file)?))
    };
    let (min, max) = (set("sync_speed_min", 1000)?, set("sync_speed_max", 10_000)?);
    Some(format!("{min} && {max}"))
}

/// The command and what it does.
#[must_use]
pub fn remedy_text(remedy: &Remedy) -> RemedyText {
    match remedy {
        Remedy::IdleClass { process, scheduler } => RemedyText::command(
            // The kernel keeps an I/O class for each thread (ioprio_set(2)). One call for each: ionice(1)
            // stops at a thread that has ended.
            format!(
                "{} && ps -L -p {} -o lwp= | xargs -n 1 ionice -c 3 -p",
                same_process_condition(*process),
                process.pid
            ),
            format!(
                "I/O class idle for all threads, which the scheduler {scheduler} heeds for reads and direct writes"
            ),
        ),
        Remedy::LimitUnit {
            unit,
            device,
            read_bytes_per_s,
            write_bytes_per_s,
        } => RemedyText::command_or(
            limit_command(unit, device, *read_bytes_per_s, *write_bytes_per_s),
            "half of its present throughput, until the next boot",
            format!("limit the throughput of {unit} on {device} with systemctl set-property"),
        ),
        Remedy::Pause { process } => RemedyText::command(
            format!(
                "{} && kill -STOP {}",
                same_process_condition(*process),
                process.pid
            ),
            format!("pauses it, until kill -CONT {} continues it", process.pid),
        ),
        Remedy::RaiseLimit {
            group,
            unit,
            device,
        } => match unit {
            Some(unit) => RemedyText::command_or(
                shell::command_line([
                    "systemctl",
                    "show",
                    "--property=IOReadBandwidthMax",
                    "--property=IOWriteBandwidthMax",
                    "--property=IOReadIOPSMax",
                    "--property=IOWriteIOPSMax",
                    "--",
                    unit.as_str(),
                ]),
                format!("the present limits; systemctl set-property raises that of {device}"),
                format!("raise the limit of {device} with systemctl set-property"),
            ),
            None => RemedyText::advice(format!(
                "raise or remove the limit of {device} in the control group {group}: io.max, with version 1 blkio.throttle.*"
            )),
        },
        Remedy::SlowResync { device } => RemedyText::command_or(
            slow_resync_command(device),
            "at most 10 MB/s, until the word system is written into both files",
            format!("lower md/sync_speed_min and md/sync_speed_max of {device} in /sys/block"),
        ),
        Remedy::LowerDirtyLimits { limit_bytes } => RemedyText::command(
            format!(
                "sysctl vm.dirty_background_bytes={} vm.dirty_bytes={limit_bytes}",
                limit_bytes / BACKGROUND_DIVISOR
            ),
            "a slow device then holds up less memory, until the next boot; sysctl vm.dirty_background_ratio=10 vm.dirty_ratio=20 sets the kernel's defaults",
        ),
        Remedy::ShowDiskUsage {
            mount_point,
            inodes,
        } => {
            let (option, used) = match inodes {
                true => ("-0x --inodes", "inodes"),
                false => ("-0xh", "space"),
            };
            RemedyText::command_or(
                exact_path(mount_point)
                    .and_then(shell::quote_word)
                    .map(|path| {
                        format!("du {option} --max-depth=2 -- {path} 2>/dev/null | {LARGEST_LAST}")
                    }),
                format!("what uses the {used}"),
                format!("see what uses the {used} of {mount_point} with du"),
            )
        }
        Remedy::ShowHealth { device } => RemedyText::command_or(
            roots::device_node(device)
                .and_then(|node| shell::command_line(["smartctl", "-a", &node])),
            "health and error log of the drive",
            format!("see the health and the error log of {device} with smartctl"),
        ),
        Remedy::ShowKernelLog => RemedyText::command(
            "dmesg --ctime | tail -50 | cat -v".to_owned(),
            "messages of the kernel",
        ),
        Remedy::TraceRequests { device } => RemedyText::command_or(
            roots::device_name(device)
                .and_then(|name| shell::command_line(["diskscope", "trace", "--", name])),
            "single requests, who and how long (root)",
            format!("see the single requests of {device} with diskscope trace"),
        ),
        Remedy::ShowMemoryUsers => RemedyText::command(
            "ps -eo pid,rss,comm --sort=-rss | head | cat -v".to_owned(),
            "who uses the memory",
        ),
        // ps(1) divides by the time since the start of a process, and so does the first list of top(1).
        Remedy::ShowProcessorUsers => RemedyText::command(
            "top -b -d 2 -n 2 -o %CPU | awk '$1 == \"PID\" { lists++ } lists == 2' | head | cat -v"
                .to_owned(),
            "who uses the processors, in two seconds",
        ),
        Remedy::LazyUnmount { mount_point, mount } => {
            let unmount = |mount: &AwaitedMount| {
                Some((unmount_command(mount_point, mount)?, mount.waiter.pid))
            };
            match mount.as_ref().and_then(unmount) {
                Some((command, pid)) => RemedyText::command(
                    command,
                    format!(
                        "after a look at the server, ends the waiting, if process {pid} is still in this sleep; open files there are lost"
                    ),
                ),
                None => RemedyText::advice(format!(
                    "after a look at the server, umount -f -l of {mount_point} ends the waiting, and open files there are lost"
                )),
            }
        }
        Remedy::UnmountWithSubmounts {
            mount_point,
            submounts,
        } => RemedyText::advice(format!(
            "after a look at the server: umount -f -l of {mount_point} ends the waiting, and open files there are lost. It also detaches what is mounted below: {}",
            listed(submounts)
        )),
        Remedy::UnmountUpperFirst { mount_point } => RemedyText::advice(format!(
            "after a look at the server: another file system is mounted over {mount_point}, as findmnt shows. Without that one, umount -f -l ends the waiting, and open files there are lost"
        )),
        Remedy::UnmountUnanswering => RemedyText::advice(
            "find out which server does not answer: umount -f -l of its file system ends the waiting, and open files there are lost",
        ),
        Remedy::Defragment { path, program } => RemedyText::command_or(
            (*program)
                .zip(exact_path(path))
                .and_then(|(program, path)| shell::command_line([program, "--", path])),
            "rewrites the file in few pieces, where the file system has enough room in one place",
            format!(
                "copy {path} while nobody writes it, where the file system has enough room in one place, and rename the copy"
            ),
        ),
        Remedy::GroupCommits => RemedyText::advice(
            "combine transactions: group commit of the database, fewer fsync calls; a drive with a protected write cache completes flushes at once",
        ),
        Remedy::MoreParallelRequests => RemedyText::advice(
            "more requests in flight: several threads, asynchronous I/O, or read-ahead; `diskscope run concurrency-read` shows what the device gains from it",
        ),
        Remedy::Command { line } => RemedyText::command(
            line.to_string(),
            "a setting of the drive, for the reason that diskscope devices prints",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Requirement, skip};

    /// The unmount of a file system there, for whose server a thread waits.
    fn unmount(mount_point: &str) -> Remedy {
        let waiter = ThreadSleep {
            pid: 20,
            tid: 21,
            run_times: [81_234, 1204, 31],
        };
        Remedy::LazyUnmount {
            mount_point: mount_point.into(),
            mount: Some(AwaitedMount {
                id: 66,
                parent: 44,
                device_id: (0, 41),
                waiter,
            }),
        }
    }

    #[test]
    fn path_that_is_not_absolute_is_in_no_command() {
        for path in ["-a", "--all", "relative", "/a\\x0ab", "/gr\u{fffd}", ""] {
            let remedies = [
                unmount(path),
                Remedy::ShowDiskUsage {
                    mount_point: path.into(),
                    inodes: false,
                },
                Remedy::Defragment {
                    path: path.into(),
                    program: Some("e4defrag"),
                },
            ];
            for remedy in remedies {
                assert_eq!(remedy_text(&remedy).command, None, "{remedy:?}");
            }
        }
        let command = remedy_text(&unmount("/mnt/a b")).command.unwrap();
        assert!(command.ends_with(" && umount -f -l -- '/mnt/a b'"));
    }

    #[test]
    fn unmount_has_a_condition_for_the_thread_that_waits_and_for_the_mount() {
        let command = remedy_text(&unmount("/mnt/a.b")).command.unwrap();
        let lines = [
            "cat /proc/20/task/21/schedstat | grep -qx '81234 1204 31' &&",
            "cat /proc/self/mountinfo |",
            r"grep -a ' /.* /mnt/a\.b .* - ' |",
            "tail -n 1 | grep -q '^66 44 0:41 ' &&",
            "! grep -q '^[0-9]* 66 ' /proc/self/mountinfo &&",
            "umount -f -l -- /mnt/a.b",
        ];
        assert_eq!(command, lines.join(" "));
    }

    #[test]
    fn unmount_that_would_detach_others_or_another_one_has_no_command() {
        let mount_point = SafeText::from("/mnt/a");
        let unknown = Remedy::LazyUnmount {
            mount_point: mount_point.clone(),
            mount: None,
        };
        let text = remedy_text(&unknown);
        assert_eq!(text.command, None);
        assert!(text.note.contains("umount -f -l of /mnt/a"), "{text:?}");
        let submounts = (0..6).map(|it| format!("/mnt/a/{it}").into()).collect();
        let text = remedy_text(&Remedy::UnmountWithSubmounts {
            mount_point,
            submounts,
        });
        assert_eq!(text.command, None);
        let named =
            "detaches what is mounted below: /mnt/a/0, /mnt/a/1, /mnt/a/2, /mnt/a/3 and 2 more";
        assert!(text.note.ends_with(named), "{text:?}");
    }

    #[test]
    fn usage_of_a_file_system_without_inodes_is_that_of_inodes() {
        let command = |inodes| {
            let mount_point = "/srv".into();
            let remedy = Remedy::ShowDiskUsage {
                mount_point,
                inodes,
            };
            remedy_text(&remedy).command.unwrap()
        };
        let rest = "--max-depth=2 -- /srv 2>/dev/null | sort -zh | tail -zn 20 | tr '\\0\\n' '\\n?' | cat -v";
        assert_eq!(command(false), format!("du -0xh {rest}"));
        assert_eq!(command(true), format!("du -0x --inodes {rest}"));
    }

    #[test]
    fn names_of_directories_that_use_the_space_send_nothing_to_the_terminal() {
        let place = tempfile::tempdir().unwrap();
        for name in [
            "plain",
            "title \x1b]0;x\x07",
            "9T\n9T home",
            "\u{202e}\u{9b}2J",
        ] {
            std::fs::create_dir(place.path().join(name)).unwrap();
        }
        for inodes in [false, true] {
            let remedy = Remedy::ShowDiskUsage {
                mount_point: SafeText::from_path(place.path()),
                inodes,
            };
            let command = remedy_text(&remedy).command.unwrap();
            let mut shell = std::process::Command::new("sh");
            let output = shell.args(["-c", &command]).output().unwrap();
            let list = String::from_utf8(output.stdout).unwrap();
            let is_harmless = |it: char| it.is_ascii() && !it.is_ascii_control();
            assert!(list.replace(['\t', '\n'], "").chars().all(is_harmless));
            assert_eq!(list.lines().count(), 5, "{list}");
            assert!(
                list.contains("/plain\n") && list.contains("/9T?9T home\n"),
                "{list}"
            );
        }
    }

    #[test]
    fn name_of_a_device_that_leads_elsewhere_is_in_no_command() {
        for name in ["../../etc", "a/b", "..", "!etc", "a\\nb", ""] {
            let device = SafeText::from(name);
            let remedies = [
                Remedy::SlowResync {
                    device: device.clone(),
                },
                Remedy::ShowHealth {
                    device: device.clone(),
                },
                Remedy::TraceRequests {
                    device: device.clone(),
                },
                Remedy::LimitUnit {
                    unit: "a.service".into(),
                    device,
                    read_bytes_per_s: Some(1),
                    write_bytes_per_s: Some(1),
                },
            ];
            for remedy in remedies {
                assert_eq!(remedy_text(&remedy).command, None, "{remedy:?}");
            }
        }
        let device = SafeText::from("md127");
        let command = remedy_text(&Remedy::SlowResync { device }).command;
        let line = "echo 1000 > /sys/block/md127/md/sync_speed_min && \
                    echo 10000 > /sys/block/md127/md/sync_speed_max";
        assert_eq!(command.as_deref(), Some(line));
    }

    #[test]
    fn command_that_stops_a_process_stops_no_other_of_its_number() {
        let mut own = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", own.id())).unwrap();
        let start_ticks: u64 = stat.split(' ').nth(21).unwrap().parse().unwrap();
        let is_stopped = |start_ticks: u64| {
            let process = ProcessInstance {
                pid: own.id(),
                start_ticks,
            };
            let command = remedy_text(&Remedy::Pause { process }).command.unwrap();
            let mut shell = std::process::Command::new("sh");
            shell.args(["-c", &command]).status().unwrap().success()
        };
        assert!(!is_stopped(start_ticks - 1));
        assert!(!is_stopped(start_ticks * 10));
        assert!(is_stopped(start_ticks));
        own.kill().unwrap();
        own.wait().unwrap();
    }

    #[test]
    fn names_of_others_that_a_command_prints_send_nothing_to_the_terminal() {
        let mount_point = "/srv".into();
        let inodes = false;
        for remedy in [
            Remedy::ShowDiskUsage {
                mount_point,
                inodes,
            },
            Remedy::ShowKernelLog,
            Remedy::ShowMemoryUsers,
            Remedy::ShowProcessorUsers,
        ] {
            let command = remedy_text(&remedy).command.unwrap();
            assert!(command.ends_with(" | cat -v"), "{command}");
        }
    }

    #[test]
    fn processor_users_are_those_of_now() {
        let Some(command) = remedy_text(&Remedy::ShowProcessorUsers).command else {
            panic!("no command");
        };
        let top = std::process::Command::new("top")
            .args(["-b", "-n", "1"])
            .output();
        if !top.is_ok_and(|output| output.status.success()) {
            return skip(Requirement::Program, "top(1) is not installed");
        }
        let shell = std::process::Command::new("sh")
            .args(["-c", &command])
            .output();
        let list = String::from_utf8(shell.unwrap().stdout).unwrap();
        let headings = list.lines().filter(|line| line.contains("%CPU"));
        assert_eq!(headings.count(), 1, "{list}");
        assert!(list.lines().count() > 1, "{list}");
    }

    #[test]
    fn command_has_no_comment_behind_it() {
        let remedy = remedy_text(&unmount("/x"));
        let command = remedy.command.as_deref().unwrap();
        assert!(command.ends_with(" && umount -f -l -- /x"), "{command}");
        assert_eq!(
            remedy.sentence(),
            "after a look at the server, ends the waiting, if process 20 is still in this sleep; open files there are lost:"
        );
    }
}
