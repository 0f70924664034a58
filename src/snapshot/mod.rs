//! Interpretation of samples: rates, the device tree, transfers and their remaining time. Pure: two
//! raw samples in, one view out.

pub mod advice;
mod blocked;
pub mod device_folding;
pub mod devices;
mod dirty_memory;
pub mod files;
mod flush_order;
mod growing;
pub mod history;
mod io_errors;
mod memory;
mod mounts;
pub mod processes;
pub mod stack;
pub mod units;
pub mod view;
pub mod view_builder;

pub use self::history::SampleHistory;
pub use self::view::Snapshot;
pub use self::view_builder::{ViewBuilder, ViewSettings};
