//! Parameters that are valid one by one, but not for this benchmark or target.

use super::options::{MAX_REQUEST_BYTES, WINDOW_BEGIN, WINDOW_END};
use crate::text;
use crate::units;

/// Why parameters do not fit the benchmark, the target or each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParameterConflict {
    /// The benchmark has no such parameter.
    #[error("{benchmark} has no parameter --{name}{}: it takes --{}",
        text::suggestion(name, known.iter().copied()), known.join(", --"))]
    UnknownParameter {
        /// Name of the benchmark.
        benchmark: &'static str,
        /// The name as the user wrote it.
        name: String,
        /// Names of the parameters that the benchmark has.
        known: Vec<&'static str>,
    },
    /// A limit of the window is beyond the end of the target.
    #[error("--{option} {} is beyond the end of {target}, which has {size_bytes} bytes",
        units::format_exact_size(*bytes))]
    BeyondEnd {
        /// Name of the option.
        option: &'static str,
        /// Its value in bytes.
        bytes: u64,
        /// Name of the target.
        target: String,
        /// Size of the target in bytes.
        size_bytes: u64,
    },
    /// The window ends before it begins.
    #[error("--{} (byte {begin}) is greater than --{} (byte {end}): swap them",
        WINDOW_BEGIN.name, WINDOW_END.name)]
    WindowReversed {
        /// First byte of the window.
        begin: u64,
        /// End of the window.
        end: u64,
    },
    /// The window is empty.
    #[error("--{} must be less than --{}", WINDOW_BEGIN.name, WINDOW_END.name)]
    WindowEmpty,
    /// The window does not hold one block.
    #[error("the window from byte {begin} to byte {end} is smaller than one block of {block_bytes} bytes: \
        widen it with --{} and --{}, or choose a smaller --block-size",
        WINDOW_BEGIN.name, WINDOW_END.name)]
    WindowBelowBlock {
        /// First byte of the window.
        begin: u64,
        /// End of the window.
        end: u64,
        /// Size of the largest block in bytes.
        block_bytes: u64,
    },
    /// A request would be too long.
    #[error(
        "--block-size {bytes}: the largest request is {}",
        units::format_exact_size(MAX_REQUEST_BYTES)
    )]
    RequestTooLong {
        /// Its length in bytes.
        bytes: u64,
    },
    /// No block size lies between the limits of a sweep.
    #[error(
        "--min-block {min_bytes} is more than --max-block or the window holds: make it smaller"
    )]
    NoBlockSize {
        /// The smallest size in bytes.
        min_bytes: u64,
    },
}
