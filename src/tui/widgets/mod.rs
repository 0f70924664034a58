//! Widgets without knowledge of disks.

pub mod areas;
pub mod bar;
pub mod command;
pub mod digits;
pub mod histogram;
pub mod plot;
pub mod scrolled;
pub mod table;
pub mod text;
