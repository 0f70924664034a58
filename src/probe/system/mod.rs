//! Readers of machine-wide values.

pub mod device_health;
pub mod diskstats;
pub mod host;
pub mod kernel_log;
pub mod temperature;
pub mod vmstat;
