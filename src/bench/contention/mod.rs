//! Competing loads on one drive.

pub mod interference;
pub mod reorder;
