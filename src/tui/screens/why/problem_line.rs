//! The line about a problem at the top of the Live screen, with hysteresis: a line that comes and
//! goes every second cannot be read.

use std::time::Duration;

use crate::why::{Cause, CauseKey, Diagnosis, Severity};

/// How long a problem has to be named first before the line appears, or names another one.
const APPEAR_AFTER: Duration = Duration::from_secs(3);
/// How long after its last diagnosis the line disappears.
const DISAPPEAR_AFTER: Duration = Duration::from_secs(8);
/// How long the values in the line stay the same.
const KEEP_VALUES: Duration = Duration::from_secs(5);

/// A problem that is shown.
#[derive(Debug, Clone)]
struct ShownProblem {
    cause: Cause,
    /// When its values were taken.
    taken_at: Duration,
    last_seen: Duration,
}

/// The line.
#[derive(Debug, Clone, Default)]
pub struct ProblemLine {
    shown: Option<ShownProblem>,
    /// The problem that is named first at present, and since when.
    candidate: Option<(CauseKey, Duration)>,
}

/// The problem that the line is about: the first cause, unless it is the processor or the memory,
/// which may well be the limit.
fn problem(diagnosis: &Diagnosis) -> Option<&Cause> {
    diagnosis
        .causes
        .iter()
        .find(|cause| cause.severity >= Severity::Warning && cause.code != "not-io")
}

impl ProblemLine {
    /// The cause that the line names; `None` while there is no line.
    #[must_use]
    pub fn cause(&self) -> Option<&Cause> {
        self.shown.as_ref().map(|shown| &shown.cause)
    }

    /// Takes the diagnosis of this time.
    pub fn update(&mut self, at: Duration, diagnosis: Option<&Diagnosis>) {
        let problem = diagnosis.and_then(problem);
        if let Some(shown) = &mut self.shown {
            let key = shown.cause.key();
            let causes = diagnosis.map_or(&[][..], |diagnosis| &diagnosis.causes);
            let same = causes.iter().find(|cause| cause.key() == key);
            if let Some(same) = same.filter(|cause| cause.severity >= Severity::Warning) {
                shown.last_seen = at;
                if at.saturating_sub(shown.taken_at) >= KEEP_VALUES {
                    shown.cause = same.clone();
                    shown.taken_at = at;
                }
            }
        }
        self.shown
            .take_if(|shown| at.saturating_sub(shown.last_seen) >= DISAPPEAR_AFTER);
        let Some(problem) = problem else {
            self.candidate = None;
            return;
        };
        let key = problem.key();
        let since = match &self.candidate {
            Some((known, since)) if *known == key => *since,
            _ => at,
        };
        self.candidate = Some((key, since));
        let is_shown = self
            .cause()
            .is_some_and(|cause| cause.key() == problem.key());
        if !is_shown && at.saturating_sub(since) >= APPEAR_AFTER {
            self.shown = Some(ShownProblem {
                cause: problem.clone(),
                taken_at: at,
                last_seen: at,
            });
        }
    }

    /// Shows the problem of a snapshot of a recording at once.
    pub fn show(&mut self, diagnosis: Option<&Diagnosis>) {
        let cause = diagnosis.and_then(problem).cloned();
        self.shown = cause.map(|cause| ShownProblem {
            cause,
            taken_at: Duration::ZERO,
            last_seen: Duration::ZERO,
        });
        self.candidate = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diagnosis(devices: &[&str]) -> Diagnosis {
        let cause = |device: &&str| {
            let mut cause = Cause::new("device-slow", Severity::Warning, &"".into());
            cause.device = Some((*device).into());
            cause
        };
        Diagnosis {
            causes: devices.iter().map(cause).collect(),
            ..Diagnosis::default()
        }
    }

    /// The device that is shown at the end of each second.
    fn shown(seconds: &[&[&str]]) -> Vec<Option<String>> {
        let mut line = ProblemLine::default();
        let mut after = |(at, devices): (usize, &&[&str])| {
            line.update(Duration::from_secs(at as u64), Some(&diagnosis(devices)));
            line.cause()
                .and_then(|cause| cause.device.as_deref().map(str::to_owned))
        };
        seconds.iter().enumerate().map(&mut after).collect()
    }

    #[test]
    fn short_problem_does_not_appear() {
        let found = shown(&[&["a"], &["a"], &[], &["a"], &["a"], &["a"]]);
        assert!(found.iter().all(Option::is_none), "{found:?}");
    }

    #[test]
    fn lasting_problem_appears_and_outlives_gaps() {
        let gap: &[&str] = &[];
        let a: &[&str] = &["a"];
        let mut seconds = vec![a; 4];
        seconds.extend([gap; 7]);
        seconds.push(a);
        seconds.extend([gap; 9]);
        let found = shown(&seconds);
        assert_eq!(found.iter().position(Option::is_some), Some(3));
        // Seen last in second 11, gone 8 seconds later.
        assert!(found[3..19].iter().all(Option::is_some), "{found:?}");
        assert_eq!(found[19], None);
    }

    #[test]
    fn other_problem_takes_over_after_it_was_first_for_a_while() {
        let mut seconds: Vec<&[&str]> = vec![&["a"]; 5];
        seconds.extend([&["b", "a"][..]; 5]);
        let found = shown(&seconds);
        assert_eq!(found[7].as_deref(), Some("a"));
        assert_eq!(found[8].as_deref(), Some("b"));
    }

    #[test]
    fn alternating_problems_keep_the_line() {
        let seconds: Vec<&[&str]> = (0..20)
            .map(|at| match at {
                0..4 => &["a"][..],
                at if at % 2 == 0 => &["a", "b"][..],
                _ => &["b", "a"][..],
            })
            .collect();
        let found = shown(&seconds);
        assert!(found[3..].iter().all(|it| it.as_deref() == Some("a")));
    }

    #[test]
    fn values_change_rarely() {
        let mut line = ProblemLine::default();
        let mut changes = 0;
        let mut last = None;
        for at in 0..30_u64 {
            let mut now = diagnosis(&["a"]);
            now.causes[0].since = at.to_string().into();
            line.update(Duration::from_secs(at), Some(&now));
            let since = line.cause().map(|cause| cause.since.clone());
            changes += usize::from(since != last);
            last = since;
        }
        assert!((4..=7).contains(&changes), "{changes}");
    }

    #[test]
    fn busy_processors_and_notes_are_no_line() {
        let mut line = ProblemLine::default();
        let mut note = diagnosis(&["a"]);
        note.causes[0].severity = Severity::Note;
        note.causes
            .push(Cause::new("not-io", Severity::Warning, &"".into()));
        for at in 0..30 {
            line.update(Duration::from_secs(at), Some(&note));
        }
        assert!(line.cause().is_none());
        line.show(Some(&diagnosis(&["a"])));
        assert!(line.cause().is_some());
        line.show(None);
        assert!(line.cause().is_none());
    }
}
