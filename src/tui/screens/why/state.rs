//! State of the Why screen.

use std::sync::Arc;
use std::time::Duration;

use crate::app::Effect;
use crate::app::viewport::Viewport;
use crate::files::safe_text::SafeText;
use crate::tui::keys::KeyCommand;
use crate::tui::screens::why::problem_line::ProblemLine;
use crate::why::{Cause, CauseKey, Diagnosis};

/// A diagnosis of the last seconds.
#[derive(Debug, Clone, Default)]
pub struct WatchedDiagnosis {
    /// When it was made (`CLOCK_BOOTTIME`).
    pub at: Duration,
    /// What was found; `None` without a snapshot that has rates.
    pub diagnosis: Option<Diagnosis>,
    /// Whether the tasks were scanned: otherwise only part of the causes was examined.
    pub is_complete: bool,
    /// The device whose requests are traced.
    pub traced_device: Option<SafeText>,
}

/// When a cause was first seen, and when last.
#[derive(Debug, Clone)]
struct KnownCause {
    key: CauseKey,
    since: SafeText,
    last_seen: Duration,
}

/// A cause that was not seen for this time is a new one when it comes back.
const FORGET_AFTER: Duration = Duration::from_secs(30);

/// State of the Why screen.
#[derive(Debug, Clone, Default)]
pub struct WhyState {
    /// The diagnosis that is shown; `None` before the first.
    pub diagnosis: Option<Diagnosis>,
    /// The device whose requests are traced.
    pub traced_device: Option<SafeText>,
    /// Whether the user wants requests to be traced.
    pub wants_trace: bool,
    /// Whether the display is frozen.
    pub is_held: bool,
    /// The cause whose proof is shown; `None`: the first.
    selected: Option<CauseKey>,
    /// Scroll position.
    pub viewport: Viewport,
    /// The line on the Live screen.
    pub line: ProblemLine,
    known: Vec<KnownCause>,
}

impl WhyState {
    /// Takes a diagnosis of this machine.
    pub fn update(&mut self, watched: &WatchedDiagnosis) {
        let mut diagnosis = watched.diagnosis.clone();
        if let Some(diagnosis) = &mut diagnosis {
            self.extend_since(watched.at, diagnosis);
        }
        self.line.update(watched.at, diagnosis.as_ref());
        if self.is_held || !watched.is_complete {
            return;
        }
        self.traced_device.clone_from(&watched.traced_device);
        self.show(diagnosis);
    }

    /// Shows the diagnosis of a snapshot of a recording.
    pub fn show_frame(&mut self, diagnosis: Option<Arc<Diagnosis>>) {
        let diagnosis = diagnosis.map(Arc::unwrap_or_clone);
        self.line.show(diagnosis.as_ref());
        self.show(diagnosis);
    }

    fn show(&mut self, diagnosis: Option<Diagnosis>) {
        self.diagnosis = diagnosis;
        if self.selected_index() == 0 {
            self.selected = None;
        }
    }

    /// A window shows the begin of a cause only as far as it reaches back: earlier diagnoses know
    /// more.
    fn extend_since(&mut self, at: Duration, diagnosis: &mut Diagnosis) {
        let is_recent = |known: &KnownCause| known.last_seen + FORGET_AFTER >= at;
        self.known.retain(is_recent);
        for cause in &mut diagnosis.causes {
            let key = cause.key();
            match self.known.iter_mut().find(|known| known.key == key) {
                Some(known) => {
                    known.last_seen = at;
                    cause.since.clone_from(&known.since);
                }
                None => self.known.push(KnownCause {
                    key,
                    since: cause.since.clone(),
                    last_seen: at,
                }),
            }
        }
    }

    /// The causes that are listed.
    #[must_use]
    pub fn causes(&self) -> &[Cause] {
        self.diagnosis
            .as_ref()
            .map_or(&[], |diagnosis| &diagnosis.causes)
    }

    /// Index of the cause whose proof is shown.
    #[must_use]
    pub fn selected_index(&self) -> usize {
        let Some(selected) = &self.selected else {
            return 0;
        };
        let mut causes = self.causes().iter();
        causes
            .position(|cause| cause.key() == *selected)
            .unwrap_or(0)
    }

