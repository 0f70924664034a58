//! What helps, as commands that can be pasted: the measures that several causes have. Only what has an
//! effect on the device in question.

use super::analysis::{Analysis, DeviceSummary, ProcessSummary};
use super::cause::{Party, Remedy};
use crate::drive::DriveKind;
use crate::drive::scheduler::serves_io_classes;
use crate::files::safe_text::SafeText;
use crate::files::shell;
use crate::roots;

pub use super::analysis::ProcessInstance;

/// Fraction of its throughput that a limited unit keeps, in each direction.
const LIMITED_FRACTION: f64 = 0.5;
/// A direction in which a unit moves fewer bytes per second is not limited.
const MIN_LIMITED: f64 = 1e6;

/// A condition that holds while the number of a process belongs to it, and not to another one that got it
/// later: the time of its start, the 20th field behind the name of the program (proc_pid_stat(5)).
fn same_process(process: ProcessInstance) -> String {
    let ProcessInstance { pid, start_ticks } = process;
    format!(r"grep -qE '\) .( \S+){{18}} {start_ticks} ' /proc/{pid}/stat")
}

/// The path, if a command can name it: it is absolute, and what the kernel has. One with control
/// characters is shown with backslashes, and a command would name another file; so does a recording
/// that has the sign for what is no character.
pub fn exact_path(path: &SafeText) -> Option<&str> {
    let is_exact = |path: &&str| path.starts_with('/') && !path.contains('\u{fffd}');
    path.original().filter(is_exact)
}

/// A measure against one process, only while the number is its own.
fn of_process(process: ProcessInstance, command: &str, text: String) -> Remedy {
    let command = format!("{} && {command}", same_process(process));
    Remedy {
        is_of_process: true,
        ..Remedy::command(command, text)
    }
}

/// The I/O class idle: has an effect with the schedulers bfq and, since Linux 5.14, mq-deadline only.
pub fn idle_class(process: ProcessInstance, scheduler: &SafeText) -> Remedy {
    // The kernel keeps an I/O class for each thread (ioprio_set(2)). One call for each: ionice(1)
    // stops at a thread that has ended.
    let pid = process.pid;
    let ionice = format!("ps -L -p {pid} -o lwp= | xargs -n 1 ionice -c 3 -p");
    let text = format!(
        "I/O class idle for all threads, which the scheduler {scheduler} heeds for reads and direct writes"
    );
    of_process(process, &ionice, text)
}

/// SIGSTOP, and SIGCONT later.
pub fn pause(process: ProcessInstance) -> Remedy {
    let pid = process.pid;
    let text = format!("pauses it, until kill -CONT {pid} continues it");
    of_process(process, &format!("kill -STOP {pid}"), text)
}

/// SIGCONT for a process that is stopped.
pub fn continue_process(process: ProcessInstance) -> Remedy {
    let text = "continues it, after a look at who has stopped it".to_owned();
    of_process(process, &format!("kill -CONT {}", process.pid), text)
}

/// Limits of bytes read and written per second of a unit of the system's manager, version 2 of control
/// groups, until the next boot.
pub fn limit_unit(unit: &SafeText, device: &SafeText, limits: [Option<u64>; 2]) -> Option<Remedy> {
    let node = roots::device_node(device)?;
    let mut words: Vec<String> = ["systemctl", "set-property", "--runtime", "--", unit]
        .map(str::to_owned)
        .to_vec();
    let names = ["IOReadBandwidthMax", "IOWriteBandwidthMax"];
    for (name, limit) in names.into_iter().zip(limits) {
        words.extend(limit.map(|bytes_per_s| format!("{name}={node} {bytes_per_s}")));
    }
    let text = "half of its present throughput, until the next boot";
    Remedy::of(shell::command_line(words), text)
}

/// The messages of the kernel.
pub fn kernel_log() -> Remedy {
    Remedy::command(
        "dmesg --ctime | tail -50 | cat -v",
        "messages of the kernel",
    )
}

/// Who uses the memory.
pub fn memory_users() -> Remedy {
    Remedy::command(
        "ps -eo pid,rss,comm --sort=-rss | head | cat -v",
        "who uses the memory",
    )
}

/// The single requests of a device.
pub fn trace_requests(device: &SafeText) -> Option<Remedy> {
    let command = shell::command_line(["diskscope", "trace", "--", roots::device_name(device)?]);
    Remedy::of(command, "single requests, who and how long (root)")
}

/// The health and the error log of a device, where it is a drive that may report them.
pub fn health_of(analysis: &Analysis<'_>, name: &SafeText) -> Option<Remedy> {
    let device = analysis.device(name)?;
    if device.kind != Some(DriveKind::Disk) || device.is_virtual {
        return None;
    }
    let command = shell::command_line(["smartctl", "-a", &roots::device_node(name)?]);
    Remedy::of(command, "health and error log of the drive")
}

