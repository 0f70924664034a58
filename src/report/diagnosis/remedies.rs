//! What helps, as commands that can be pasted.

use crate::diagnosis::remedy::Remedy;
use crate::safe_text::SafeText;
use crate::shell;

/// A measure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemedyText {
    /// The command line; `None` where no command helps.
    pub command: Option<String>,
    /// What it does, and what to mind.
    pub note: String,
}

impl RemedyText {
    fn command(command: String, note: impl Into<String>) -> Self {
        Self {
            command: Some(command),
            note: note.into(),
        }
    }

    fn advice(note: impl Into<String>) -> Self {
        Self {
            command: None,
            note: note.into(),
        }
    }

    /// As one line.
    #[must_use]
    pub fn line(&self) -> String {
        match &self.command {
            Some(command) => format!("{command}   # {}", self.note),
            None => self.note.clone(),
        }
    }
}

/// Whether a command can name this path: it is absolute, and what the kernel has. One with control
/// characters is shown with backslashes, and a command would name another file.
fn is_exact(path: &SafeText) -> bool {
    path.starts_with('/') && !path.contains('\\')
}

/// The command and what it does. The note follows the command as a comment, which some shells execute
/// all the same: names in it are quoted, and it contains nothing else that has a meaning in a shell.
#[must_use]
pub fn remedy_text(remedy: &Remedy) -> RemedyText {
    match remedy {
        Remedy::IdleClass { pid, scheduler } => RemedyText::command(
            format!("ionice -c 3 -p {pid}"),
            format!(
                "I/O class idle, which the scheduler {scheduler} heeds for reads and direct writes"
            ),
        ),
        Remedy::LimitUnit {
            unit,
            device,
            bytes_per_s,
        } => {
            let limit = |name: &str| format!("{name}={} {bytes_per_s}", shell::device_node(device));
            RemedyText::command(
                shell::command_line([
                    "systemctl",
                    "set-property",
                    "--runtime",
                    "--",
                    unit.as_str(),
                    &limit("IOReadBandwidthMax"),
                    &limit("IOWriteBandwidthMax"),
                ]),
                "half of the present throughput, until the next boot",
            )
        }
        Remedy::Pause { pid } => RemedyText::command(
            format!("kill -STOP {pid}"),
            format!("pauses it. kill -CONT {pid} continues it"),
        ),
        Remedy::RaiseLimit {
            group,
            unit,
            device,
        } => match unit {
            Some(unit) => RemedyText::command(
                shell::command_line([
                    "systemctl",
                    "show",
                    "--property",
                    "IOReadBandwidthMax,IOWriteBandwidthMax,IOReadIOPSMax,IOWriteIOPSMax",
                    "--",
                    unit.as_str(),
                ]),
                format!(
                    "raise the limit of {} with systemctl set-property",
                    shell::quote_word(device.as_str())
                ),
            ),
            None => RemedyText::advice(format!(
                "raise or remove the limit of {device} in the control group {group}: io.max, with version 1 blkio.throttle.*"
            )),
        },
        Remedy::SlowResync { device } => RemedyText::command(
            format!(
                "echo 10000 > {}",
                shell::quote_word(format!("/sys/block/{device}/md/sync_speed_max"))
            ),
            "at most 10 MB/s, until the word system is written into the same file",
        ),
        Remedy::LowerDirtyLimits => RemedyText::command(
            "sysctl vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456".to_owned(),
            "a slow device then holds up less memory. The defaults are 20 and 10 percent of the memory",
        ),
        Remedy::ShowDiskUsage { mount_point } if !is_exact(mount_point) => {
            RemedyText::advice(format!("see what uses the space of {mount_point} with du"))
        }
        Remedy::ShowDiskUsage { mount_point } => RemedyText::command(
            shell::command_line(["du", "-xh", "--max-depth=2", "--", mount_point.as_str()])
                + " | sort -h | tail -20",
            "what uses the space",
        ),
        Remedy::ShowHealth { device } => RemedyText::command(
            shell::command_line(["smartctl", "-a", &shell::device_node(device)]),
            "health and error log of the drive",
        ),
        Remedy::ShowKernelLog => RemedyText::command(
            "dmesg --ctime | tail -50".to_owned(),
            "messages of the kernel",
        ),
        Remedy::TraceRequests { device } => RemedyText::command(
            shell::command_line(["diskscope", "trace", "--", device.as_str()]),
            "single requests, who and how long (root)",
        ),
        Remedy::ShowMemoryUsers => RemedyText::command(
            "ps -eo pid,rss,comm --sort=-rss | head".to_owned(),
            "who uses the memory",
        ),
        Remedy::ShowProcessorUsers => RemedyText::command(
            "ps -eo pid,pcpu,comm --sort=-pcpu | head".to_owned(),
            "who uses the processors",
        ),
        Remedy::LazyUnmount { mount_point } if !is_exact(mount_point) => {
            RemedyText::advice(format!(
                "after a look at the server, umount -f -l of {mount_point} ends the waiting, and open files there are lost"
            ))
        }
        Remedy::LazyUnmount { mount_point } => RemedyText::command(
            shell::command_line(["umount", "-f", "-l", "--", mount_point.as_str()]),
            "after a look at the server: ends the waiting, and open files there are lost",
        ),
        Remedy::Defragment {
            path,
            program: Some(program),
        } if is_exact(path) => RemedyText::command(
            shell::command_line([program, "--", path.as_str()]),
            "rewrites the file in few pieces, where the file system has enough room in one place",
        ),
        Remedy::Defragment { path, .. } => RemedyText::advice(format!(
            "copy {path} while nobody writes it, where the file system has enough room in one place, and rename the copy"
        )),
        Remedy::GroupCommits => RemedyText::advice(
            "combine transactions: group commit of the database, fewer fsync calls; a drive with a protected write cache completes flushes at once",
        ),
        Remedy::MoreParallelRequests => RemedyText::advice(
            "more requests in flight: several threads, asynchronous I/O, or read-ahead; `diskscope run concurrency-read` shows what the device gains from it",
        ),
        Remedy::Command { line } => RemedyText::command(line.to_string(), "see diskscope devices"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_that_is_not_absolute_is_in_no_command() {
        for path in ["-a", "--all", "relative", "/a\\x0ab", ""] {
            let remedies = [
                Remedy::LazyUnmount {
                    mount_point: path.into(),
                },
                Remedy::ShowDiskUsage {
                    mount_point: path.into(),
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
        let remedy = Remedy::LazyUnmount {
            mount_point: "/mnt/a b".into(),
        };
        let command = remedy_text(&remedy).command.unwrap();
        assert_eq!(command, "umount -f -l -- '/mnt/a b'");
    }

    #[test]
    fn name_of_a_device_is_quoted_in_the_note_too() {
        let remedy = Remedy::RaiseLimit {
            group: "/a".into(),
            unit: Some("a.service".into()),
            device: "sda; touch x;".into(),
        };
        let line = remedy_text(&remedy).line();
        assert!(line.contains("'sda; touch x;'"), "{line}");
    }
}
