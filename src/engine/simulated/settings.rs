//! A simulated drive: its kind, and its parameters as written in `sim:NAME,key=value,...`.

use std::fmt;

use super::model::DriveModel;
use crate::drive::medium::SIMULATED_PREFIX;
use crate::drive::{BlockDevice, DriveKind, Target, TargetKind};
use crate::units;

/// Parameters that every simulated drive accepts.
pub(super) const COMMON_PARAMETERS: [&str; 4] = ["size", "block", "physical", "clock"];

/// A kind of simulated drive.
pub struct SimulatedKind {
    /// `sim:NAME`.
    pub name: &'static str,
    /// One-line description of its behaviour.
    pub summary: &'static str,
    /// Names of its own parameters. All kinds also accept `size`, `block`, `physical` and `clock`.
    pub parameters: &'static [&'static str],
    /// Builds the drive from its parameters.
    pub build: fn(&mut SimParameters) -> Result<SimulatedDrive, SimError>,
}

impl fmt::Debug for SimulatedKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "sim:{}", self.name)
    }
}

/// A simulated drive that is ready to be measured.
pub struct SimulatedDrive {
    /// Its properties as a target.
    pub target: Target,
    /// The model of its behaviour.
    pub model: Box<dyn DriveModel>,
    /// Whether it runs in real time: a second of the drive takes a second.
    pub is_real_time: bool,
}

impl fmt::Debug for SimulatedDrive {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("SimulatedDrive")
            .field("target", &self.target)
            .field("real_time", &self.is_real_time)
            .finish_non_exhaustive()
    }
}

impl SimulatedDrive {
    /// The same drive, reporting itself as rotational or not.
    #[must_use]
    pub fn with_rotational(mut self, rotational: bool) -> Self {
        if let Some(drive) = &mut self.target.drive {
            drive.rotational = Some(rotational);
        }
        self
    }
}

/// Why a simulated drive cannot be built: one sentence that names the parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SimError(pub String);

/// The parameters of a simulated drive as the user wrote them.
#[derive(Debug)]
pub struct SimParameters {
    name: String,
    kind: &'static SimulatedKind,
    parameters: Vec<(String, String)>,
}

impl SimParameters {
    /// The parameters of a drive of this kind, with names that it has.
    pub(super) fn new(
        name: &str,
        kind: &'static SimulatedKind,
        parameters: Vec<(String, String)>,
    ) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            parameters,
        }
    }

    /// Builds the drive.
    ///
    /// # Errors
    /// When a value cannot be parsed.
    pub fn build(mut self) -> Result<SimulatedDrive, SimError> {
        (self.kind.build)(&mut self)
    }

    /// The last value given for a parameter, parsed by `read`.
    fn parse_value<T, E: fmt::Display>(
        &self,
        key: &str,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<Option<T>, SimError> {
        let Some((_, text)) = self.parameters.iter().rev().find(|(name, _)| name == key) else {
            return Ok(None);
        };
        match read(text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(SimError(format!("{key}={text} of {}: {error}", self.name))),
        }
    }

    /// A size, or a throughput per second, in bytes; `None` when it is not given.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn optional_size(&self, key: &str) -> Result<Option<u64>, SimError> {
        self.parse_value(key, |text| units::parse_size(text.trim_end_matches("/s")))
    }

    /// A size, or a throughput per second, in bytes.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn size(&self, key: &str, default: u64) -> Result<u64, SimError> {
        Ok(self.optional_size(key)?.unwrap_or(default))
    }

    /// A duration in nanoseconds.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn duration_ns(&self, key: &str, default: u64) -> Result<u64, SimError> {
        let duration = self.parse_value(key, units::parse_duration)?;
        Ok(duration.map_or(
            default,
            crate::engine::request_generator::saturating_nanoseconds,
        ))
    }

    /// A whole number.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn count(&self, key: &str, default: u32) -> Result<u32, SimError> {
        Ok(self.parse_value(key, str::parse::<u32>)?.unwrap_or(default))
    }

    /// A number.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn number(&self, key: &str, default: f64) -> Result<f64, SimError> {
        Ok(self.parse_value(key, str::parse::<f64>)?.unwrap_or(default))
    }

    /// A fraction from 0 to 1, written `0.2` or `20%`.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn fraction(&self, key: &str, default: f64) -> Result<f64, SimError> {
        let read = |text: &str| {
            let (number, divisor) = text.strip_suffix('%').map_or((text, 1.0), |n| (n, 100.0));
            let share = number
                .trim()
                .parse::<f64>()
                .map(|value| value / divisor)
                .ok();
            share
                .filter(|share| (0.0..=1.0).contains(share))
                .ok_or("write a percentage from 0% to 100%")
        };
        Ok(self.parse_value(key, read)?.unwrap_or(default))
    }

    /// Whether a parameter was given.
    #[must_use]
    pub fn is_given(&self, key: &str) -> bool {
        self.parameters.iter().any(|(name, _)| name == key)
    }

    /// Size of the drive in bytes.
    ///
    /// # Errors
    /// When it cannot be parsed.
    pub fn drive_size(&self) -> Result<u64, SimError> {
        self.size("size", 10_000_000_000)
    }

    /// Builds the drive around its model. A rotational drive is marked as such afterwards.
    ///
    /// # Errors
    /// When a common parameter cannot be parsed.
    pub fn build_around(&self, model: Box<dyn DriveModel>) -> Result<SimulatedDrive, SimError> {
        let size = self.drive_size()?;
        let logical = u32::try_from(self.size("block", 512)?).unwrap_or(u32::MAX);
        let physical = u32::try_from(self.size("physical", 4096)?).unwrap_or(u32::MAX);
        if !logical.is_power_of_two() || size < u64::from(logical) {
            return Err(SimError(format!(
                "block={logical} of {} must be a power of two and below its size",
                self.name
            )));
        }
        let real_time = self.parse_value("clock", |text| match text {
            "virtual" => Ok(false),
            "real" => Ok(true),
            _ => Err("write clock=virtual or clock=real"),
        })?;
        Ok(SimulatedDrive {
            target: Target {
                name: self.name.clone(),
                kind: TargetKind::Simulated,
                size_bytes: size,
                logical_block_bytes: logical,
                physical_block_bytes: physical.max(logical),
                buffer_alignment: logical,
                supports_direct_io: true,
                drive: Some(self.drive_identity(size, logical, physical)),
                file_system: None,
            },
            model,
            is_real_time: real_time.unwrap_or(false),
        })
    }

    /// Identity that the drive reports.
    fn drive_identity(&self, size: u64, logical: u32, physical: u32) -> BlockDevice {
        let name = format!("{SIMULATED_PREFIX}{}", self.kind.name);
        BlockDevice {
            path: self.name.clone(),
            logical_block_bytes: Some(logical),
            physical_block_bytes: Some(physical.max(logical)),
            model: Some(format!("simulated ({})", self.kind.name)),
            ..BlockDevice::new(&name, DriveKind::Disk, size)
        }
    }
}
