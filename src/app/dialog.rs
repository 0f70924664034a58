//! Dialogs.

use super::process_action::{ProcessAction, ProcessTarget};

/// A dialog on top of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Dialog {
    /// The help.
    Help,
    /// Confirmation to quit while a benchmark runs.
    ConfirmQuit,
    /// List of actions on a process, selected by number.
    ChooseProcessAction(ProcessTarget, &'static [ProcessAction]),
    /// Confirmation of an action on a process.
    ConfirmProcessAction(ProcessTarget, ProcessAction),
    /// Confirmation to switch delay accounting on.
    ConfirmAccounting,
}