    /// Handles a command of the screen.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        match command {
            KeyCommand::Next => self.step_selection(1),
            KeyCommand::Previous => self.step_selection(self.causes().len().saturating_sub(1)),
            KeyCommand::TogglePause => self.is_held = !self.is_held,
            KeyCommand::ToggleTrace => {
                self.wants_trace = !self.wants_trace;
                return vec![Effect::TraceCauses(self.wants_trace)];
            }
            KeyCommand::Cancel => {
                self.selected = None;
                self.viewport.reset();
            }
            movement => self.viewport.scroll(movement),
        }
        Vec::new()
    }

    /// The screen is left: a trace ends with it.
    pub fn end_watch(&mut self) -> Vec<Effect> {
        self.is_held = false;
        let mut effects = vec![Effect::WatchCauses(false)];
        if std::mem::take(&mut self.wants_trace) {
            effects.push(Effect::TraceCauses(false));
        }
        effects
    }

    fn step_selection(&mut self, by: usize) {
        let count = self.causes().len().max(1);
        let index = (self.selected_index() + by) % count;
        self.selected = self.causes().get(index).map(Cause::key);
        self.viewport.reset();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::why::Severity;

    fn cause(code: &'static str, device: &str, since: &str) -> Cause {
        let mut cause = Cause::new(code, Severity::Warning, &since.into());
        cause.device = Some(device.into());
        cause
    }

    fn watched(at: u64, causes: Vec<Cause>) -> WatchedDiagnosis {
        WatchedDiagnosis {
            at: Duration::from_secs(at),
            diagnosis: Some(Diagnosis {
                causes,
                ..Diagnosis::default()
            }),
            is_complete: true,
            traced_device: None,
        }
    }

    fn saturated(device: &str, since: &str) -> Cause {
        cause("device-saturated", device, since)
    }

    #[test]
    fn begin_of_a_cause_is_that_of_its_first_diagnosis() {
        let mut why = WhyState::default();
        why.update(&watched(10, vec![saturated("sda", "10:00:00Z")]));
        why.update(&watched(
            25,
            vec![saturated("sda", "10:00:15Z"), saturated("sdb", "10:00:15Z")],
        ));
        assert_eq!(why.causes()[0].since.as_str(), "10:00:00Z");
        assert_eq!(why.causes()[1].since.as_str(), "10:00:15Z");
        // After a long time without it, it is another one.
        why.update(&watched(90, vec![saturated("sda", "10:01:20Z")]));
        assert_eq!(why.causes()[0].since.as_str(), "10:01:20Z");
    }

    #[test]
    fn selection_follows_its_cause_and_wraps() {
        let mut why = WhyState::default();
        let both = || vec![saturated("sda", ""), saturated("sdb", "")];
        why.update(&watched(1, both()));
        why.handle_command(KeyCommand::Next);
        assert_eq!(why.selected_index(), 1);
        let mut reversed = both();
        reversed.reverse();
        why.update(&watched(2, reversed));
        assert_eq!(why.selected_index(), 0);
        why.handle_command(KeyCommand::Previous);
        assert_eq!(why.selected_index(), 1);
        why.update(&watched(3, Vec::new()));
        assert_eq!(why.selected_index(), 0);
    }

    #[test]
    fn held_screen_keeps_its_diagnosis_while_the_line_goes_on() {
        let mut why = WhyState::default();
        why.update(&watched(1, vec![saturated("sda", "")]));
        why.handle_command(KeyCommand::TogglePause);
        for at in 2..20 {
            why.update(&watched(at, vec![saturated("sdb", "")]));
        }
        assert_eq!(why.causes()[0].device.as_deref(), Some("sda"));
        assert_eq!(why.line.cause().unwrap().device.as_deref(), Some("sdb"));
    }

    #[test]
    fn trace_ends_when_the_screen_is_left() {
        let mut why = WhyState::default();
        assert!(matches!(
            why.handle_command(KeyCommand::ToggleTrace)[..],
            [Effect::TraceCauses(true)]
        ));
        assert!(matches!(
            why.end_watch()[..],
            [Effect::WatchCauses(false), Effect::TraceCauses(false)]
        ));
        assert!(matches!(why.end_watch()[..], [Effect::WatchCauses(false)]));
    }
}
