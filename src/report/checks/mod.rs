//! The sentences about validity checks: evidence, advice, meaning and condition.

mod benchmarks;
mod conditions;
mod describe;
mod disks;
mod runs;
mod setup;
mod suites;
mod sweeps;
#[cfg(test)]
mod tests;
mod text;
mod traffic;

pub use self::conditions::{condition, subject_title};
pub use self::describe::{check_text, describe_verdicts};
pub use self::text::CheckText;
