//! The scope of a condition: what its metric is read of.

use serde::Serialize;

use crate::files::safe_text::SafeText;
use crate::snapshot::command::program_name;

/// What a value belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeKind {
    /// The machine as a whole.
    System,
    /// A block device.
    Device,
    /// A process.
    Process,
    /// A service, container, session or other control group.
    Unit,
    /// A mounted file system.
    Mount,
}

impl ScopeKind {
    /// The kinds whose instances have names.
    const NAMED: [Self; 4] = [Self::Device, Self::Process, Self::Unit, Self::Mount];

    /// Its name in a condition.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["system", "device", "process", "unit", "mount"][self as usize]
    }
}

/// What one value belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct ScopeInstance {
    /// What it is.
    #[serde(rename = "scope")]
    pub kind: ScopeKind,
    /// Kernel's name of the device, command line of the process, path of the unit, mount point;
    /// empty for the system.
    pub name: SafeText,
    /// Name of the volume or of the unit, model of the device; empty where it has no other name.
    pub label: SafeText,
    /// Process id.
    pub pid: Option<u32>,
}

/// The scope of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    /// What its instances are.
    pub kind: ScopeKind,
    /// Those that it is about: kernel's name or label of a device, program or id of a process, name or
    /// path of a unit, mount point. `None` for each one, and for the system.
    pub name: Option<SafeText>,
}

impl Scope {
    /// Parses `system`, `any`, a name, or one of these with the kind before it: `unit:any`,
    /// `process:postgres`. Without it, a name or `any` is of the kind `default`.
    #[must_use]
    pub fn parse(text: &str, default: ScopeKind) -> Self {
        let text = text.trim();
        let prefixed = ScopeKind::NAMED.into_iter().find_map(|kind| {
            let rest = text.strip_prefix(kind.name())?.strip_prefix(':')?.trim();
            (!rest.is_empty()).then_some((kind, rest))
        });
        let (kind, name) = match prefixed {
            Some(prefixed) => prefixed,
            None if text == ScopeKind::System.name() => (ScopeKind::System, "any"),
            None => (default, text),
        };
        let name = (name != "any").then(|| name.into());
        Self { kind, name }
    }

    /// Whether it names this instance, of its kind.
    pub(super) fn names(&self, instance: &ScopeInstance) -> bool {
        let Some(name) = self.name.as_deref() else {
            return false;
        };
        match instance.pid {
            Some(pid) => program_name(&instance.name) == name || pid.to_string() == name,
            None => [&*instance.name, &*instance.label].contains(&name),
        }
    }
}
