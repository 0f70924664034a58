//! Units: control groups as people know them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::container::{ContainerId, read_container_name};
use crate::files::safe_text::SafeText;
use crate::roots::SysPaths;

/// More names are not kept: containers come and go.
const MAX_KNOWN: usize = 10_000;

/// Kind of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnitKind {
    /// A service of systemd.
    Service,
    /// A container or a virtual machine.
    Container,
    /// A slice of systemd, without a unit of its own below it.
    Slice,
    /// A login session.
    Session,
    /// Another scope of systemd: processes that it did not start, such as a program of a desktop.
    Scope,
    /// A group that was made by hand or by a program that is not known.
    Group,
}

/// A control group as people know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unit {
    /// Path of its group in the hierarchy, beginning with `/`.
    pub path: SafeText,
    /// What `systemctl` or the container's runtime calls it; the beginning of the id for a container
    /// whose name is not known.
    pub name: SafeText,
    /// What it is.
    pub kind: UnitKind,
}

/// What a path tells: the depth of the unit's own group, its name, and what it is.
struct NamedComponent<'p> {
    kind: UnitKind,
    name: &'p [u8],
    container: Option<ContainerId<'p>>,
}

/// Names of units, by the path of any group in them.
#[derive(Debug, Clone, Default)]
pub(crate) struct UnitNames {
    known: HashMap<PathBuf, Option<Arc<Unit>>>,
}

impl UnitNames {
    /// The unit of a group; `None` for the root group.
    pub(crate) fn unit_of(&mut self, roots: &SysPaths, group: &Path) -> Option<Arc<Unit>> {
        if let Some(known) = self.known.get(group) {
            return known.clone();
        }
        let unit = identify_unit(roots, group).map(Arc::new);
        if self.known.len() >= MAX_KNOWN {
            self.known.clear();
        }
        self.known.insert(group.to_owned(), unit.clone());
        unit
    }
}

/// The innermost unit that contains a group.
fn identify_unit(roots: &SysPaths, group: &Path) -> Option<Unit> {
    let relative = group.strip_prefix("/").unwrap_or(group);
    let own_name = relative.file_name()?;
    let inner_first = relative
        .ancestors()
        .filter_map(|path| Some((path, path.file_name()?.as_bytes())));
    let text = |bytes: &[u8]| SafeText::from_bytes(bytes);
    let path_text = |path: &Path| text(Path::new("/").join(path).as_os_str().as_bytes());
    let is_own = |path: &Path| path == relative;
    for (path, component) in inner_first {
        let parent = path.parent().and_then(Path::file_name).map(OsStr::as_bytes);
        let Some(found) = name_component(component, parent) else {
            continue;
        };
        // A slice contains units; a group in it that is none of them goes by its own path.
        if found.kind == UnitKind::Slice && !is_own(path) {
            break;
        }
        let name = found
            .container
            .and_then(|id| read_container_name(roots, id))
            .map_or_else(|| text(found.name), SafeText::from);
        return Some(Unit {
            path: path_text(path),
            name,
            kind: found.kind,
        });
    }
    let name = match relative.parent() {
        Some(parent) if parent != Path::new("") => path_text(relative),
        _ => text(own_name.as_bytes()),
    };
    Some(Unit {
        path: path_text(relative),
        name,
        kind: UnitKind::Group,
    })
}

/// What one component of a path tells of itself; `parent` is the component before it.
fn name_component<'p>(component: &'p [u8], parent: Option<&[u8]>) -> Option<NamedComponent<'p>> {
    let plain = |kind, name| {
        Some(NamedComponent {
            kind,
            name,
            container: None,
        })
    };
    if let Some(id) = ContainerId::in_component(component) {
        return Some(NamedComponent {
            kind: UnitKind::Container,
            name: id.short(),
            container: Some(id),
        });
    }
    if let Some(name) = component.strip_prefix(b"lxc.payload.") {
        return plain(UnitKind::Container, name);
    }
    if parent == Some(b"lxc") {
        return plain(UnitKind::Container, component);
    }
    if let Some(scope) = component.strip_suffix(b".scope") {
        return match scope.strip_prefix(b"machine-") {
            Some(machine) => plain(UnitKind::Container, machine),
            None if scope.starts_with(b"session-") => plain(UnitKind::Session, component),
            None => plain(UnitKind::Scope, component),
        };
    }
    if component.ends_with(b".service") {
        return plain(UnitKind::Service, component);
    }
    if component.ends_with(b".slice") {
        return plain(UnitKind::Slice, component);
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn identified(roots: &SysPaths, group: &str) -> Option<(UnitKind, String, String)> {
        let unit = UnitNames::default().unit_of(roots, Path::new(group))?;
        Some((unit.kind, unit.name.to_string(), unit.path.to_string()))
    }

    #[test]
    fn units_of_systemd_are_named_by_their_innermost_unit() {
        let directory = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(directory.path());
        let cases = [
            (
                "/system.slice/ssh.service",
                UnitKind::Service,
                "ssh.service",
                "/system.slice/ssh.service",
            ),
            (
                "/system.slice/docker.service/helper/a",
                UnitKind::Service,
                "docker.service",
                "/system.slice/docker.service",
            ),
            (
                "/user.slice/user-1000.slice/session-3.scope",
                UnitKind::Session,
                "session-3.scope",
                "/user.slice/user-1000.slice/session-3.scope",
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope",
                UnitKind::Scope,
                "app-x.scope",
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope",
            ),
            (
                "/system.slice",
                UnitKind::Slice,
                "system.slice",
                "/system.slice",
            ),
            ("/batch/job", UnitKind::Group, "/batch/job", "/batch/job"),
            ("/batch", UnitKind::Group, "batch", "/batch"),
            (
                "/my.slice/handmade",
                UnitKind::Group,
                "/my.slice/handmade",
                "/my.slice/handmade",
            ),
            (
                "/machine.slice/machine-web.scope/libvirt/emulator",
                UnitKind::Container,
                "web",
                "/machine.slice/machine-web.scope",
            ),
            (
                "/lxc.payload.db/system.slice",
                UnitKind::Slice,
                "system.slice",
                "/lxc.payload.db/system.slice",
            ),
            ("/lxc/db/job", UnitKind::Container, "db", "/lxc/db"),
        ];
        for (group, kind, name, path) in cases {
            assert_eq!(
                identified(&roots, group),
                Some((kind, name.to_owned(), path.to_owned())),
                "{group}"
            );
        }
        assert_eq!(identified(&roots, "/"), None);
    }

    #[test]
    fn containers_are_named_by_their_runtime_or_the_beginning_of_their_id() {
        let directory = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(directory.path());
        let id = "37e9fbe9da7d3de3da21779aa058c11737e9fbe9da7d3de3da21779aa058c117";
        let group = format!("/system.slice/docker-{id}.scope");
        let named = |name: &str| Some((UnitKind::Container, name.to_owned(), group.clone()));
        assert_eq!(identified(&roots, &group), named("37e9fbe9da7d"));
        let state = roots.var.join("lib/docker/containers").join(id);
        fs::create_dir_all(&state).unwrap();
        fs::write(
            state.join("config.v2.json"),
            r#"{"ID":"37","Name":"/web-1"}"#,
        )
        .unwrap();
        assert_eq!(identified(&roots, &group), named("web-1"));
    }

    #[test]
    fn hostile_group_name_is_printable() {
        let directory = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(directory.path());
        let (_, name, _) = identified(&roots, "/a\u{1b}]52;c;x\u{7}.service").unwrap();
        assert!(!name.chars().any(char::is_control), "{name:?}");
    }
}
