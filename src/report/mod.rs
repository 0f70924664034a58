//! Renders documents and views as text, JSON and HTML.

pub mod again;
pub(crate) mod axis;
pub mod compare;
pub mod csv;
pub mod devices;
pub mod evidence;
pub mod files;
pub mod fio;
pub mod fleet;
pub mod goals;
pub mod hot_files;
pub mod html;
pub mod inspection;
mod layout;
pub mod openmetrics;
pub mod repeated;
pub mod requests;
pub mod text;
pub mod transfer_text;
pub mod unplug;
pub mod watch;
