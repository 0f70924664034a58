//! View of a control group.

use serde::{Deserialize, Serialize};

use crate::files::safe_text::SafeText;
use crate::probe::sample::UnitKind;

/// A service, container, session or other control group over the interval.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitView {
    /// Path of its group, beginning with `/`.
    pub path: SafeText,
    /// What `systemctl` or the container's runtime calls it.
    pub name: SafeText,
    /// What it is.
    pub kind: UnitKind,
    /// Bytes read from drives per second, like all rates with the groups inside of it. `None` for
    /// the first sample, and where the kernel does not count: the controller `io` is not enabled.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written to drives per second. With version 1 of control groups without buffered
    /// writes.
    pub write_bytes_per_s: Option<f64>,
    /// Reads per second.
    pub read_ios_per_s: Option<f64>,
    /// Writes per second.
    pub write_ios_per_s: Option<f64>,
    /// Fraction of the interval (0 to 1) in which at least one of its tasks waited for
    /// I/O; `None` without PSI.
    pub pressure_some: Option<f64>,
    /// Fraction of the interval (0 to 1) in which all of its tasks waited for I/O.
    pub pressure_full: Option<f64>,
    /// Its limits; empty without limits.
    #[serde(deserialize_with = "crate::files::bounded::bounded_list::<_, _, 10_000>")]
    pub limits: Vec<UnitLimit>,
}

impl UnitView {
    /// Whether `systemctl` of the system knows it by this name: its group is in nothing but slices of the
    /// system's manager. A group inside another service or scope, or inside a group that is no slice,
    /// belongs to a user's manager, a container (LXC, Docker without systemd) or whoever made it, and can
    /// have the name of a unit of the system.
    #[must_use]
    pub fn belongs_to_system_manager(&self) -> bool {
        let is_unit = self.name.ends_with(".service") || self.name.ends_with(".scope");
        let around = self.path.strip_suffix(self.name.as_str());
        is_unit && around.is_some_and(is_path_of_slices)
    }

    /// The highest use of its limits: 1 at the limit. `None` without limits or rates.
    #[must_use]
    pub fn limit_usage(&self) -> Option<f64> {
        let usages = self.limits.iter().filter_map(|limit| limit.usage);
        usages.reduce(f64::max)
    }

    /// Bytes per second in both directions; 0 where they are not counted.
    #[must_use]
    pub fn total_bytes_per_s(&self) -> f64 {
        self.read_bytes_per_s.unwrap_or(0.0) + self.write_bytes_per_s.unwrap_or(0.0)
    }
}

/// Whether a path, such as `/system.slice/system-getty.slice/`, contains slices only, and each where
/// systemd makes it: the name of a slice begins with that of the slice around it (systemd.slice(5)).
fn is_path_of_slices(path: &str) -> bool {
    let Some(slices) = path.strip_prefix('/') else {
        return false;
    };
    let mut prefix = String::new();
    slices.split_terminator('/').all(|slice| {
        let stem = slice.strip_suffix(".slice");
        let own = stem.and_then(|stem| stem.strip_prefix(&prefix));
        let is_inside = own.is_some_and(|own| !own.is_empty() && !own.contains('-'));
        prefix = format!("{}-", stem.unwrap_or_default());
        is_inside
    })
}

/// I/O limits of a unit on one device; `None` is unlimited.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UnitLimit {
    /// Name of the device, or its number where it has none.
    pub device: SafeText,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<u64>,
    /// Reads per second.
    pub read_ios_per_s: Option<u64>,
    /// Writes per second.
    pub write_ios_per_s: Option<u64>,
    /// Highest rate on the device as a fraction of its limit: 1 at the limit. `None` without rates.
    pub usage: Option<f64>,
}

#[cfg(test)]
impl UnitView {
    /// A service without I/O of its own.
    pub(crate) fn without_io(path: &str, name: &str) -> Self {
        Self {
            path: path.into(),
            name: name.into(),
            kind: UnitKind::Service,
            read_bytes_per_s: None,
            write_bytes_per_s: None,
            read_ios_per_s: None,
            write_ios_per_s: None,
            pressure_some: None,
            pressure_full: None,
            limits: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_of_system(path: &str, name: &str) -> bool {
        UnitView::without_io(path, name).belongs_to_system_manager()
    }

    #[test]
    fn unit_in_slices_only_belongs_to_the_system_manager() {
        for (path, name) in [
            ("/system.slice/ssh.service", "ssh.service"),
            ("/init.scope", "init.scope"),
            (
                "/user.slice/user-1000.slice/session-3.scope",
                "session-3.scope",
            ),
            (
                "/system.slice/system-getty.slice/getty@tty1.service",
                "getty@tty1.service",
            ),
            ("/machine.slice/machine-db.scope", "machine-db.scope"),
            (
                "/a.slice/a-b.slice/a-b-c\\x2dd.slice/x\\x2dy.service",
                "x\\x2dy.service",
            ),
        ] {
            assert!(is_of_system(path, name), "{path}");
        }
    }

    #[test]
    fn unit_of_another_manager_does_not_belong_to_the_system_manager() {
        let id = "3f4a1c9b27d85e60a1b2c3d4e5f60718293a4b5c6d7e8f900112233445566778";
        for (path, name) in [
            (
                "/lxc/101/ns/system.slice/postgresql.service",
                "postgresql.service",
            ),
            ("/lxc.payload.db/system.slice/ssh.service", "ssh.service"),
            ("/lxc/101/ns/init.scope", "init.scope"),
            (
                &*format!("/docker/{id}/system.slice/cron.service"),
                "cron.service",
            ),
            (
                &*format!("/system.slice/docker-{id}.scope/system.slice/cron.service"),
                "cron.service",
            ),
            (
                &*format!("/system.slice/{id}/system.slice/cron.service"),
                "cron.service",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/a.service",
                "a.service",
            ),
            ("/system.slice/system.slice/cron.service", "cron.service"),
            ("/a-b.slice/cron.service", "cron.service"),
            ("/-.slice/cron.service", "cron.service"),
            ("/../system.slice/cron.service", "cron.service"),
            ("//cron.service", "cron.service"),
            ("/system.slice/xcron.service", "cron.service"),
            ("cron.service", "cron.service"),
            ("/system.slice", "system.slice"),
            ("/machine.slice/machine-db.scope", "db"),
        ] {
            assert!(!is_of_system(path, name), "{path}");
        }
    }
}
