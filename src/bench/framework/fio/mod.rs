//! fio jobs equivalent to a benchmark: the options as data, rendered in one place.
//!
//! A job exists only if it reads and writes the same ranges, the same amounts and in the same way.
//! Otherwise a [`FioGap`](crate::session::document::FioGap) states the reason. Behaviour of fio's options, as determined with fio
//! 3.33 by counting on loop devices:
//!
//! * `--time_based` makes fio ignore `--io_size`: the two are never used together. `--runtime`
//!   without it ends at whichever limit comes first.
//! * `--io_size` includes the ramp time, `--number_ios` does not.
//! * Limits and rates are per job: `--numjobs=4` moves four times `--io_size`.
//! * `--filename` is split at colons and cut at `#`, `;` and trailing white space.

mod job;
mod line;
#[cfg(test)]
mod tests;

pub use self::job::FioJob;
pub use self::line::FioFile;
