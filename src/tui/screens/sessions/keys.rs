//! The keys of the Sessions screen.

use crate::app::key::{KeyPress, KeySymbol};
use crate::tui::keys::common::{ENTER, ESC, NEXT, PREVIOUS};
use crate::tui::keys::{KeyCommand, KeyList, binding};

/// The list of saved sessions.
pub static SESSIONS: KeyList = KeyList::commands("Sessions", &[
    binding(ENTER, KeyCommand::Accept, "open the session", "open"),
    binding(&[KeyPress::char(' ')], KeyCommand::ToggleMark, "mark for comparison; baseline first", "mark"),
    binding(&[KeyPress::char('c')], KeyCommand::CompareMarked, "compare the marked sessions", "compare"),
    binding(&[KeyPress::char('h')], KeyCommand::WriteReport, "HTML report: marked or selected session", "report"),
    binding(&[KeyPress::char('/')], KeyCommand::EditFilter, "filter sessions by text", "filter"),
    binding(&[KeyPress::char('n')], KeyCommand::EditNote, "edit the note", "note"),
    binding(&[KeyPress::char('d'), KeyPress::new(KeySymbol::Delete)], KeyCommand::DeleteItem, "delete the session", "delete"),
    binding(&[KeyPress::char('r')], KeyCommand::ReloadList, "reload the list", ""),
    binding(ESC, KeyCommand::Cancel, "clear the filter", ""),
]).with_movement();

/// Typing the note of a session.
pub static NOTE: KeyList = KeyList::text("Sessions: note", &[
    binding(ENTER, KeyCommand::Accept, "save the note; empty removes it", "save"),
    binding(ESC, KeyCommand::Cancel, "keep the previous note", "cancel"),
]);

/// Whether a session is deleted.
pub static DELETION: KeyList = KeyList::question("Sessions: deletion", &[
    binding(&[KeyPress::char('y')], KeyCommand::Confirm, "delete the session permanently", "delete"),
    binding(&[KeyPress::char('n'), KeyPress::new(KeySymbol::Esc)], KeyCommand::Decline, "cancel; so does any other key", "cancel"),
]);

/// A comparison of sessions.
pub static COMPARISON: KeyList = KeyList::commands("Sessions: comparison", &[
    binding(NEXT, KeyCommand::Next, "next chart", "chart"),
    binding(PREVIOUS, KeyCommand::Previous, "previous chart", ""),
    binding(&[KeyPress::char('n')], KeyCommand::NextBenchmark, "next benchmark", "benchmark"),
    binding(&[KeyPress::char('o')], KeyCommand::NextPair, "next pair of sessions", "pair"),
    binding(&[KeyPress::char('i')], KeyCommand::ToggleIgnoredParameters, "ignore / require equal parameters", "ignore"),
    binding(&[KeyPress::char('h')], KeyCommand::WriteReport, "write an HTML report", "HTML report"),
    binding(&[KeyPress::new(KeySymbol::Esc), KeyPress::new(KeySymbol::Enter)], KeyCommand::Cancel, "back", "back"),
]).with_movement();
