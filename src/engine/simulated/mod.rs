//! The engine of simulated drives: requests go to a model, in virtual time or in real time.
//!
//! To add a drive, write one file with a [`SimulatedKind`] and add it to the list in `catalog`.

mod catalog;
pub mod geometry;
mod given;
pub mod hdd;
mod hdd_queue;
mod hdd_settings;
mod lateness;
mod model;
mod parameters;
mod ssd;
#[cfg(test)]
mod tests;
mod timeline;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use super::{CancellationToken, Engine, EngineError, ExecutionOutcome, ExecutionSnapshot, Plan};
use crate::drive::Target;

pub use self::hdd_settings::read_disk_parameters as hard_disk;
pub use self::model::{DriveModel, SimCompletion, SimRequest};
pub use self::parameters::{SimError, SimParameters, SimulatedDrive, SimulatedKind};

/// A powered drive and the time since power-on.
struct PoweredDrive {
    model: Box<dyn DriveModel>,
    power_on_ns: u64,
}

/// The engine of simulated drives.
pub struct SimulatedEngine {
    target: Target,
    is_real_time: bool,
    wakeup_ns: u64,
    powered_drive: Mutex<PoweredDrive>,
}

impl fmt::Debug for SimulatedEngine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Simulated({})", self.target.name)
    }
}

impl SimulatedEngine {
    /// Powers on a drive.
    pub fn new(simulation: SimulatedDrive) -> Self {
        Self {
            target: simulation.target,
            is_real_time: simulation.is_real_time,
            wakeup_ns: simulation.wakeup_ns,
            powered_drive: Mutex::new(PoweredDrive {
                model: simulation.model,
                power_on_ns: 0,
            }),
        }
    }
}

impl Engine for SimulatedEngine {
    fn name(&self) -> &'static str {
        "simulated"
    }

    fn features(&self) -> Vec<String> {
        let clock = if self.is_real_time {
            "real-time"
        } else {
            "virtual-time"
        };
        vec![clock.to_owned()]
    }

    fn has_virtual_time(&self) -> bool {
        !self.is_real_time
    }

    fn can_spin(&self, _plan: &Plan) -> bool {
        self.wakeup_ns > 0
    }

    fn execute_with_open_hook(
        &self,
        plan: &Plan,
        cancellation: &CancellationToken,
        on_open: &mut dyn FnMut(),
        observe: &mut dyn FnMut(&ExecutionSnapshot),
    ) -> Result<ExecutionOutcome, EngineError> {
        plan.validate(&self.target)?;
        on_open();
        let mut powered = self
            .powered_drive
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let run = timeline::SimExecution::new(
            plan,
            &self.target.name,
            powered.power_on_ns,
            self.is_real_time,
            self.wakeup_ns,
        );
        let (outcome, now_ns) = run.execute(powered.model.as_mut(), cancellation, observe)?;
        powered.power_on_ns = now_ns;
        Ok(outcome)
    }
}
