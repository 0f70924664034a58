//! The scope of a condition: what its metric is read of.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;

/// What a value belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    pub const NAMED: [Self; 4] = [Self::Device, Self::Process, Self::Unit, Self::Mount];

    /// Its name in a condition.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Device => "device",
            Self::Process => "process",
            Self::Unit => "unit",
            Self::Mount => "mount",
        }
    }
}

impl fmt::Display for ScopeKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// The scope of a condition.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    /// The machine as a whole.
    System,
    /// Each instance of that kind.
    Any(ScopeKind),
    /// The instances with that name: kernel's name or label of a device, program of a process, name
    /// or path of a unit, mount point.
    Named(ScopeKind, SafeText),
    /// The process with that id.
    Process(u32),
}

/// The word for each instance.
const ANY: &str = "any";

impl Scope {
    /// Parses `system`, `any`, a name, or one of these with the kind before it: `unit:any`,
    /// `process:postgres`. Without it, a name or `any` is of the kind `default`.
    #[must_use]
    pub fn parse(text: &str, default: ScopeKind) -> Self {
        let text = text.trim();
        if text == ScopeKind::System.name() {
            return Self::System;
        }
        let prefixed = ScopeKind::NAMED.into_iter().find_map(|kind| {
            let rest = text.strip_prefix(kind.name())?.strip_prefix(':')?.trim();
            (!rest.is_empty()).then_some((kind, rest))
        });
        let (kind, name) = prefixed.unwrap_or((default, text));
        match name {
            ANY => Self::Any(kind),
            _ if kind == ScopeKind::Process => match parse_process_id(name) {
                Some(pid) => Self::Process(pid),
                None => Self::Named(kind, name.into()),
            },
            _ => Self::Named(kind, name.into()),
        }
    }

    /// The kind of its instances.
    #[must_use]
    pub fn kind(&self) -> ScopeKind {
        match self {
            Self::System => ScopeKind::System,
            Self::Any(kind) | Self::Named(kind, _) => *kind,
            Self::Process(_) => ScopeKind::Process,
        }
    }

    /// The text that [`parse`](Self::parse) reads with that default kind.
    #[must_use]
    pub fn text(&self, default: ScopeKind) -> String {
        let name = match self {
            Self::System => return ScopeKind::System.name().to_owned(),
            Self::Any(_) => ANY.to_owned(),
            Self::Named(_, name) => name.as_str().to_owned(),
            Self::Process(pid) => pid.to_string(),
        };
        match Self::parse(&name, default) == *self {
            true => name,
            false => format!("{}:{name}", self.kind()),
        }
    }
}

/// Digits only: a sign is part of a name.
fn parse_process_id(text: &str) -> Option<u32> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scope_is_of_the_default_kind_unless_it_names_one() {
        let device = ScopeKind::Device;
        for (text, scope, printed) in [
            (" sda ", Scope::Named(device, "sda".into()), "sda"),
            ("any", Scope::Any(device), "any"),
            ("system", Scope::System, "system"),
            ("unit:any", Scope::Any(ScopeKind::Unit), "unit:any"),
            ("process:17", Scope::Process(17), "process:17"),
            ("device:sda", Scope::Named(device, "sda".into()), "sda"),
            ("17", Scope::Named(device, "17".into()), "17"),
            (
                "device:system",
                Scope::Named(device, "system".into()),
                "device:system",
            ),
            (
                "process:pg: writer",
                Scope::Named(ScopeKind::Process, "pg: writer".into()),
                "process:pg: writer",
            ),
        ] {
            assert_eq!(Scope::parse(text, device), scope, "{text}");
            assert_eq!(scope.text(device), printed);
            assert_eq!(Scope::parse(printed, device), scope);
        }
        assert_eq!(Scope::parse("17", ScopeKind::Process), Scope::Process(17));
    }
}
