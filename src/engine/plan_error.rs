//! Why a plan cannot be executed: the field of the plan, its value and the limits.

use std::fmt;

use super::plan::Plan;
use crate::units::{format_block_size, format_exact_size};

/// A field of a [`Plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanField {
    /// [`Plan::operation`]: whether it writes.
    Operation,
    /// [`Plan::operation`]: the fraction of reads.
    ReadFraction,
    /// [`Plan::pattern`]: the exponent of the Zipf distribution.
    ZipfTheta,
    /// [`Plan::pattern`]: zones.
    Zones,
    /// [`Plan::pattern`]: the list of addresses.
    Addresses,
    /// [`Plan::block_size`].
    BlockSize,
    /// [`Plan::alignment`].
    Alignment,
    /// Beginning of [`Plan::window`].
    WindowBegin,
    /// End of [`Plan::window`].
    WindowEnd,
    /// [`Plan::depth`].
    Depth,
    /// [`Plan::workers`].
    Workers,
    /// [`Plan::cache_mode`].
    CacheMode,
    /// [`Plan::arrival_rate`].
    ArrivalRate,
    /// [`Plan::data_kind`].
    DataKind,
}

impl fmt::Display for PlanField {
    /// The field in plain words.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Operation => "operation",
            Self::ReadFraction => "fraction of reads",
            Self::ZipfTheta => "zipf exponent",
            Self::Zones => "zones",
            Self::Addresses => "addresses",
            Self::BlockSize => "block size",
            Self::Alignment => "alignment",
            Self::WindowBegin => "window begin",
            Self::WindowEnd => "window end",
            Self::Depth => "depth",
            Self::Workers => "workers",
            Self::CacheMode => "cache mode",
            Self::ArrivalRate => "arrival rate",
            Self::DataKind => "data",
        })
    }
}

/// The factors of the memory that a plan needs for its buffers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BufferDemand {
    /// Queue depth.
    pub depth: u32,
    /// Number of workers.
    pub workers: u32,
    /// Largest request in bytes.
    pub block_bytes: u32,
    /// Sum of all buffers in bytes.
    pub total_bytes: u64,
}

impl BufferDemand {
    /// The buffers of a plan.
    pub(super) fn of(plan: &Plan) -> Self {
        Self {
            depth: plan.depth,
            workers: plan.workers,
            block_bytes: plan.block_size.max_bytes(),
            total_bytes: plan.buffers_per_worker() * u64::from(plan.workers),
        }
    }
}

/// What is wrong with the field.
#[derive(Debug, Clone, PartialEq)]
pub enum PlanProblem {
    /// A value outside of inclusive bounds.
    OutOfRange {
        /// The value.
        value: f64,
        /// Minimum.
        min: f64,
        /// Maximum.
        max: f64,
    },
    /// A value that must be positive and finite.
    NotPositive {
        /// The value.
        value: f64,
    },
    /// A range of block sizes that begins with the larger one.
    ReversedRange {
        /// First size in bytes.
        from: u32,
        /// Second size in bytes.
        to: u32,
    },
    /// A range of block sizes without a multiple of the alignment.
    NoAlignedSize {
        /// Smallest size in bytes.
        from: u32,
        /// Largest size in bytes.
        to: u32,
        /// Alignment in bytes.
        alignment: u64,
    },
    /// A size that is not a multiple of the medium's logical block.
    NotBlockMultiple {
        /// The size in bytes.
        value: u64,
        /// Logical block size in bytes.
        block: u32,
        /// Name of the target.
        target: String,
    },
    /// The target does not support `O_DIRECT`.
    DirectIoUnsupported {
        /// Name of the target.
        target: String,
        /// Its file system, if known.
        file_system: Option<String>,
    },
    /// The buffers exceed the limit of the engine.
    TooMuchMemory {
        /// The buffers.
        demand: BufferDemand,
        /// Limit in bytes.
        limit: u64,
    },
    /// The buffers exceed a limit of the system.
    MemoryLimit {
        /// The buffers.
        demand: BufferDemand,
        /// The limit, as a clause.
        limit: String,
    },
    /// More requests in flight than the engine has threads for.
    TooManyThreads {
        /// Queue depth.
        depth: u32,
        /// Number of workers.
        workers: u32,
        /// Maximum of their product.
        max: u32,
    },
    /// A pattern of zones under a time limit with several workers.
    TimedZonesNeedOneWorker {
        /// Number of workers.
        workers: u32,
    },
    /// No zone, or no request in them.
    EmptyZones {
        /// Number of zones.
        zones: u64,
        /// Number of requests.
        requests: u64,
    },
    /// The window ends behind the end of the target.
    BeyondTarget {
        /// End of the window in bytes.
        end: u64,
        /// Name of the target.
        target: String,
        /// Its size in bytes.
        size: u64,
    },
    /// The window ends before it begins.
    EmptyWindow {
        /// Beginning in bytes.
        begin: u64,
        /// End in bytes.
        end: u64,
    },
    /// The window does not contain an aligned block.
    WindowTooSmall {
        /// Beginning in bytes.
        begin: u64,
        /// Length in bytes.
        length: u64,
        /// Largest request in bytes.
        block: u32,
    },
    /// An address outside of the window, or not on a block boundary.
    MisplacedAddress {
        /// The address in bytes.
        address: u64,
        /// Length of the request in bytes.
        bytes: u32,
        /// Beginning of the window in bytes.
        begin: u64,
        /// End of the window in bytes.
        end: u64,
        /// Block size of the boundary in bytes.
        block: u64,
    },
    /// A plan that writes to a target without consent.
    NoWritePermit {
        /// Name of the target.
        target: String,
    },
}

