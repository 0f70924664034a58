//! The keys that several screens share.

use crate::app::Screen;
use crate::app::key::{KeyPress, KeySymbol};
use crate::app::text::TextEdit;
use crate::tui::keys::command::KeyCommand;
use crate::tui::keys::list::{KeyList, binding};

/// Its keys.
pub const UP: &[KeyPress] = &[KeyPress::new(KeySymbol::Up), KeyPress::char('k')];
/// Its keys.
pub const DOWN: &[KeyPress] = &[KeyPress::new(KeySymbol::Down), KeyPress::char('j')];
/// Its keys.
pub const PAGE_UP: &[KeyPress] = &[KeyPress::new(KeySymbol::PageUp)];
/// Its keys.
pub const PAGE_DOWN: &[KeyPress] = &[KeyPress::new(KeySymbol::PageDown)];
/// Its keys.
pub const HOME: &[KeyPress] = &[KeyPress::new(KeySymbol::Home), KeyPress::char('g')];
/// Its keys.
pub const END: &[KeyPress] = &[KeyPress::new(KeySymbol::End), KeyPress::char('G')];
/// Its keys.
pub const LEFT: &[KeyPress] = &[KeyPress::new(KeySymbol::Left)];
/// Its keys.
pub const RIGHT: &[KeyPress] = &[KeyPress::new(KeySymbol::Right)];
/// Its keys.
pub const TAB: &[KeyPress] = &[KeyPress::new(KeySymbol::Tab)];
/// Its keys.
pub const BACK_TAB: &[KeyPress] = &[KeyPress::new(KeySymbol::BackTab)];
/// Its keys.
pub const ENTER: &[KeyPress] = &[KeyPress::new(KeySymbol::Enter)];
/// Its keys.
pub const ESC: &[KeyPress] = &[KeyPress::new(KeySymbol::Esc)];
/// To the next of several.
pub const NEXT: &[KeyPress] = &[KeyPress::new(KeySymbol::Right), KeyPress::new(KeySymbol::Tab)];
/// To the previous of several.
pub const PREVIOUS: &[KeyPress] = &[KeyPress::new(KeySymbol::Left), KeyPress::new(KeySymbol::BackTab)];

/// Everywhere, unless a list binds the key itself or takes text.
pub static GLOBAL: KeyList = KeyList::commands("Global", &[
    binding(&[KeyPress::char('1')], KeyCommand::ShowScreen(Screen::Live), "Live: devices and processes", ""),
    binding(&[KeyPress::char('2')], KeyCommand::ShowScreen(Screen::Bench), "Bench: run benchmarks", ""),
    binding(&[KeyPress::char('3')], KeyCommand::ShowScreen(Screen::Requests), "Requests: trace the requests of a device", ""),
    binding(&[KeyPress::char('4')], KeyCommand::ShowScreen(Screen::Sessions), "Sessions: saved results", ""),
    binding(&[KeyPress::char('5')], KeyCommand::ShowScreen(Screen::Why), "Why: who waits, and because of whom", ""),
    binding(&[KeyPress::char('b')], KeyCommand::ShowLauncher, "go to the benchmark launcher", "benchmark"),
    binding(&[KeyPress::char('?'), KeyPress::new(KeySymbol::Function(1))], KeyCommand::ToggleHelp, "show this help", "all keys"),
    binding(&[KeyPress::char('q'), KeyPress::control('c')], KeyCommand::Quit, "quit", ""),
    binding(&[KeyPress::control('z')], KeyCommand::Suspend, "suspend; fg resumes", ""),
    binding(&[KeyPress::control('l')], KeyCommand::Redraw, "redraw the screen", ""),
]);

