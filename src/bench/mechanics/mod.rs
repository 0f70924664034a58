//! What the tests of a hard disk's mechanics share: single reads with exact times, the revolution,
//! the command's own time, the layout of tracks, and the edges of response times.

pub mod chain;
pub mod command;
pub mod layout;
pub mod probing;
pub mod revolution;
pub mod rotational;

use super::common;
use super::{Forecast, Parameters};
use crate::drive::Target;
use crate::session::document::{Severity, Verdict};

pub use probing::{Probe, Prober};
pub use revolution::{Revolution, Rotation};
pub use rotational::RotationalPart;

/// The forecast of a test that probes single blocks for a while.
#[must_use]
pub fn forecast(target: &Target, parameters: &Parameters, what: &str) -> Forecast {
    let limits = common::limits(parameters);
    Forecast {
        sentence: format!(
            "reads single blocks of {}, one at a time, {what}",
            common::place(target)
        ),
        duration: limits.duration,
        reads: limits.bytes,
        writes: None,
    }
}

/// The verdict for a limit or a stop that came before the figure was certain.
#[must_use]
pub fn too_few(what: &str, found: usize, needed: usize) -> Verdict {
    Verdict::new(
        "too-few-probes",
        Severity::Warning,
        format!("{what}: {found} usable reads, {needed} are needed"),
        "let it run to its end, or raise --duration, --bytes and --requests",
    )
}
