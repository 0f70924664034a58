//! The parameters of a simulated drive, as written in `sim:NAME,key=value,...`.

use std::fmt;
use std::fmt::Display;

use super::model::DriveModel;
use crate::drive::medium::SIMULATED_PREFIX;
use crate::drive::{BlockDevice, DriveKind, Target, TargetKind};
use crate::engine::request_generator::saturating_nanoseconds;
use crate::units;

/// A kind of simulated drive.
pub struct SimulatedKind {
    /// `sim:NAME`.
    pub name: &'static str,
    /// Names of its own parameters, separated by spaces.
    pub parameters: &'static str,
    /// Whether it reports itself as rotational; `None` reports nothing.
    pub rotational: Option<bool>,
    /// Builds the drive from its parameters.
    pub build: fn(&SimParameters) -> Result<SimulatedDrive, SimError>,
}

/// A simulated drive that is ready to be measured.
pub struct SimulatedDrive {
    /// Its properties as a target.
    pub target: Target,
    /// The model of its behaviour.
    pub model: Box<dyn DriveModel>,
    /// Whether it runs in real time: a second of the drive takes a second.
    pub is_real_time: bool,
    /// Time that a worker takes to wake up when it waits for a completion asleep, in nanoseconds.
    pub(super) wakeup_ns: u64,
}

impl fmt::Debug for SimulatedDrive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SimulatedDrive({})", self.target.name)
    }
}

/// Why a simulated drive cannot be built: one sentence that names the parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SimError(pub String);

/// The parameters of a simulated drive as the user wrote them.
pub struct SimParameters {
    name: String,
    kind: &'static SimulatedKind,
    values: Vec<(String, String)>,
}

impl SimParameters {
    /// The parameters of a drive of this kind, with names that it has.
    pub(super) fn new(
        name: &str,
        kind: &'static SimulatedKind,
        values: Vec<(String, String)>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            values,
        }
    }

    /// Builds the drive.
    ///
    /// # Errors
    /// When a value cannot be parsed.
    pub fn build(self) -> Result<SimulatedDrive, SimError> {
        (self.kind.build)(&self)
    }

    /// The last value given for a parameter, parsed by `read`; `None` when it is not given.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub(super) fn parsed<T, E: Display>(
        &self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, SimError> {
        let Some((_, text)) = self.values.iter().rev().find(|(name, _)| name == key) else {
            return Ok(None);
        };
        read(text)
            .map(Some)
            .map_err(|error| SimError(format!("{key}={text} of {}: {error}", self.name)))
    }

    /// A size, or a throughput per second, in bytes.
    pub(super) fn size(&self, key: &str, default: u64) -> Result<u64, SimError> {
        let size = self.parsed(key, |text| units::parse_size(text.trim_end_matches("/s")))?;
        Ok(size.unwrap_or(default))
    }

    /// A duration in whole nanoseconds.
    pub(super) fn time(&self, key: &str, default: f64) -> Result<f64, SimError> {
        let time = self.parsed(key, units::parse_duration)?;
        Ok(time.map_or(default, |time| saturating_nanoseconds(time) as f64))
    }

    /// A whole number.
    pub(super) fn count(&self, key: &str, default: u32) -> Result<u32, SimError> {
        Ok(self.parsed(key, str::parse)?.unwrap_or(default))
    }

    /// A number.
    pub(super) fn number(&self, key: &str, default: f64) -> Result<f64, SimError> {
        Ok(self.parsed(key, str::parse)?.unwrap_or(default))
    }

    /// A fraction from 0 to 1, written `0.2` or `20%`.
    pub(super) fn fraction(&self, key: &str, default: f64) -> Result<f64, SimError> {
        let read = |text: &str| {
            let (number, divisor) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 100.0));
            let share = number.trim().parse::<f64>().map(|value| value / divisor);
            let share = share.ok().filter(|share| (0.0..=1.0).contains(share));
            share.ok_or("write a percentage from 0% to 100%")
        };
        Ok(self.parsed(key, read)?.unwrap_or(default))
    }

    /// Builds the drive around its model. A rotating drive has a speed and runs in real time unless
    /// the parameters say otherwise, for demonstrations; all others run in virtual time.
    ///
    /// # Errors
    /// When a common parameter cannot be parsed.
    pub(super) fn build_around(
        &self,
        model: impl DriveModel + 'static,
        size: u64,
        rpm: Option<u32>,
    ) -> Result<SimulatedDrive, SimError> {
        let logical = u32::try_from(self.size("block", 512)?).unwrap_or(u32::MAX);
        let physical = u32::try_from(self.size("physical", 4096)?).unwrap_or(u32::MAX);
        if !logical.is_power_of_two() || size < u64::from(logical) {
            return Err(SimError(format!(
                "block={logical} of {} must be a power of two and below its size",
                self.name
            )));
        }
        let is_real_time = self.parsed("clock", |text| match text {
            "virtual" => Ok(false),
            "real" => Ok(true),
            _ => Err("write clock=virtual or clock=real"),
        })?;
        let physical = physical.max(logical);
        let device = format!("{SIMULATED_PREFIX}{}", self.kind.name);
        let drive = BlockDevice {
            path: self.name.clone(),
            logical_block_bytes: Some(logical),
            physical_block_bytes: Some(physical),
            model: Some(format!("simulated ({})", self.kind.name)),
            rotational: self.kind.rotational,
            rotation_rate: rpm,
            ..BlockDevice::new(&device, DriveKind::Disk, size)
        };
        Ok(SimulatedDrive {
            target: Target {
                name: self.name.clone(),
                kind: TargetKind::Simulated,
                size_bytes: size,
                logical_block_bytes: logical,
                physical_block_bytes: physical,
                buffer_alignment: logical,
                supports_direct_io: true,
                drive: Some(drive),
                file_system: None,
            },
            model: Box::new(model),
            is_real_time: is_real_time.unwrap_or(rpm.is_some()),
            wakeup_ns: self.time("wakeup", 0.0)? as u64,
        })
    }
}