/// Why a plan cannot be executed.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanError {
    /// The field to change.
    pub field: PlanField,
    /// What is wrong with it.
    pub problem: PlanProblem,
}

impl std::error::Error for PlanError {}

impl fmt::Display for PlanError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.describe(&|field| field.to_string()))
    }
}

impl PlanError {
    /// The error as one sentence, with these names of the fields.
    #[must_use]
    pub fn describe(&self, name: &dyn Fn(PlanField) -> String) -> String {
        let field = name(self.field);
        match &self.problem {
            PlanProblem::OutOfRange { value, min, max } => {
                format!("{field} {value} must be from {min} to {max}")
            }
            PlanProblem::NotPositive { value } => format!("{field} {value} must be above 0"),
            PlanProblem::ReversedRange { from, to } => {
                format!("{field} {from}-{to} must begin with the smaller size")
            }
            PlanProblem::NoAlignedSize {
                from,
                to,
                alignment,
            } => format!(
                "{field} {from}-{to} contains no multiple of {} {alignment}: use a smaller one",
                name(PlanField::Alignment)
            ),
            PlanProblem::NotBlockMultiple {
                value,
                block,
                target,
            } => format!(
                "{field} {} is not a multiple of the logical block size of {target}, {block} bytes: \
                 use {}",
                format_exact_size(*value),
                format_exact_size(nearest_multiple(*value, u64::from(*block)))
            ),
            PlanProblem::DirectIoUnsupported {
                target,
                file_system,
            } => format!(
                "{target} ({}) does not support O_DIRECT",
                file_system.as_deref().unwrap_or("this target")
            ),
            PlanProblem::TooMuchMemory { demand, limit } => format!(
                "{} of memory, more than {}: use a smaller value for one of them",
                describe_demand(demand, name),
                format_block_size(*limit as f64)
            ),
            PlanProblem::MemoryLimit { demand, limit } => format!(
                "{} for buffers, but {limit}: use a smaller value for one of them",
                describe_demand(demand, name)
            ),
            PlanProblem::TooManyThreads {
                depth,
                workers,
                max,
            } => format!(
                "system calls need a thread for each request in flight: {} {depth} x {} {workers} \
                 must be at most {max}",
                name(PlanField::Depth),
                name(PlanField::Workers)
            ),
            PlanProblem::TimedZonesNeedOneWorker { workers } => {
                format!("zones with a time limit need {field} 1, not {workers}")
            }
            PlanProblem::EmptyZones { zones, requests } => {
                format!("{zones} zones with {requests} requests: both must be at least 1")
            }
            PlanProblem::BeyondTarget { end, target, size } => {
                format!("{field} {end} is beyond the end of {target} at {size}")
            }
            PlanProblem::EmptyWindow { begin, end } => {
                format!(
                    "{field} {begin} must be before {} {end}",
                    name(PlanField::WindowEnd)
                )
            }
            PlanProblem::WindowTooSmall {
                begin,
                length,
                block,
            } => format!(
                "the window of {} from byte {begin} on contains no block of {field} {}: use a \
                 smaller block or a larger window",
                format_exact_size(*length),
                format_exact_size(u64::from(*block))
            ),
            PlanProblem::MisplacedAddress {
                address,
                bytes,
                begin,
                end,
                block,
            } => format!(
                "a request of {bytes} bytes at byte {address} is outside of the window from {begin} \
                 to {end}, or not on a boundary of {block} bytes"
            ),
            PlanProblem::NoWritePermit { target } => {
                format!("there is no consent to overwrite {target}")
            }
        }
    }
}

/// The next multiple of a block, the last one below 2^64 where there is none.
fn nearest_multiple(value: u64, block: u64) -> u64 {
    let next = value.checked_next_multiple_of(block);
    next.unwrap_or(u64::MAX / block * block)
}

/// `depth 64 x workers 1 x block size 1MiB need 64 MiB`.
fn describe_demand(demand: &BufferDemand, name: &dyn Fn(PlanField) -> String) -> String {
    format!(
        "{} {} x {} {} x {} {} need {}",
        name(PlanField::Depth),
        demand.depth,
        name(PlanField::Workers),
        demand.workers,
        name(PlanField::BlockSize),
        format_exact_size(u64::from(demand.block_bytes)),
        format_block_size(demand.total_bytes as f64),
    )
}
