//! The engine that needs no drive: requests go to a model, in virtual time or in real time.
//!
//! A new drive is one file with a [`Kind`], and one line in [`KINDS`].

mod drives;
pub mod geometry;
pub mod hdd;
mod hdd_model;
mod hdd_settings;
mod lateness;
mod model;
mod settings;
pub mod ssd;
mod ssd_model;
mod station;
#[cfg(test)]
mod tests;
mod timeline;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::{Control, Engine, EngineError, Outcome, Plan, Snapshot};
use crate::drive::Target;

pub use hdd_model::read as hard_disk;
pub use model::{Completion, Model, SimRequest};
pub use settings::{PREFIX, Settings, SimError};
pub use station::{Service, Station};

/// A kind of simulated drive.
pub struct Kind {
    /// `sim:NAME`.
    pub name: &'static str,
    /// What is special about it.
    pub summary: &'static str,
    /// Its own parameters; all take `size`, `block`, `physical` and `clock` besides.
    pub parameters: &'static [&'static str],
    /// Builds it from its parameters.
    pub build: fn(&mut Settings) -> Result<Simulation, SimError>,
}

impl fmt::Debug for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sim:{}", self.name)
    }
}

/// All kinds of simulated drives.
pub const KINDS: &[Kind] = &[
    drives::CONSTANT,
    drives::BIMODAL,
    drives::CLIFF,
    drives::FADING,
    drives::FAILING,
    drives::ZONES,
    hdd_model::HDD,
    ssd_model::SSD,
];

/// A simulated drive, ready to be measured.
pub struct Simulation {
    /// What it is to a test.
    pub target: Target,
    /// How it behaves.
    pub model: Box<dyn Model>,
    /// Whether a second of the drive takes a second.
    pub real_time: bool,
}

impl fmt::Debug for Simulation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Simulation")
            .field("target", &self.target)
            .field("real_time", &self.real_time)
            .finish_non_exhaustive()
    }
}

impl Simulation {
    /// The same drive, saying that it rotates or does not.
    #[must_use]
    pub fn rotating(mut self, rotational: bool) -> Self {
        if let Some(drive) = &mut self.target.drive {
            drive.rotational = Some(rotational);
        }
        self
    }
}

/// A drive that was switched on, and how long ago.
struct Powered {
    model: Box<dyn Model>,
    now_ns: u64,
}

/// The engine that needs no drive.
pub struct Simulated {
    target: Target,
    real_time: bool,
    powered: Mutex<Powered>,
}

impl fmt::Debug for Simulated {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Simulated({})", self.target.name)
    }
}

impl Simulated {
    /// Switches a drive on.
    #[must_use]
    pub fn new(simulation: Simulation) -> Self {
        Self {
            target: simulation.target,
            real_time: simulation.real_time,
            powered: Mutex::new(Powered {
                model: simulation.model,
                now_ns: 0,
            }),
        }
    }
}

impl Engine for Simulated {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn features(&self) -> Vec<String> {
        let clock = if self.real_time {
            "real-time"
        } else {
            "virtual-time"
        };
        vec![clock.to_owned()]
    }

    fn has_virtual_time(&self) -> bool {
        !self.real_time
    }

    fn execute(
        &self,
        plan: &Plan,
        control: &Control,
        observe: &mut dyn FnMut(&Snapshot),
    ) -> Result<Outcome, EngineError> {
        plan.validate(&self.target)?;
        let mut powered = self.powered.lock().unwrap_or_else(PoisonError::into_inner);
        let run = timeline::Run::new(plan, &self.target.name, powered.now_ns, self.real_time);
        let (outcome, now_ns) = run.execute(powered.model.as_mut(), control, observe)?;
        powered.now_ns = now_ns;
        Ok(outcome)
    }
}
