//! What samples mean: rates, the device tree, transfers and when they end. Pure: two raw samples
//! in, one view out.

pub mod live;

pub use live::Live;
