//! The keys of the Why screen.

use crate::app::key::KeyPress;
use crate::tui::keys::common::{DOWN, ESC, NEXT, PREVIOUS};
use crate::tui::keys::{KeyCommand, KeyList, binding};

/// The Why screen.
pub static WHY: KeyList = KeyList::commands("Why", &[
    binding(NEXT, KeyCommand::Next, "next cause", "cause"),
    binding(PREVIOUS, KeyCommand::Previous, "previous cause", ""),
    binding(&[KeyPress::char('t')], KeyCommand::ToggleTrace, "trace the busiest device as proof (root)", "trace"),
    binding(&[KeyPress::char(' ')], KeyCommand::TogglePause, "freeze or resume the display", "freeze"),
    binding(DOWN, KeyCommand::Down, "scroll", "scroll"),
    binding(ESC, KeyCommand::Cancel, "to the first cause", ""),
]).with_movement();
