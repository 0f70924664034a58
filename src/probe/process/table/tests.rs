use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::probe::sample::ProcessIo;

fn reading(roots: &SysPaths, at: Duration) -> ProcessReading<'_> {
    let proc = crate::probe::text::open_relative(rustix::fs::CWD, roots.proc.as_path()).unwrap();
    ProcessReading {
        proc: std::os::fd::AsFd::as_fd(Box::leak(Box::new(proc))),
        roots,
        hierarchies: Box::leak(Box::default()),
        at,
        now: Box::leak(Box::new(move || at)),
        charged: None,
        waits: WaitSource::None,
        threads: false,
    }
}

/// The longest time between two readings of each of these idle processes.
fn longest_quiet_time(pids: std::ops::Range<u32>, intervals: &[Duration]) -> Duration {
    let (root, roots) = SysPaths::with_files(&[("proc/loadavg", "0 0 0 1/1 5\n")]);
    for pid in pids.clone() {
        let directory = root.path().join(format!("proc/{pid}"));
        std::fs::create_dir_all(&directory).unwrap();
        let zeros = "0 ".repeat(30);
        let stat = format!("{pid} (idle) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 {zeros}\n");
        std::fs::write(directory.join("stat"), stat).unwrap();
        let io = "rchar: 5000\nwchar: 0\nsyscr: 1\nsyscw: 0\nread_bytes: 0\nwrite_bytes: 0\n\
                  cancelled_write_bytes: 0\n";
        std::fs::write(directory.join("io"), io).unwrap();
    }
    let mut table = ProcessTable::new(&roots, false);
    let mut longest = Duration::ZERO;
    let mut at = Duration::from_secs(100);
    let mut read_at = vec![at; pids.len()];
    for interval in intervals.iter().cycle().take(200) {
        table.update(&reading(&roots, at));
        for (process, before) in table.snapshot().iter().zip(&mut read_at) {
            longest = longest.max(process.read_at - *before);
            *before = process.read_at;
        }
        at += *interval;
    }
    assert_eq!(table.snapshot().len(), pids.len());
    longest
}

#[test]
fn idle_process_is_read_every_three_seconds_at_any_interval() {
    let every = |milliseconds| longest_quiet_time(50..60, &[Duration::from_millis(milliseconds)]);
    assert_eq!(every(1000), reading::MAX_QUIET_TIME);
    assert_eq!(every(500), reading::MAX_QUIET_TIME);
    assert_eq!(every(2000), Duration::from_secs(2));
    assert_eq!(every(5000), Duration::from_secs(5));
    // In 32 turns.
    assert_eq!(every(50), Duration::from_millis(1600));
}

#[test]
fn idle_process_is_read_in_time_when_samples_are_late() {
    let late = [1000, 1010, 990, 1200, 1000, 700].map(Duration::from_millis);
    let longest = longest_quiet_time(50..60, &late);
    assert!(
        longest <= reading::MAX_QUIET_TIME.mul_f64(1.2),
        "{longest:?}"
    );
}

/// A thread of a machine that exists as files below a directory.
#[derive(Debug, Clone, Copy)]
struct Thread {
    pid: u32,
    /// What it has read.
    own: u64,
}

/// What happens between samples.
#[derive(Debug, Clone, Copy)]
enum Event {
    /// A thread reads this many bytes.
    Read(usize, u64),
    /// A process starts a thread.
    StartThread(usize),
    /// A process starts a child.
    Fork(usize),
    /// A thread ends, and its process with the last one: its parent waits for it.
    End(usize),
}

#[derive(Debug)]
struct Machine {
    root: tempfile::TempDir,
    threads: BTreeMap<u32, Thread>,
    /// Per process: its parent, and what its ended threads and children have read.
    processes: BTreeMap<u32, (u32, u64)>,
    exits: Vec<ThreadExit>,
    next_id: u32,
    /// All that was read since the first sample.
    read: u64,
}

fn io_text(bytes: u64) -> String {
    format!(
        "rchar: {bytes}\nwchar: 0\nsyscr: 0\nsyscw: 0\nread_bytes: {bytes}\nwrite_bytes: 0\n\
         cancelled_write_bytes: 0\n"
    )
}

impl Machine {
    /// One process that has two threads, has read something, and has waited for a child.
    fn new() -> Self {
        let root = tempfile::tempdir_in("/dev/shm").unwrap();
        Self {
            threads: [(10, 700), (11, 70)]
                .map(|(tid, own)| (tid, Thread { pid: 10, own }))
                .into(),
            processes: [(10, (1, 9000))].into(),
            exits: Vec::new(),
            next_id: 12,
            read: 0,
            root,
        }
    }

    fn nth(&self, index: usize) -> u32 {
        let tids: Vec<u32> = self.threads.keys().copied().collect();
        tids[index % tids.len()]
    }

