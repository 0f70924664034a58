//! When to examine which process while a medium is written.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

use crate::drive::guard::conflicts::process_list::ListedProcess;

/// How long after it was examined a process is examined again, at the earliest.
const EXAMINE_INTERVAL: Duration = Duration::from_secs(1);
/// How long after it was first listed a process goes before those that are older: most open what
/// they work on soon after they were started.
const RECENT: Duration = Duration::from_secs(10);
/// After how many failures in succession a process counts as one that cannot be examined.
pub(super) const MAX_FAILURES: u32 = 5;

/// The processes that are examined again and again: those that are new first, then the recent ones,
/// then all others in turn.
#[derive(Debug, Default)]
pub(super) struct ProcessSchedule {
    known: HashMap<ListedProcess, ProcessState>,
    new: VecDeque<ListedProcess>,
    recent: VecDeque<ListedProcess>,
    others: VecDeque<ListedProcess>,
}

#[derive(Debug, Clone, Copy)]
struct ProcessState {
    first_listed: Instant,
    last_listed: Instant,
    /// `None` while it is new.
    examined: Option<Instant>,
    /// Examinations in succession that failed.
    failures: u32,
}

impl ProcessSchedule {
    /// Begins with processes that were examined shortly before.
    pub(super) fn with_examined(
        processes: impl IntoIterator<Item = ListedProcess>,
        now: Instant,
    ) -> Self {
        let recent: VecDeque<_> = processes.into_iter().collect();
        let state = ProcessState {
            first_listed: now,
            last_listed: now,
            examined: Some(now),
            failures: 0,
        };
        Self {
            known: recent.iter().map(|process| (*process, state)).collect(),
            recent,
            ..Self::default()
        }
    }

    /// Adds those of these processes that are new, and forgets those that are not among them.
    pub(super) fn update(&mut self, listed: &[ListedProcess], now: Instant) {
        for process in listed {
            let state = self.known.entry(*process).or_insert_with(|| {
                self.new.push_back(*process);
                ProcessState {
                    first_listed: now,
                    last_listed: now,
                    examined: None,
                    failures: 0,
                }
            });
            state.last_listed = now;
        }
        self.known.retain(|_, state| state.last_listed == now);
    }

    /// The next process that has never been examined.
    pub(super) fn next_new(&mut self) -> Option<ListedProcess> {
        self.new.pop_front()
    }

    /// The next process to be examined again; `None` when all were examined a moment ago.
    pub(super) fn next_known(&mut self, now: Instant) -> Option<ListedProcess> {
        let known = &self.known;
        let take_due = |queue: &mut VecDeque<ListedProcess>| {
            while let Some(process) = queue.front().copied() {
                let state = known.get(&process);
                let is_due = |state: &ProcessState| {
                    let since = state.examined.map(|at| now.saturating_duration_since(at));
                    since.is_none_or(|since| since >= EXAMINE_INTERVAL)
                };
                if state.is_some_and(|state| !is_due(state)) {
                    return None;
                }
                queue.pop_front();
                // It may have ended.
                if state.is_some() {
                    return Some(process);
                }
            }
            None
        };
        take_due(&mut self.recent).or_else(|| take_due(&mut self.others))
    }

    /// Takes down that a process was examined, or that this failed. Yields whether it has failed too
    /// often.
    pub(super) fn examined(&mut self, process: ListedProcess, failed: bool, now: Instant) -> bool {
        let Some(state) = self.known.get_mut(&process) else {
            return false;
        };
        state.examined = Some(now);
        state.failures = if failed { state.failures + 1 } else { 0 };
        let is_recent = now.saturating_duration_since(state.first_listed) < RECENT;
        let fails = state.failures >= MAX_FAILURES;
        match is_recent {
            true => self.recent.push_back(process),
            false => self.others.push_back(process),
        }
        fails
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(number: u32) -> ListedProcess {
        ListedProcess::with_inode(number, u64::from(number))
    }

    #[test]
    fn new_processes_are_examined_before_known_ones_and_these_in_turn() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let [one, two, three] = [1, 2, 3].map(process);
        let mut schedule = ProcessSchedule::with_examined([one, two], start);
        assert_eq!(schedule.next_known(start), None);
        schedule.update(&[one, two, three], at(1));
        assert_eq!(schedule.next_new(), Some(three));
        assert_eq!(schedule.next_new(), None);
        for expected in [one, two] {
            assert_eq!(schedule.next_known(at(1)), Some(expected));
            assert!(!schedule.examined(expected, false, at(1)));
        }
        assert!(!schedule.examined(three, false, at(1)));
        assert_eq!(schedule.next_known(at(1)), None);
        // One has ended, and its number is used again.
        let other = ListedProcess::with_inode(1, 99);
        schedule.update(&[other, two, three], at(2));
        assert_eq!(schedule.next_new(), Some(other));
        assert_eq!(schedule.next_known(at(2)), Some(two));
        assert_eq!(schedule.next_known(at(2)), Some(three));
        assert_eq!(schedule.next_known(at(2)), None);
    }

    #[test]
    fn recent_process_goes_before_older_ones() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let [old, young] = [1, 2].map(process);
        let mut schedule = ProcessSchedule::with_examined([old], start);
        assert_eq!(schedule.next_known(at(20)), Some(old));
        schedule.examined(old, false, at(20));
        schedule.update(&[old, young], at(20));
        assert_eq!(schedule.next_new(), Some(young));
        schedule.examined(young, false, at(20));
        for seconds in 21..25 {
            assert_eq!(schedule.next_known(at(seconds)), Some(young));
            schedule.examined(young, false, at(seconds));
        }
        assert_eq!(schedule.next_known(at(25)), Some(young));
        assert_eq!(schedule.next_known(at(25)), Some(old));
    }

    #[test]
    fn process_fails_when_it_cannot_be_examined_five_times_in_succession() {
        let start = Instant::now();
        let one = process(1);
        let mut schedule = ProcessSchedule::with_examined([one], start);
        let mut examine = |failed| schedule.examined(one, failed, start);
        assert!(!(0..4).any(|_| examine(true)));
        assert!(!examine(false));
        assert!(!(0..4).any(|_| examine(true)));
        assert!(examine(true));
    }
}
