//! What the tests of a hard disk's mechanics share: single reads with exact times, the revolution,
//! the command's own time, the layout of tracks, and the edges of response times.

pub mod chain;
pub mod clockwork;
pub mod command;
pub mod cylinder;
pub mod findings;
pub mod layout;
pub mod probing;
pub mod revolution;
pub mod rotational;
pub mod shortest;
pub mod stretch;
pub mod stroke;
pub mod walk;
pub mod zones;

use super::common;
use super::forecast::Phases;
use super::{Bench, BenchError, Forecast, Parameter, Parameters, Value};
use crate::drive::Target;
use crate::engine::{Pattern, Plan};
use crate::session::document::{Axis, Figure, Series, Severity, Unit, Verdict};

pub use clockwork::{Clockwork, SECTOR};
pub use command::Command;
pub use probing::{Probe, Prober};
pub use revolution::{Revolution, Rotation};
pub use rotational::RotationalPart;

/// The parameters of a test that probes single blocks for a while, with its own default for how long.
#[must_use]
pub const fn parameters(duration: fn(&Target) -> Value) -> [Parameter; 7] {
    [
        common::DURATION.with_default(duration),
        common::BYTES,
        common::REQUESTS,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SEED,
        common::CACHE,
    ]
}

/// Single reads until the limits; of a medium that does not rotate only those that show it.
fn phases(target: &Target, parameters: &Parameters) -> Phases {
    let mut plan = single_reads(target, parameters);
    if target.rotational() == Some(false) {
        plan.limits.requests = Some(revolution::READS_PER_ROUND);
    }
    Phases::in_turn(common::limits(parameters)).then(plan)
}

/// Reads of one block at random places, without a limit.
#[must_use]
pub fn single_reads(target: &Target, parameters: &Parameters) -> Plan {
    let window = common::window(target, parameters);
    Plan::reading(Pattern::Random, target.logical_block.max(512), window)
}

/// The forecast of a test that probes single blocks for a while.
#[must_use]
pub fn forecast(target: &Target, parameters: &Parameters, what: &str) -> Forecast {
    let limits = common::limits(parameters);
    Forecast {
        sentence: format!(
            "reads single blocks of {}, one at a time, {what}",
            common::place(target)
        ),
        time: phases(target, parameters).time(target),
        reads: limits.bytes,
        writes: None,
    }
}

/// A prober, and the clockwork that every test of seeks needs first; `None`, with a verdict that says
/// why, where nothing rotates. `share` is the part of the whole test that this stands for.
///
/// # Errors
/// When the window does not hold one block, or the reads could not be started.
pub fn start<'b, 'a>(
    bench: &'b mut Bench<'a>,
    share: f64,
) -> Result<Option<(Prober<'b, 'a>, Clockwork)>, BenchError> {
    let mut prober = Prober::new(bench)?;
    let Some(clockwork) = Clockwork::find(&mut prober, share)? else {
        return Ok(None);
    };
    prober.bench.phase_finished();
    Ok(Some((prober, clockwork)))
}

/// How the rotational part lies in the revolution: a bar for each twentieth. A platter's bars are
/// about equally high.
#[must_use]
pub fn distribution(part: &RotationalPart) -> Series {
    const BARS: usize = 20;
    let mut counts = [0_u32; BARS];
    for share in &part.shares {
        counts[((share * BARS as f64) as usize).min(BARS - 1)] += 1;
    }
    let bar =
        |(index, count): (usize, &u32)| [(index as f64 + 0.5) / BARS as f64, f64::from(*count)];
    Series {
        name: "rotational-part".into(),
        x: Axis::new("part of the revolution waited", Unit::Revolution),
        y: Axis::new("reads", Unit::Count),
        points: counts.iter().enumerate().map(bar).collect(),
        intervals: Vec::new(),
    }
}

/// A command of a drive takes no longer than this, in seconds.
const LONGEST_COMMAND: f64 = 0.4e-3;
/// Bytes per second of the slowest interface: a block of the cache takes that long on its way, while
/// one of the medium is on its way as it is read.
const SLOWEST_INTERFACE: f64 = 300e6;

/// A seek time as a figure: the edge of the responses, less the command and the `passing` of the
/// block (in seconds). The spread of commands adds to the limits of the edge, and so does what the
/// computer takes to wake up: it is as uncertain as it is long. A command that is not known is still
/// in the figure; then the lower limit is without it.
#[must_use]
pub fn seek_figure(
    name: &str,
    part: &RotationalPart,
    clockwork: &Clockwork,
    passing: f64,
) -> Figure {
    let electronics = clockwork.electronics(part.edge.lower);
    let net = |seconds: f64| 1e9 * (seconds - electronics - passing);
    let spread = clockwork.electronics_error(part.edge.lower);
    let unknown = if clockwork.command.known {
        0.0
    } else {
        LONGEST_COMMAND
    };
    let wire = SECTOR / SLOWEST_INTERFACE;
    let (low, high) = part.edge.limits;
    Figure::new(name, net(part.edge.lower), Unit::Nanoseconds)
        .within(net(low - spread - unknown), net(high + spread + wire))
        .from_observations(part.edge.inside as u64)
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

/// The verdict where angles do not show tracks: because a limit came first, or for no good reason.
#[must_use]
pub fn no_tracks(over: bool) -> Verdict {
    let (code, severity, evidence) = match over {
        true => (
            "too-few-probes",
            Severity::Warning,
            "it ended before the length of a track was known",
        ),
        false => (
            "tracks-not-told",
            Severity::Invalid,
            "it rotates, but the angles of neighbouring sectors do not lie on tracks",
        ),
    };
    let advice = "let it run to its end, and stop other users of the drive; a RAID or a drive with a \
                  large cache may hide its tracks";
    Verdict::new(code, severity, evidence, advice)
}
