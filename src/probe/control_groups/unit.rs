//! Units: control groups as people know them.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::container::{container_id, read_container_name};
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
    let text = |path: &Path| SafeText::from_bytes(path.as_os_str().as_bytes());
    let absolute = |path: &Path| text(&Path::new("/").join(path));
    for path in relative.ancestors() {
        let Some(component) = path.file_name().map(OsStr::as_bytes) else {
            continue;
        };
        let parent = path.parent().and_then(Path::file_name).map(OsStr::as_bytes);
        let Some((kind, name)) = name_component(roots, component, parent) else {
            continue;
        };
        // A slice contains units; a group in it that is none of them goes by its own path.
        if kind == UnitKind::Slice && path != relative {
            break;
        }
        return Some(Unit {
            path: absolute(path),
            name,
            kind,
        });
    }
    let is_top = relative.parent() == Some(Path::new(""));
    let path = absolute(relative);
    relative.file_name().map(|_| Unit {
        name: if is_top { text(relative) } else { path.clone() },
        path,
        kind: UnitKind::Group,
    })
}

/// What one component of a path is, and its name; `parent` is the component before it.
fn name_component(
    roots: &SysPaths,
    component: &[u8],
    parent: Option<&[u8]>,
) -> Option<(UnitKind, SafeText)> {
    if let Some(id) = container_id(component) {
        let name = read_container_name(roots, id);
        // The runtimes print the first 12 digits.
        let name = name.map_or_else(|| SafeText::from(&id[..12]), SafeText::from);
        return Some((UnitKind::Container, name));
    }
    let lxc = component
        .strip_prefix(b"lxc.payload.")
        .or((parent == Some(b"lxc")).then_some(component));
    let machine = component
        .strip_prefix(b"machine-")
        .and_then(|name| name.strip_suffix(b".scope"));
    let (kind, name) = match lxc.or(machine) {
        Some(name) => (UnitKind::Container, name),
        None if component.ends_with(b".service") => (UnitKind::Service, component),
        None if component.ends_with(b".slice") => (UnitKind::Slice, component),
        None if !component.ends_with(b".scope") => return None,
        None if component.starts_with(b"session-") => (UnitKind::Session, component),
        None => (UnitKind::Scope, component),
    };
    Some((kind, SafeText::from_bytes(name)))
}
