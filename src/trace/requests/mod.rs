//! Interpretation of block layer events: requests, their stages and submitters. Pure.

mod aggregator;
mod charts;
mod flight;
mod line;
mod matcher;
mod operation;
mod pending;
mod request;
mod seek_distance;
mod summary;
mod traced_io;
mod writeback_attribution;

pub use self::aggregator::{OperationView, RequestAggregator, RequestsView};
pub use self::charts::{
    HEATMAP_ROWS, LatencyHeatmap, MAX_COLUMNS, ReadOtherCounts, RequestScatter, ScatterPoint,
};
pub use self::line::RequestLine;
pub use self::matcher::{MatchErrors, RequestMatcher};
pub use self::operation::RequestOperation;
pub use self::request::{RequestActor, RequestTimestamps, StageTimes, TracedRequest};
pub use self::seek_distance::seek_distances;
pub use self::summary::{OperationLatency, PerThreadStats, RequestSummary, StageLatency};
pub use self::traced_io::{DeviceIoCounts, TracedIo, TracedProcess};
pub(crate) use self::writeback_attribution::WritebackAttribution;
pub use crate::trace::events::event::DeviceNumber;
