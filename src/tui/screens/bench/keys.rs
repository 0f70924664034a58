//! The keys of the Bench screen and of results.

use crate::app::key::{KeyPress, KeySymbol};
use crate::app::text::TextEdit;
use crate::tui::keys::common::{
    BACK_TAB, DOWN, ENTER, ESC, LEFT, NEXT, PAGE_DOWN, PAGE_UP, PREVIOUS, RIGHT, TAB,
};
use crate::tui::keys::{KeyCommand, KeyList, binding};

/// The launcher, its lists of targets and benchmarks.
pub static LAUNCHER: KeyList = KeyList::commands("Bench: launcher", &[
    binding(ENTER, KeyCommand::Accept, "select; on a BENCHMARK: start it", "select, start"),
    binding(&[KeyPress::new(KeySymbol::Tab), KeyPress::new(KeySymbol::Right)], KeyCommand::Next, "next list", "next list"),
    binding(&[KeyPress::new(KeySymbol::BackTab), KeyPress::new(KeySymbol::Left)], KeyCommand::Previous, "previous list", ""),
    binding(&[KeyPress::char('s')], KeyCommand::Start, "start the benchmark", "start"),
    binding(&[KeyPress::char('/')], KeyCommand::Search, "search both lists, or type /path", "search"),
    binding(&[KeyPress::char('r')], KeyCommand::ReloadList, "reload the list of targets", ""),
]).with_movement();

/// Typing a search, or a path, in the launcher.
pub static SEARCH: KeyList = KeyList::text("Bench: search", &[
    binding(ENTER, KeyCommand::Accept, "select the match, or use the /path", "select"),
    binding(ESC, KeyCommand::Cancel, "cancel the search", "cancel"),
    binding(&[KeyPress::new(KeySymbol::Down)], KeyCommand::Down, "next match", "next"),
    binding(&[KeyPress::new(KeySymbol::Up)], KeyCommand::Up, "previous match", "previous"),
    binding(PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(&[KeyPress::new(KeySymbol::Home)], KeyCommand::GoToFirst, "to the first match", ""),
    binding(&[KeyPress::new(KeySymbol::End)], KeyCommand::GoToLast, "to the last match", ""),
]);

/// The launcher's form.
pub static FORM: KeyList = KeyList::commands("Bench: parameters", &[
    binding(ENTER, KeyCommand::Accept, "edit the value", "edit"),
    binding(RIGHT, KeyCommand::NextChoice, "next choice", ""),
    binding(LEFT, KeyCommand::PreviousChoice, "previous choice", ""),
    binding(&[KeyPress::char('d'), KeyPress::new(KeySymbol::Delete)], KeyCommand::ResetToDefault, "reset to the default", "default"),
    binding(TAB, KeyCommand::Next, "go to TARGET", "next list"),
    binding(BACK_TAB, KeyCommand::Previous, "go to BENCHMARK", ""),
    binding(&[KeyPress::char('/')], KeyCommand::Search, "search both lists, or type /path", "search"),
    binding(&[KeyPress::char('s')], KeyCommand::Start, "start the benchmark", "start"),
    binding(ESC, KeyCommand::Cancel, "go to BENCHMARK", "back"),
]).with_movement();

/// Typing a value of the form.
pub static FIELD: KeyList = KeyList::text("Bench: editing a value", &[
    binding(ENTER, KeyCommand::Accept, "accept the typed value", "accept"),
    binding(ESC, KeyCommand::Cancel, "discard the typed value", "discard"),
    binding(&[KeyPress::new(KeySymbol::Up)], KeyCommand::EditText(TextEdit::Start), "to the start of the text", ""),
    binding(&[KeyPress::new(KeySymbol::Down)], KeyCommand::EditText(TextEdit::End), "to the end of the text", ""),
]);

/// Typing the path of the target to overwrite.
pub static OVERWRITE_CONSENT: KeyList = KeyList::text("Bench: consent to overwrite", &[
    binding(ENTER, KeyCommand::Accept, "start, if the typed path equals TARGET", "start, once the path is typed"),
    binding(&[KeyPress::new(KeySymbol::Down)], KeyCommand::Down, "scroll down what would be lost", "scroll"),
    binding(&[KeyPress::new(KeySymbol::Up)], KeyCommand::Up, "scroll up", ""),
    binding(PAGE_DOWN, KeyCommand::PageDown, "one page down", ""),
    binding(PAGE_UP, KeyCommand::PageUp, "one page up", ""),
    binding(&[KeyPress::new(KeySymbol::Home)], KeyCommand::GoToFirst, "to the first line", ""),
    binding(&[KeyPress::new(KeySymbol::End)], KeyCommand::GoToLast, "to the last line", ""),
    binding(ESC, KeyCommand::Cancel, "cancel; nothing is written", "cancel"),
]);

/// The target cannot be overwritten: nothing to confirm.
pub static OVERWRITE_REFUSED: KeyList = KeyList::page("Bench: target that cannot be overwritten", &[
    binding(ESC, KeyCommand::Cancel, "back; nothing is written", "back"),
    binding(DOWN, KeyCommand::Down, "scroll", "scroll"),
]).with_movement();

/// A benchmark that runs.
pub static RUNNING: KeyList = KeyList::commands("Bench: running", &[
    binding(&[KeyPress::new(KeySymbol::Esc), KeyPress::char('x')], KeyCommand::Stop, "stop; the partial result is saved", "stop, save the partial result"),
]);

/// The result of a run.
pub static RESULT: KeyList = KeyList::commands("Result", &[
    binding(&[KeyPress::char('e')], KeyCommand::ExportSession, "export the session as a JSON file", "export JSON"),
    binding(&[KeyPress::char('h')], KeyCommand::WriteReport, "write an HTML report", "HTML report"),
    binding(NEXT, KeyCommand::Next, "next page: chart, latency, block layer", "next page"),
    binding(PREVIOUS, KeyCommand::Previous, "previous page", ""),
    binding(&[KeyPress::new(KeySymbol::Esc), KeyPress::new(KeySymbol::Enter)], KeyCommand::Cancel, "back", "back"),
]).with_movement();
