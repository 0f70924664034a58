//! Shared by the hard disk benchmarks: single reads with exact times, revolution, command overhead,
//! track layout, and the edges of latencies.

pub mod checks;
pub mod constant_zone;
pub mod cylinder;
pub mod drive_timing;
pub mod layout;
pub mod prober;
pub mod rotation_estimate;
pub mod rotational_delay;
pub mod sector_scan;
pub mod seek_position_map;
pub mod seek_walk;
pub mod track_to_track_estimate;
pub mod zones;
