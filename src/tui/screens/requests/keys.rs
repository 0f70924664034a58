//! The keys of the Requests screen.

use crate::app::key::KeyPress;
use crate::tui::keys::common::{ENTER, ESC, NEXT, PREVIOUS};
use crate::tui::keys::{KeyCommand, KeyList, binding};

/// The Requests screen.
pub static REQUESTS: KeyList = KeyList::commands("Requests", &[
    binding(ENTER, KeyCommand::Accept, "stages and flags of the request", "stages"),
    binding(&[KeyPress::char('s')], KeyCommand::SortByTotal, "slowest (Q2C) first, or newest first", "slowest first"),
    binding(NEXT, KeyCommand::Next, "trace the next device", "device"),
    binding(PREVIOUS, KeyCommand::Previous, "trace the previous device", ""),
    binding(&[KeyPress::char('F')], KeyCommand::ShowHotFiles, "files that the requests belong to", "hot files"),
    binding(&[KeyPress::char(' ')], KeyCommand::TogglePause, "freeze or resume the display", "freeze"),
    binding(&[KeyPress::char('/')], KeyCommand::EditFilter, "filter requests by text", "filter"),
    binding(&[KeyPress::char('r')], KeyCommand::ReloadList, "restart the trace", "restart"),
    binding(ESC, KeyCommand::Cancel, "close the stages; clear the filter", "back"),
]).with_movement();
