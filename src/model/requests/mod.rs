//! What the block layer's events mean: requests, where their time went, and who sent them. Pure.

mod aggregator;
mod charts;
mod flight;
mod line;
mod matcher;
mod operation;
mod pending;
mod request;
mod summary;
mod writeback_attribution;

pub use crate::probe::trace::event::DeviceNumber;
pub use aggregator::{OperationView, RequestAggregator, RequestsView};
pub use charts::{
    HEATMAP_ROWS, LatencyHeatmap, MAX_COLUMNS, ReadOtherCounts, RequestScatter, ScatterPoint,
};
pub use line::RequestLine;
pub use matcher::{MatchErrors, RequestMatcher};
pub use operation::RequestOperation;
pub use request::{RequestActor, RequestTimestamps, StageTimes, TracedRequest};
pub use summary::{OperationLatency, PerThreadStats, RequestSummary, StageLatency};
