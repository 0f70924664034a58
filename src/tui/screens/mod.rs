//! The screens: a folder each, with its state, its keys and its drawing.

pub mod bench;
pub mod key_lists;
pub mod live;
pub mod requests;
pub mod sessions;
mod state;
pub mod why;

pub use self::state::{ScreenState, Shared, StatusMessage};
