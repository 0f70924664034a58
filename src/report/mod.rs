//! Renders documents and views as text, CSV, OpenMetrics and HTML. Results of benchmarks become blocks first, which
//! the text and the HTML have in common.

pub mod again;
pub(crate) mod axis;
mod blocks;
pub mod csv;
pub mod devices;
pub mod files;
pub mod fio;
pub mod goals;
pub mod hot_files;
pub mod html;
pub mod inspection;
pub mod openmetrics;
pub mod requests;
pub mod text;
pub mod transfer_text;
pub mod unplug;
pub mod watch;
pub mod words;
