//! Statistics of angles and periods, for the mechanics of hard disks.

pub mod circular;
pub mod epoch_folding;
pub mod threshold;
pub mod uniform;
