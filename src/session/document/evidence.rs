//! What was seen around a run: that from which the verdicts on it follow.
//!
//! All of it is optional: what the kernel does not tell, or not to this user, is absent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::KernelCounts;
use crate::safe_text::SafeText;

/// What was seen around a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunEvidence {
    /// What the test asked of the target, ramps included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "asked")]
    pub issued: Option<DirectionCounts>,
    /// Bytes that this program handed to the block layer, from /proc/self/io.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "submitted")]
    pub submitted_to_block_layer: Option<SubmittedBytes>,
    /// The devices beneath the one that the target is or lies on, from top to bottom.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 1_000>")]
    #[serde(rename = "beneath")]
    pub underlying: Vec<LayerCounts>,
    /// Who else used the drive, the greediest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[serde(deserialize_with = "crate::bounded::bounded_list::<_, _, 10_000>")]
    #[serde(rename = "others")]
    pub other_users: Vec<OtherUser>,
    /// How busy the processors were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorLoad>,
    /// How warm the drive was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub temperature: Option<DriveTemperature>,
    /// How much of the file is really there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub extents: Option<FileAllocation>,
    /// What a few blocks of the device hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "sample")]
    pub block_sample: Option<BlockSample>,
    /// How the drive is attached and set up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[serde(rename = "setup")]
    pub drive_setup: Option<DriveSetup>,
    /// When this program did not run; absent where it always did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pauses: Option<PauseEvidence>,
}

/// Times at which this program was stopped or the machine suspended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PauseEvidence {
    /// How many.
    pub count: u64,
    /// Their length together in nanoseconds.
    pub total_ns: u64,
    /// The longest, in nanoseconds.
    pub longest_ns: u64,
    /// How long the machine was suspended, in nanoseconds; not part of the above, for the clock of
    /// the measurement stands still then.
    pub suspended_ns: u64,
}

/// Requests and bytes by direction.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectionCounts {
    /// Reads.
    pub reads: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes.
    pub writes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// Bytes that a process handed to the block layer (kernel Documentation/filesystems/proc.rst,
/// `/proc/PID/io`); buffered writes count when the page is made dirty.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmittedBytes {
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
}

/// A device beneath another, and what it did during the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayerCounts {
    /// What it is to the one above it.
    #[serde(rename = "relation")]
    pub relation_to_upper: LayerRelation,
    /// Its own counts.
    #[serde(flatten)]
    pub counts: KernelCounts,
}

/// What a device is to the one above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LayerRelation {
    /// The whole drive of a partition.
    #[serde(rename = "whole")]
    WholeDisk,
    /// A member of a RAID or a device-mapper volume.
    Member,
    /// What the file of a loop device lies on.
    #[serde(rename = "backing")]
    BackingDevice,
}

/// Another process that used drives during the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OtherUser {
    /// Process id; of a process whose end came too soon, that of its thread.
    pub pid: u32,
    /// Its name.
    pub command: SafeText,
    /// Bytes that it read.
    pub read_bytes: u64,
    /// Bytes that it wrote.
    pub written_bytes: u64,
    /// How it is known.
    #[serde(rename = "witness")]
    pub attribution: Attribution,
}

/// How another user of a drive is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Attribution {
    /// Its requests to this drive were seen one by one.
    #[serde(rename = "traced")]
    TracedRequests,
    /// It has the drive, or a file on it, open; how much of its bytes went there is not known.
    #[serde(rename = "has-it-open")]
    HasOpenDescriptor,
    /// It moved bytes on some drive.
    #[serde(rename = "some-drive")]
    AnyDrive,
}

/// How busy the processors were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessorLoad {
    /// Share of a processor that each thread which sent requests had in its busiest phase, 0 to 1;
    /// null where no phase was long enough to tell.
    #[serde(rename = "generator_share")]
    pub generator_utilization: Option<f64>,
    /// How many such threads there were in that phase.
    #[serde(rename = "workers")]
    pub busiest_workers: u32,
    /// Share of all processors that was busy over the run, with whatever, 0 to 1.
    #[serde(rename = "machine_share")]
    pub machine_utilization: Option<f64>,
    /// Processors of the machine.
    pub count: u32,
}

/// How warm the drive was, in degrees Celsius (kernel Documentation/hwmon/sysfs-interface.rst).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveTemperature {
    /// At the start.
    #[serde(rename = "begin_celsius")]
    pub initial_celsius: f64,
    /// The highest that was seen.
    #[serde(rename = "highest_celsius")]
    pub max_celsius: f64,
    /// From where on the drive may slow down, as it says itself.
    #[serde(rename = "limit_celsius")]
    pub throttle_celsius: Option<f64>,
}

/// How much of a file is really on the medium, within the window of the test.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileAllocation {
    /// Which file: the target, or what lies behind a loop device.
    pub file: SafeText,
    /// Bytes of the window.
    pub bytes: u64,
    /// Bytes without a place on the medium.
    pub hole_bytes: u64,
    /// Bytes that have a place but were never written: the file system answers zeros.
    pub unwritten_bytes: u64,
    /// Bytes that the file system keeps compressed or encrypted.
    pub encoded_bytes: u64,
}

/// What a few blocks hold, read at random places before the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockSample {
    /// Blocks that were read.
    pub blocks: u32,
    /// Those that hold nothing but zeros.
    pub zero_blocks: u32,
}

/// How the drive is attached and set up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DriveSetup {
    /// `write back` or `write through`.
    pub write_cache: Option<SafeText>,
    /// Revolutions per minute that the drive says it makes.
    pub rotation_rate: Option<u32>,
    /// Whether the partition begins on a boundary of the physical blocks.
    pub aligned: Option<bool>,
    /// The I/O scheduler in use.
    pub scheduler: Option<SafeText>,
    /// Why another scheduler suits it better, where one does.
    pub scheduler_advice: Option<SafeText>,
    /// Requests that the drive or its link takes at once, where it says so.
    #[serde(rename = "parallel_requests")]
    pub max_queue_depth: Option<u32>,
    /// The link to the host, such as `SATA 6.0 Gbps`.
    pub link: Option<SafeText>,
    /// What the link carries at most, bytes per second.
    #[serde(rename = "link_bytes_per_s")]
    pub link_max_bytes_per_s: Option<u64>,
    /// File behind a loop device, at whatever depth.
    pub backing_file: Option<SafeText>,
    /// Whether that loop device goes past the page cache.
    pub direct_io: Option<bool>,
    /// What makes the drive, or one beneath it, for a virtual one.
    pub virtual_disk: Option<SafeText>,
    /// What makes it for memory and no drive at all.
    #[serde(rename = "memory")]
    pub memory_backing: Option<SafeText>,
}
