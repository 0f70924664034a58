//! All kinds of simulated drives.

use super::parameters::{SimError, SimParameters, SimulatedKind};
use super::{given, hdd_queue, ssd};
use crate::drive::medium::SIMULATED_PREFIX;
use crate::text;

/// All kinds of simulated drives.
static SIMULATED_KINDS: [SimulatedKind; 5] = [
    hdd_queue::HDD,
    ssd::SSD,
    given::CONSTANT,
    given::GIVEN,
    given::FAILING,
];

/// Parameters that every simulated drive accepts.
const COMMON_PARAMETERS: &str = "size block physical clock wakeup";

impl SimParameters {
    /// Splits the name of a simulated drive into its parts and checks the parameter names.
    ///
    /// # Errors
    /// When the drive or a parameter is unknown; the message lists the known ones.
    pub fn parse(name: &str) -> Result<Self, SimError> {
        let mut parts = name
            .strip_prefix(SIMULATED_PREFIX)
            .unwrap_or(name)
            .split(',');
        let drive = parts.next().unwrap_or_default();
        let Some(kind) = SIMULATED_KINDS.iter().find(|kind| kind.name == drive) else {
            let known = SIMULATED_KINDS.each_ref().map(|kind| kind.name);
            return Err(SimError(format!(
                "there is no simulated drive {drive:?}{}; there are {}",
                text::suggestion(drive, known),
                known.join(", ")
            )));
        };
        let known = || {
            let own = kind.parameters.split_whitespace();
            own.chain(COMMON_PARAMETERS.split_whitespace())
        };
        let mut values = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if !known().any(|known| known == key) {
                return Err(SimError(format!(
                    "sim:{} has no parameter {key:?}{}; it has {}",
                    kind.name,
                    text::suggestion(key, known()),
                    known().collect::<Vec<_>>().join(", ")
                )));
            }
            values.push((key.to_owned(), value.to_owned()));
        }
        Ok(Self::new(name, kind, values))
    }
}
