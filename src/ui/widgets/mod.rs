//! Widgets that know nothing of disks.

pub mod axis;
pub mod bar;
pub mod digits;
pub mod histogram;
pub mod plot;
pub mod reduce;
pub mod table;
pub mod text;