/// In every list and page.
pub static MOVEMENT: KeyList = KeyList::commands("Moving in lists and pages", &[
    binding(UP, KeyCommand::Up, "one line up", ""),
    binding(DOWN, KeyCommand::Down, "one line down", ""),
    binding(PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(HOME, KeyCommand::GoToFirst, "to the beginning", ""),
    binding(END, KeyCommand::GoToLast, "to the end", ""),
]);

/// Typing the filter of a list.
pub static FILTER: KeyList = KeyList::text("Filter", &[
    binding(ENTER, KeyCommand::Accept, "apply the filter", "apply"),
    binding(ESC, KeyCommand::Cancel, "clear the filter", "clear"),
]);

/// In every text field.
pub static TEXT_EDITING: KeyList = KeyList::commands("Text fields", &[
    binding(LEFT, KeyCommand::EditText(TextEdit::Left), "one character to the left", "edit"),
    binding(RIGHT, KeyCommand::EditText(TextEdit::Right), "one character to the right", ""),
    binding(&[KeyPress::new(KeySymbol::Home), KeyPress::control('a')], KeyCommand::EditText(TextEdit::Start), "to the start of the text", ""),
    binding(&[KeyPress::new(KeySymbol::End), KeyPress::control('e')], KeyCommand::EditText(TextEdit::End), "to the end of the text", ""),
    binding(&[KeyPress::new(KeySymbol::Backspace)], KeyCommand::EditText(TextEdit::DeleteBefore), "delete before the cursor", "delete"),
    binding(&[KeyPress::new(KeySymbol::Delete)], KeyCommand::EditText(TextEdit::DeleteUnder), "delete under the cursor", ""),
    binding(&[KeyPress::control('u')], KeyCommand::EditText(TextEdit::DeleteToStart), "delete to the start of the text", "clear"),
]);

/// The help.
pub static HELP: KeyList = KeyList::page("Help", &[
    binding(&[KeyPress::new(KeySymbol::Esc), KeyPress::char('?'), KeyPress::char('q'), KeyPress::new(KeySymbol::Enter)], KeyCommand::Cancel, "close the help", "close"),
    binding(&[KeyPress::char('/')], KeyCommand::EditFilter, "search the keys", "search"),
    binding(DOWN, KeyCommand::Down, "scroll", "scroll"),
]).with_movement();

/// Typing the search of the help.
pub static HELP_SEARCH: KeyList = KeyList::text("Help: search", &[
    binding(ENTER, KeyCommand::Accept, "apply the search", "apply"),
    binding(ESC, KeyCommand::Cancel, "clear the search", "clear"),
]);

/// A yes/no question.
pub static QUESTION: KeyList = KeyList::question("Questions", &[
    binding(&[KeyPress::char('y'), KeyPress::new(KeySymbol::Enter)], KeyCommand::Confirm, "confirm", "confirm"),
    binding(&[KeyPress::char('n'), KeyPress::new(KeySymbol::Esc)], KeyCommand::Decline, "cancel; so does any other key", "cancel"),
]);

/// A question about something that cannot be undone: Enter does not confirm it.
pub static DESTRUCTIVE_QUESTION: KeyList = KeyList::question("Questions about what cannot be undone", &[
    binding(&[KeyPress::char('y')], KeyCommand::Confirm, "confirm; Enter does not", "confirm"),
    binding(&[KeyPress::char('n'), KeyPress::new(KeySymbol::Esc)], KeyCommand::Decline, "cancel; so does any other key", "cancel"),
]);

/// A list to choose from.
pub static CHOICE_LIST: KeyList = KeyList::question("Choice of an action on a process", &[
    binding(&[KeyPress::char('1')], KeyCommand::PickChoice(1), "first choice", ""),
    binding(&[KeyPress::char('2')], KeyCommand::PickChoice(2), "second choice", ""),
    binding(&[KeyPress::char('3')], KeyCommand::PickChoice(3), "third choice", ""),
    binding(&[KeyPress::char('4')], KeyCommand::PickChoice(4), "fourth choice", ""),
    binding(&[KeyPress::char('5')], KeyCommand::PickChoice(5), "fifth choice", ""),
    binding(ESC, KeyCommand::Cancel, "cancel; so does any other key", "cancel"),
]);
