//! State of the interface and its events. Pure: no terminal, no thread, no file.
//!
//! [`update()`] takes an [`AppEvent`] and returns [`Effect`]s; everything else here is data.

mod column_step;
pub mod consent;
mod dialog;
mod effect;
pub mod error;
pub mod form;
pub mod help;
pub mod hot_files;
pub mod key;
pub mod launcher;
pub mod live;
mod message;
mod open_question;
pub mod preferences;
pub mod process;
mod process_action;
pub mod replay;
pub mod result;
pub mod running;
mod screen;
pub mod search;
mod seek;
mod shown_frame;
mod state;
mod target_choice;
pub mod text;
mod update;
pub mod viewport;

pub use self::dialog::Dialog;
pub use self::effect::Effect;
pub use self::message::{AppEvent, Message};
pub use self::process_action::{
    IoClassChoice, ProcessAction, ProcessActionOutcome, ProcessId, ProcessTarget, REALTIME_LEVEL,
    SignalChoice,
};
pub use self::result::SavedRun;
pub use self::screen::Screen;
pub use self::seek::Seek;
pub use self::shown_frame::{DrawnFrame, OpenQuestion, ShownFrame};
pub use self::state::AppState;
pub use self::target_choice::{TargetChoice, TargetGroup};
pub use self::update::update;
pub use crate::tui::keys::KeyCommand;
pub use crate::tui::screens::StatusMessage;
pub use crate::tui::screens::bench::{BenchStage, BenchState};
pub use crate::tui::screens::sessions::SessionEntry;
