//! What samples mean: rates, the device tree, transfers and when they end. Pure: two raw samples
//! in, one view out.

pub mod devices;
pub mod files;
mod growing;
pub mod history;
pub mod interval;
pub mod live;
mod memory;
pub mod modeler;
pub mod places;
pub mod processes;
pub mod requests;
pub mod stack;
pub mod transfers;

pub use history::History;
pub use live::Live;
pub use modeler::{Modeler, Settings};