    fn start(&mut self, pid: Option<u32>) -> u32 {
        let tid = self.next_id;
        self.next_id += 1;
        self.threads.insert(
            tid,
            Thread {
                pid: pid.unwrap_or(tid),
                own: 0,
            },
        );
        tid
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Read(index, bytes) => {
                let tid = self.nth(index);
                self.threads.get_mut(&tid).unwrap().own += bytes;
                self.read += bytes;
            }
            Event::StartThread(index) => {
                let pid = self.threads[&self.nth(index)].pid;
                self.start(Some(pid));
            }
            Event::Fork(index) => {
                let parent = self.threads[&self.nth(index)].pid;
                let pid = self.start(None);
                self.processes.insert(pid, (parent, 0));
            }
            Event::End(index) => self.end(self.nth(index)),
        }
    }

    fn end(&mut self, tid: u32) {
        let Thread { pid, own } = self.threads[&tid];
        let others = self
            .threads
            .values()
            .filter(|thread| thread.pid == pid)
            .count()
            - 1;
        // The first thread stays until the others have ended, and the first process for ever.
        if (tid == pid && others > 0) || tid == 10 {
            return;
        }
        self.threads.remove(&tid);
        let (parent, ended) = self.processes[&pid];
        self.exits.push(ThreadExit {
            pid,
            tid,
            parent_pid: parent,
            name: b"x".to_vec(),
            io: ProcessIo {
                rchar: own,
                read_bytes: own,
                ..ProcessIo::default()
            },
        });
        if others > 0 {
            self.processes.get_mut(&pid).unwrap().1 += own;
            return;
        }
        self.processes.remove(&pid);
        if let Some((_, sum)) = self.processes.get_mut(&parent) {
            *sum += ended + own;
        }
    }

    /// Writes the files of all processes. Those of processes that go on stay the same files.
    fn lay(&self) {
        let proc = self.root.path().join("proc");
        let gone = (10..self.next_id).filter(|id| !self.threads.contains_key(id));
        for id in gone {
            let _ = fs::remove_dir_all(proc.join(id.to_string()));
            for pid in self.processes.keys() {
                let _ = fs::remove_dir_all(proc.join(format!("{pid}/task/{id}")));
            }
        }
        let write = |path: &Path, text: &str| {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for (pid, (parent, ended)) in &self.processes {
            let process = proc.join(pid.to_string());
            let own: Vec<(&u32, &Thread)> = self
                .threads
                .iter()
                .filter(|(_, thread)| thread.pid == *pid)
                .collect();
            let total = own.iter().map(|(_, thread)| thread.own).sum::<u64>() + ended;
            let reaped = u32::from(*ended > 0);
            let stat = format!(
                "{pid} (x) S {parent} 1 1 0 -1 0 0 {reaped} 0 0 0 0 0 0 20 0 {} 0 5 {}\n",
                own.len(),
                "0 ".repeat(30)
            );
            write(&process.join("stat"), &stat);
            write(&process.join("io"), &io_text(total));
            for (tid, thread) in own {
                write(
                    &process.join(format!("task/{tid}/io")),
                    &io_text(thread.own),
                );
            }
        }
    }
}

fn events(count: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Event>> {
    let index = || 0_usize..8;
    let event = prop_oneof![
        6 => (index(), 5000_u64..100_000).prop_map(|(index, bytes)| Event::Read(index, bytes)),
        1 => index().prop_map(Event::StartThread),
        2 => index().prop_map(Event::Fork),
        3 => index().prop_map(Event::End),
    ];
    prop::collection::vec(event, count)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever ends between which readings: everything is counted once, for the process that did it or
    /// for its end.
    #[test]
    fn io_of_processes_and_of_their_ends_adds_up_to_what_was_done(
        rounds in prop::collection::vec((events(0..8), events(0..4)), 1..8)
    ) {
        let mut machine = Machine::new();
        machine.lay();
        let roots = SysPaths::under_root(machine.root.path());
        let mut table = ProcessTable::new(&roots, true);
        let mut own: BTreeMap<u32, u64> = BTreeMap::new();
        // Of processes that are gone, and of their ends.
        let mut gone = 0;
        let still = (Vec::new(), Vec::new());
        let rounds = [still.clone()].into_iter().chain(rounds).chain([still]);
        // So long after each other that idle processes are read every time.
        for (second, (before, while_read)) in (100..).step_by(5).zip(rounds) {
            before.into_iter().for_each(|event| machine.happen(event));
            machine.lay();
            table.update(&reading(&roots, Duration::from_secs(second)));
            while_read.into_iter().for_each(|event| machine.happen(event));
            let ended = table.count_ended(&std::mem::take(&mut machine.exits));
            gone += ended.iter().map(|record| record.io.read_bytes).sum::<u64>();
            let known = table.snapshot().into_iter();
            let known = known.map(|it| (it.identity.pid, it.own_io.unwrap().read_bytes));
            let known: BTreeMap<u32, u64> = known.collect();
            let left = own.into_iter().filter(|(pid, _)| !known.contains_key(pid));
            gone += left.map(|(_, read)| read).sum::<u64>();
            own = known;
        }
        prop_assert_eq!(own.values().sum::<u64>() + gone, machine.read);
    }
}
