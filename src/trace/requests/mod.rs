//! Requests, their stages and submitters, from events. Pure.

mod dirtied;
mod line;
mod matcher;
mod ranges;
mod request;
mod summary;
mod traced_io;

pub(crate) use self::dirtied::WritebackAttribution;
pub use self::line::RequestLine;
pub(crate) use self::matcher::{Lane, queued_bio, range_of_event};
pub use self::matcher::{MatchErrors, RequestMatcher};
pub(crate) use self::ranges::RangeMap;
pub use self::request::{
    RequestActor, RequestOperation, RequestTimestamps, StageTimes, TracedRequest,
};
pub use self::summary::{
    MeanTime, OperationCounts, OperationLatency, PerThreadStats, RequestSummary,
};
pub use self::traced_io::{DeviceIoCounts, TracedIo, TracedProcess};
pub use crate::trace::events::event::DeviceNumber;
