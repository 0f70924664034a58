//! A saved session.

#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run::BenchmarkRun;
use crate::files::safe_text::SafeText;

/// Value of [`Session::schema`].
pub const SCHEMA: &str = "diskscope-session";
/// Version of the document format that this program writes.
pub const VERSION: u32 = 1;

/// A saved session: the host, and the runs on it in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct Session {
    /// Always `diskscope-session`.
    pub schema: SafeText,
    /// Version of the document format.
    pub version: u32,
    /// Program and version that wrote the document, such as `diskscope 0.1.0`.
    pub program: SafeText,
    /// Start of the session, RFC 3339 with offset.
    pub started: SafeText,
    /// The machine that ran the session.
    pub host: HostRecord,
    /// A note of the user.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<SafeText>,
    /// The runs in chronological order.
    pub runs: Vec<BenchmarkRun>,
}

/// The machine that ran a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub struct HostRecord {
    /// Host name.
    pub name: Option<SafeText>,
    /// Kernel release, as in `uname -r`.
    pub kernel: Option<SafeText>,
    /// Machine architecture, as in `uname -m`.
    pub architecture: Option<SafeText>,
    /// Number of CPUs that this program may use.
    pub processors: Option<u32>,
    /// Main memory in bytes.
    pub memory_bytes: Option<u64>,
    /// Name of the hypervisor or container, if the machine reports one.
    pub virtualization: Option<SafeText>,
}
