//! The question that is open, and whether the user was shown it.

use super::dialog::Dialog;
use super::shown_frame::{DrawnFrame, OpenQuestion, ShownFrame};
use super::state::AppState;
use crate::tui::screens::sessions::SessionInput;

impl AppState {
    /// The question that is open.
    fn open_question(&self) -> Option<OpenQuestion> {
        match (&self.dialog, &self.sessions.input) {
            (Some(Dialog::Help), _) => None,
            (Some(dialog), _) => Some(OpenQuestion::Dialog(dialog.clone())),
            (None, Some(SessionInput::Deletion(path))) if self.front_keys().is_question() => {
                Some(OpenQuestion::Deletion(path.clone()))
            }
            _ => None,
        }
    }

    /// The question on the frame that the user was shown last.
    #[must_use]
    pub fn shown_question(&self) -> Option<&OpenQuestion> {
        match &self.shown_frame {
            ShownFrame::Screen(question) => question.as_ref(),
            ShownFrame::TooSmall => None,
        }
    }

    /// Whether a key answers the question that is open: the user was shown it, or was asked whether to
    /// quit, which destroys nothing and has to work on a terminal that takes no frames.
    pub(super) fn may_answer_question(&self) -> bool {
        let question = self.open_question();
        let is_shown = question.is_some() && self.shown_frame == ShownFrame::Screen(question);
        is_shown || self.dialog == Some(Dialog::ConfirmQuit)
    }

    /// Records the frame that the user was shown last.
    pub(super) fn record_shown_frame(&mut self, frame: DrawnFrame) {
        if frame == DrawnFrame::TooSmall {
            self.shown_frame = ShownFrame::TooSmall;
            return;
        }
        self.shown_frame = ShownFrame::Screen(self.open_question());
        if let Some(question) = &mut self.bench.launcher.overwrite_question {
            question.facts.confirm_shown();
        }
    }

    /// A question that was closed is not shown any more, also when the same one is opened again.
    pub(super) fn forget_closed_question(&mut self) {
        if let ShownFrame::Screen(Some(shown)) = &self.shown_frame
            && self.open_question().as_ref() != Some(shown)
        {
            self.shown_frame = ShownFrame::Screen(None);
        }
    }

    /// What was drawn is no longer on the terminal.
    pub(super) fn forget_shown_question(&mut self) {
        if let ShownFrame::Screen(question) = &mut self.shown_frame {
            *question = None;
        }
    }

    /// Closes the question without an answer.
    pub(super) fn close_question(&mut self) {
        match self.open_question() {
            Some(OpenQuestion::Dialog(_)) => self.dialog = None,
            Some(OpenQuestion::Deletion(_)) => self.sessions.input = None,
            None => {}
        }
    }
}
