//! Since when tasks sleep, although nobody has watched: `/proc/PID/sched` has the time at which a task was
//! last on a processor, on the clock of that processor (kernel/sched/debug.c, `exec_start`).

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::probe::text::{list_numbers_at, nonempty_lines, read_file, split_fields};
use crate::probe::waits::processes;
use crate::roots::SysPaths;

/// Position of the processor in `/proc/PID/stat` behind the name (field 39).
const PROCESSOR: usize = 36;
/// Function in which a task waits for completions of io_uring.
const URING_WAIT: &[u8] = b"io_cqring";

/// How long these tasks, by process and thread id, have slept at least. The newest time of all tasks that
/// were last on the same processor is that of its clock, or somewhat earlier.
#[must_use]
pub fn slept_times(roots: &SysPaths, tasks: &[(u32, u32)]) -> BTreeMap<(u32, u32), Duration> {
    let mut slept = BTreeMap::new();
    if tasks.is_empty() {
        return slept;
    }
    let mut clocks: BTreeMap<u64, f64> = BTreeMap::new();
    for (processor, time) in processes(roots).filter_map(|(_, place)| last_run(&place)) {
        let newest = clocks.entry(processor).or_default();
        *newest = newest.max(time);
    }
    for (pid, tid) in tasks {
        let run = last_run(&roots.proc.join(format!("{pid}/task/{tid}")));
        let age = run.and_then(|(processor, time)| Some(clocks.get(&processor)? - time));
        let age = age.and_then(|milliseconds| Duration::try_from_secs_f64(milliseconds / 1e3).ok());
        slept.extend(age.map(|age| ((*pid, *tid), age)));
    }
    slept
}

/// The processor that a task was on last, and when, in milliseconds of the clock of that processor.
fn last_run(task: &Path) -> Option<(u64, f64)> {
    let stat = read_file(&task.join("stat"))?;
    let end = stat.iter().rposition(|byte| *byte == b')')?;
    let processor = split_fields(stat.get(end + 1..)?).nth(PROCESSOR)?;
    let sched = read_file(&task.join("sched"))?;
    let line = nonempty_lines(&sched).find(|line| line.starts_with(b"se.exec_start"))?;
    let number = |word: &[u8]| std::str::from_utf8(word).ok()?.trim().parse::<f64>().ok();
    let time = number(split_fields(line).last()?).filter(|time| *time > 0.0)?;
    Some((number(processor)? as u64, time))
}

/// The processes of which a thread waits for completions of io_uring, with their names.
#[must_use]
pub fn uring_waiters(roots: &SysPaths) -> Vec<(u32, Vec<u8>)> {
    let waits = |(pid, place): (u32, PathBuf)| {
        let threads = list_numbers_at(&place.join("task")).unwrap_or_default();
        let is_waiting = threads.iter().any(|tid| {
            let channel = read_file(&place.join(format!("task/{tid}/wchan")));
            channel.is_some_and(|name| name.windows(URING_WAIT.len()).any(|it| it == URING_WAIT))
        });
        let name = read_file(&place.join("comm")).filter(|_| is_waiting)?;
        Some((pid, name.trim_ascii().to_vec()))
    };
    processes(roots).filter_map(waits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_is_as_long_as_the_clock_of_its_processor_has_gone_on() {
        let stat = |processor: u32| {
            let zeros = "0 ".repeat(PROCESSOR - 1);
            format!("7 (a) b) D {zeros}{processor} 0\n")
        };
        let sched = |time: &str| format!("a (7, #threads: 1)\n---\nse.exec_start    :   {time}\n");
        let (_root, roots) = SysPaths::with_files(&[
            ("proc/7/stat", &stat(1)),
            ("proc/7/sched", &sched("1000.5")),
            ("proc/7/task/7/stat", &stat(1)),
            ("proc/7/task/7/sched", &sched("1000.5")),
            ("proc/7/task/7/wchan", "io_cqring_wait"),
            ("proc/7/comm", "fio\n"),
            ("proc/8/stat", &stat(1)),
            ("proc/8/sched", &sched("21000.5")),
            ("proc/9/stat", &stat(0)),
            ("proc/9/sched", &sched("99000.0")),
        ]);
        let slept = slept_times(&roots, &[(7, 7), (8, 8)]);
        let expected = BTreeMap::from([((7, 7), Duration::from_secs(20))]);
        assert_eq!(slept, expected);
        assert_eq!(uring_waiters(&roots), [(7, b"fio".to_vec())]);
    }
}