/// What helps against a process that takes most of a device.
pub fn against(culprit: &Party, device: &DeviceSummary, analysis: &Analysis<'_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    // Writeback is done by kernel threads, and only bfq knows for whom: the class has an effect on
    // reads and direct writes.
    let kernel = analysis.kernel_version();
    let scheduler = device.scheduler.as_ref();
    let scheduler = scheduler.filter(|name| serves_io_classes(name, kernel) == Some(true));
    let process = analysis.process(culprit.pid).map(ProcessSummary::instance);
    if let Some((process, scheduler)) = process.zip(scheduler) {
        remedies.push(idle_class(process, scheduler));
    }
    if let Some(unit) = &culprit.unit
        && analysis.can_limit_unit(unit)
    {
        remedies.extend(limit_of(unit, device, analysis));
    }
    remedies.extend(pause_of(culprit.pid, analysis));
    remedies
}

/// A pause of a process, unless others would hang with it, or that is not known.
pub fn pause_of(pid: u32, analysis: &Analysis<'_>) -> Option<Remedy> {
    let process = analysis.process(pid)?.instance();
    let is_harmless = analysis.window.looks.stoppable.contains(&pid);
    is_harmless.then(|| pause(process))
}

/// Half of what a unit reads and half of what it writes now, as far as the device does: a process also has
/// files on others, and writes to memory first.
fn limit_of(unit: &SafeText, device: &DeviceSummary, analysis: &Analysis<'_>) -> Option<Remedy> {
    let limit = |rate: fn(&ProcessSummary) -> f64, most: f64| {
        let processes = analysis.processes.iter();
        let own = processes.filter(|it| it.unit.as_ref() == Some(unit));
        let present = own.map(rate).sum::<f64>().min(most);
        (present >= MIN_LIMITED).then_some((present * LIMITED_FRACTION) as u64)
    };
    let limits = [
        limit(|it| it.read_bytes, device.read_bytes),
        limit(|it| it.write_bytes, device.write_bytes),
    ];
    let is_limited = limits.iter().any(Option::is_some);
    limit_unit(unit, &device.name, limits).filter(|_| is_limited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirement::{Requirement, skip};
    use crate::why::rules;

    #[test]
    fn path_that_is_not_absolute_is_in_no_command() {
        for path in ["-a", "--all", "relative", "/a\\x0ab", "/gr\u{fffd}", ""] {
            let path = SafeText::from(path);
            assert_eq!(exact_path(&path), None, "{path}");
        }
        assert_eq!(exact_path(&"/mnt/a b".into()), Some("/mnt/a b"));
    }

    #[test]
    fn name_of_a_device_that_leads_elsewhere_is_in_no_command() {
        for name in ["../../etc", "a/b", "..", "!etc", "a\\nb", ""] {
            let device = SafeText::from(name);
            let remedies = [
                rules::slow_resync(&device),
                trace_requests(&device),
                limit_unit(&"a.service".into(), &device, [Some(1), Some(1)]),
            ];
            assert_eq!(remedies, [None, None, None]);
        }
        let line = "echo 1000 > /sys/block/md127/md/sync_speed_min && \
                    echo 10000 > /sys/block/md127/md/sync_speed_max";
        let remedy = rules::slow_resync(&"md127".into()).unwrap();
        assert_eq!(remedy.command.as_deref(), Some(line));
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
            let command = pause(process).command.unwrap();
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
        let users = rules::processor_users_command();
        for remedy in [kernel_log(), memory_users(), users.clone()] {
            let command = remedy.command.unwrap();
            assert!(command.ends_with(" | cat -v"), "{command}");
        }
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
            let usage = rules::usage_command(&SafeText::from_path(place.path()), inodes).unwrap();
            let mut shell = std::process::Command::new("sh");
            let output = shell
                .args(["-c", &usage.command.unwrap()])
                .output()
                .unwrap();
            let list = String::from_utf8(output.stdout).unwrap();
            let is_harmless = |it: char| it.is_ascii() && !it.is_ascii_control();
            assert!(list.replace(['\t', '\n'], "").chars().all(is_harmless));
            assert_eq!(list.lines().count(), 5, "{list}");
        }
        let mut top = std::process::Command::new("top");
        let top = top.args(["-b", "-n", "1"]).output();
        if !top.is_ok_and(|output| output.status.success()) {
            return skip(Requirement::Program, "top(1) is not installed");
        }
        let mut shell = std::process::Command::new("sh");
        let shell = shell.args(["-c", &users.command.unwrap()]).output();
        let list = String::from_utf8(shell.unwrap().stdout).unwrap();
        let headings = list.lines().filter(|line| line.contains("%CPU"));
        assert_eq!(headings.count(), 1, "{list}");
    }
}
