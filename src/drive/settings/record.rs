//! The record of a setting's old value, with strict parsing.

use serde::{Deserialize, Serialize};

use crate::drive::settings::error::RecordError;
use crate::drive::settings::revalidated::RevalidatedValues;
use crate::drive::settings::setting::{DeviceName, SystemSetting};
use crate::roots::SysPaths;

/// Version of the record format.
const RECORD_VERSION: u32 = 1;
/// Maximum size of a record in bytes.
pub(super) const MAX_RECORD_BYTES: u64 = 64 * 1024;
/// Maximum number of values in a record of an earlier version.
const MAX_VALUES: usize = 256;

/// The old value of a setting while it is changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingRecord {
    version: u32,
    setting: SystemSetting,
    /// Boot ID at the time of the change: settings do not survive a reboot.
    boot: BootId,
    /// Identity of the device, because its name may later belong to another device.
    device: Option<DeviceIdentity>,
    /// The value to restore: the one before the first write, or the latest that another program set
    /// between two writes.
    original: String,
    /// The values that the setting can have because of this program: the one before its last write,
    /// if that was its own, and what the kernel may report after the last write. Any other value was
    /// set by someone else and is kept. Earlier versions of the program listed every value that they
    /// had set.
    changed_to: Vec<String>,
    /// The values that other settings of the disk had before the last write, until they are written
    /// back. Records of earlier versions do not have the field.
    #[serde(default, skip_serializing_if = "RevalidatedValues::is_empty")]
    revalidated: RevalidatedValues,
}

impl SettingRecord {
    /// A record of a setting that has not been changed yet.
    pub(super) fn new(
        setting: SystemSetting,
        boot: BootId,
        device: Option<DeviceIdentity>,
        original: String,
    ) -> Result<Self, RecordError> {
        let record = Self {
            version: RECORD_VERSION,
            setting,
            boot,
            device,
            original,
            changed_to: Vec::new(),
            revalidated: RevalidatedValues::new(),
        };
        record.validated()
    }

    /// Parses a record. Rejects everything that this program would not write.
    ///
    /// # Errors
    /// When it is malformed, or when the program does not change this setting or does not set such
    /// values.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordError> {
        if bytes.len() as u64 > MAX_RECORD_BYTES {
            return Err(RecordError::TooLarge);
        }
        serde_json::from_slice::<Self>(bytes)?.validated()
    }

    fn validated(self) -> Result<Self, RecordError> {
        if self.version != RECORD_VERSION {
            return Err(RecordError::UnsupportedVersion(self.version));
        }
        if self.changed_to.len() > MAX_VALUES {
            return Err(RecordError::TooLarge);
        }
        if self.device.is_some() != self.setting.device().is_some() {
            return Err(RecordError::UnexpectedIdentity(self.setting));
        }
        let mut values = std::iter::once(&self.original).chain(&self.changed_to);
        if let Some(value) = values.find(|value| !self.setting.accepts(value)) {
            return Err(RecordError::InvalidValue {
                value: value.clone(),
                setting: self.setting.clone(),
            });
        }
        self.with_valid_revalidated()
    }

    fn with_valid_revalidated(self) -> Result<Self, RecordError> {
        let resets_others = matches!(self.setting, SystemSetting::WriteCache(_));
        if !self.revalidated.is_empty() && !resets_others {
            return Err(RecordError::UnexpectedRevalidated(self.setting));
        }
        let mut values = self.revalidated.iter();
        match values.find(|(setting, value)| !setting.accepts(value)) {
            Some((_, value)) => Err(RecordError::InvalidRevalidated(value.clone())),
            None => Ok(self),
        }
    }

    /// The setting.
    #[must_use]
    pub fn setting(&self) -> &SystemSetting {
        &self.setting
    }

    /// The original value.
    #[must_use]
    pub fn original(&self) -> &str {
        &self.original
    }

    /// Whether the setting can have that value because of the last write of this program.
    #[must_use]
    pub fn was_set_by_us(&self, value: &str) -> bool {
        self.changed_to.iter().any(|ours| ours == value)
    }

    /// The record for a value that is about to be written while the setting has the value `now`.
    /// One that another program has set becomes the value to restore.
    pub(super) fn before_write(self, now: String, value: &str) -> Result<Self, RecordError> {
        let written = self.setting.possible_readback_values(value);
        let (original, changed_to) = match self.was_set_by_us(&now) {
            true => (self.original, std::iter::once(now).chain(written).collect()),
            false => (now, written),
        };
        Self {
            original,
            changed_to,
            ..self
        }
        .validated()
    }

    /// The record after a write as a result of which the setting has the value `now`.
    pub(super) fn after_write(self, now: String) -> Result<Self, RecordError> {
        let changed_to = vec![now];
        Self { changed_to, ..self }.validated()
    }

    /// The record after the setting is restored, or left to another program that has set it: none of its
    /// values is one of this program.
    pub(super) fn after_restoration(self) -> Self {
        Self {
            changed_to: Vec::new(),
            revalidated: RevalidatedValues::new(),
            ..self
        }
    }

    /// The values of other settings of the disk that are still to be written back.
    #[must_use]
    pub fn revalidated(&self) -> &RevalidatedValues {
        &self.revalidated
    }

    /// The record before a write that may reset other settings, which have these values. Those that
    /// an earlier write has reset, and that are not written back yet, keep the values before that.
    pub(super) fn with_revalidated(mut self, mut now: RevalidatedValues) -> Self {
        now.append(&mut self.revalidated);
        Self {
            revalidated: now,
            ..self
        }
    }

    /// The record after other settings are written back.
    pub(super) fn without_revalidated(self) -> Self {
        Self {
            revalidated: RevalidatedValues::new(),
            ..self
        }
    }

    pub(super) fn boot(&self) -> &BootId {
        &self.boot
    }

    pub(super) fn device(&self) -> Option<&DeviceIdentity> {
        self.device.as_ref()
    }
}

