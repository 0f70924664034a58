//! All kinds of simulated drives.

use super::settings::{COMMON_PARAMETERS, SimError, SimParameters, SimulatedKind};
use super::{drives, hdd_model, ssd_model};
use crate::drive::medium::SIMULATED_PREFIX;
use crate::text;

/// All kinds of simulated drives.
pub const SIMULATED_KINDS: &[SimulatedKind] = &[
    drives::CONSTANT,
    drives::BIMODAL,
    drives::CLIFF,
    drives::FADING,
    drives::FAILING,
    hdd_model::HDD,
    ssd_model::SSD,
];

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
            let known: Vec<&str> = SIMULATED_KINDS.iter().map(|kind| kind.name).collect();
            return Err(SimError(format!(
                "there is no simulated drive {drive:?}{}; there are {}",
                text::suggestion(drive, known.iter().copied()),
                known.join(", ")
            )));
        };
        let mut values = Vec::new();
        for part in parts {
            let (key, value) = part.split_once('=').unwrap_or((part, ""));
            if !COMMON_PARAMETERS.contains(&key) && !kind.parameters.contains(&key) {
                return Err(SimError(format!(
                    "sim:{} has no parameter {key:?}{}; it has {}, {}",
                    kind.name,
                    text::suggestion(
                        key,
                        kind.parameters.iter().chain(&COMMON_PARAMETERS).copied()
                    ),
                    kind.parameters.join(", "),
                    COMMON_PARAMETERS.join(", ")
                )));
            }
            values.push((key.to_owned(), value.to_owned()));
        }
        Ok(Self::new(name, kind, values))
    }
}
