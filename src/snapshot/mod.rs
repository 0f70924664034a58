//! Interpretation of samples: rates, the device tree, transfers and their remaining time. Pure: two
//! raw samples in, one view out.

pub mod advice;
pub mod command;
pub mod device_folding;
pub mod devices;
mod dirty_memory;
mod faults;
pub mod files;
mod flush_order;
mod growing;
pub mod history;
mod json;
mod mounts;
pub mod processes;
pub mod stack;
pub mod units;
pub mod view;
pub mod view_builder;

pub use self::history::SampleHistory;
pub use self::json::snapshot_line;
pub use self::view::Snapshot;
pub use self::view_builder::{ViewBuilder, ViewSettings};
