//! What many tests share: parameters, plans, figures and words.

mod describe;
mod metrics;
mod options;
mod plan_builder;

pub use describe::*;
pub use metrics::*;
pub use options::*;
pub use plan_builder::*;
