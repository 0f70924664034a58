//! Shared by the hard disk benchmarks: single reads with exact times, revolution, command overhead,
//! track layout, and the edges of latencies.

pub mod checks;
pub mod command_overhead;
pub mod constant_zone;
pub mod cylinder;
pub mod drive_timing;
pub mod findings;
pub mod layout;
mod probing;
pub mod rotation_estimate;
mod rotation_state;
pub mod rotational_delay;
pub mod sector_scan;
mod seek_metric;
pub mod seek_position_map;
pub mod seek_prober;
pub mod seek_walk;
pub mod track_to_track_estimate;
pub mod zones;

pub use self::command_overhead::CommandOverhead;
pub use self::drive_timing::{DriveTiming, SECTOR_BYTES};
pub use self::probing::{
    forecast, probing_parameters, rotational_distribution, single_read_plan, start_seek_probing,
};
pub use self::rotation_estimate::{RevolutionEstimate, RotationState};
pub use self::rotational_delay::RotationalDelay;
pub use self::seek_metric::seek_metric;
pub use self::seek_prober::{SeekProber, TimedRead};
