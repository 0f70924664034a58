//! What the block layer's events mean: requests, where their time went, and who sent them. Pure.

mod board;
mod charge;
mod flight;
mod line;
mod matcher;
mod operation;
mod pending;
mod picture;
mod request;
mod summary;

pub use crate::probe::trace::event::Number;
pub use board::{Board, OperationView, RequestsView};
pub use line::Line;
pub use matcher::{Gaps, Matcher};
pub use operation::Operation;
pub use picture::{COLUMNS, Counts, Heat, Point, ROWS, Scatter};
pub use request::{Actor, Request, Stages, Times};
pub use summary::{Distribution, StageLatency, Summary, Toll};