/// Boot ID of the kernel (`/proc/sys/kernel/random/boot_id`).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String")]
pub struct BootId(String);

impl BootId {
    /// Boot ID of the running kernel; `None` if it cannot be read.
    pub(super) fn read(roots: &SysPaths) -> Option<Self> {
        let text = std::fs::read_to_string(roots.proc.join("sys/kernel/random/boot_id")).ok()?;
        Self::try_from(text.trim_end().to_owned()).ok()
    }
}

impl TryFrom<String> for BootId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let is_uuid = text.len() == 36
            && text
                .bytes()
                .all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
        is_uuid.then_some(Self(text)).ok_or("no boot id")
    }
}

/// Distinguishes a device from another one that later has the same name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceIdentity {
    /// Major and minor number, as `8:0`.
    number: String,
    /// Disk sequence number (kernel 5.15 and later).
    diskseq: Option<u64>,
    /// World-wide identifier.
    wwid: Option<String>,
    /// Serial number.
    serial: Option<String>,
}

impl DeviceIdentity {
    /// Identity of the device that has the name now; `None` if there is none.
    pub(super) fn read(roots: &SysPaths, name: &DeviceName) -> Option<Self> {
        let device = roots.sys.join("class/block").join(name.as_str());
        let text = |file: &str| {
            let text = std::fs::read_to_string(device.join(file)).ok()?;
            let text = text.trim();
            let short = text.get(..256).unwrap_or(text);
            (!short.is_empty()).then(|| short.to_owned())
        };
        let first = |files: [&str; 2]| files.into_iter().find_map(text);
        Some(Self {
            number: text("dev")?,
            diskseq: text("diskseq").and_then(|text| text.parse().ok()),
            wwid: first(["wwid", "device/wwid"]),
            serial: first(["serial", "device/serial"]),
        })
    }

    /// Whether both may be the same device. A busy drive may not report its serial number.
    pub(super) fn matches(&self, other: &Self) -> bool {
        let agrees = |one: &Option<String>, other: &Option<String>| match (one, other) {
            (Some(one), Some(other)) => one == other,
            _ => true,
        };
        self.number == other.number
            && self.diskseq == other.diskseq
            && agrees(&self.wwid, &other.wwid)
            && agrees(&self.serial, &other.serial)
    }
}
