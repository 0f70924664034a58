//! Names of containers, from the state files of their runtimes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::roots::SysPaths;

/// Digits of a container's id (OCI runtimes use SHA-256).
const ID_DIGITS: usize = 64;
/// Digits that the runtimes print.
const SHORT_DIGITS: usize = 12;
/// Larger state files are not read.
const MAX_STATE_BYTES: u64 = 4 << 20;

/// A container's id: 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ContainerId<'p>(&'p str);

impl<'p> ContainerId<'p> {
    /// The id in a component of a group's path: `ID`, `docker-ID.scope`, `libpod-ID.scope`,
    /// `cri-containerd-ID.scope`, `crio-ID.scope` and the like.
    pub(super) fn in_component(component: &'p [u8]) -> Option<Self> {
        let name = std::str::from_utf8(component).ok()?;
        let name = name.strip_suffix(".scope").unwrap_or(name);
        let id = name.get(name.len().checked_sub(ID_DIGITS)?..)?;
        let prefix = &name[..name.len() - ID_DIGITS];
        let is_id = id.bytes().all(|byte| byte.is_ascii_hexdigit());
        (is_id && (prefix.is_empty() || prefix.ends_with('-'))).then_some(Self(id))
    }

    /// The beginning of the id, as the runtimes print it.
    pub(super) fn short(self) -> &'p [u8] {
        &self.0.as_bytes()[..SHORT_DIGITS]
    }
}

/// The name of a container; `None` where no runtime tells it to this user.
pub(super) fn read_container_name(roots: &SysPaths, id: ContainerId<'_>) -> Option<String> {
    let ContainerId(id) = id;
    docker_name(roots, id)
        .or_else(|| kubernetes_name(roots, id))
        .or_else(|| podman_name(roots, id))
        .filter(|name| !name.is_empty())
}

/// Docker: `containers/ID/config.v2.json`.
fn docker_name(roots: &SysPaths, id: &str) -> Option<String> {
    let directory = roots.var.join("lib/docker/containers").join(id);
    docker_state_name(&read_state(&directory.join("config.v2.json"))?)
}

/// The name in a state file of docker, where it begins with a slash.
#[must_use]
pub fn docker_state_name(text: &[u8]) -> Option<String> {
    let state = parse_json(text)?;
    let name = state["Name"].as_str()?;
    Some(name.trim_start_matches('/').to_owned())
}

/// containerd and CRI-O keep the OCI configuration.
fn kubernetes_name(roots: &SysPaths, id: &str) -> Option<String> {
    const CONTAINERD: &str = "containerd/io.containerd.runtime.v2.task/k8s.io";
    const CRIO: &str = "containers/storage/overlay-containers";
    let paths = [
        roots.run.join(CONTAINERD).join(id).join("config.json"),
        roots.run.join(CRIO).join(id).join("userdata/config.json"),
    ];
    kubernetes_state_name(&paths.iter().find_map(|path| read_state(path))?)
}

/// The name in an OCI configuration, of which the annotations hold the names that Kubernetes uses:
/// `namespace/pod/container`.
#[must_use]
pub fn kubernetes_state_name(text: &[u8]) -> Option<String> {
    const KEYS: [[&str; 3]; 2] = [
        [
            "io.kubernetes.cri.sandbox-namespace",
            "io.kubernetes.cri.sandbox-name",
            "io.kubernetes.cri.container-name",
        ],
        [
            "io.kubernetes.pod.namespace",
            "io.kubernetes.pod.name",
            "io.kubernetes.container.name",
        ],
    ];
    let state = parse_json(text)?;
    KEYS.iter().find_map(|keys| {
        let names = keys.map(|key| state["annotations"][key].as_str());
        // The container that holds the namespaces of a pod has no name of its own.
        names[1]?;
        Some(names.into_iter().flatten().collect::<Vec<_>>().join("/"))
    })
}

/// Podman: a list of all containers.
fn podman_name(roots: &SysPaths, id: &str) -> Option<String> {
    let list = roots
        .var
        .join("lib/containers/storage/overlay-containers/containers.json");
    podman_list_name(&read_state(&list)?, id)
}

/// The name of a container in the list of podman.
#[must_use]
pub fn podman_list_name(text: &[u8], id: &str) -> Option<String> {
    let containers = parse_json(text)?;
    let mut containers = containers.as_array()?.iter();
    let own = containers.find(|container| container["id"] == id)?;
    Some(own["names"][0].as_str()?.to_owned())
}

fn read_state(path: &Path) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(MAX_STATE_BYTES).read_to_end(&mut text).ok()?;
    Some(text)
}

fn parse_json(text: &[u8]) -> Option<Value> {
    serde_json::from_slice(text).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;

    const ID: &str = "aaaaaaaaaaaabbbbbbbbbbbbccccccccccccddddddddddddeeeeeeeeeeeeffff";

    #[test]
    fn container_id_is_found_in_the_names_of_all_runtimes() {
        for name in [
            ID.to_owned(),
            format!("docker-{ID}.scope"),
            format!("cri-containerd-{ID}.scope"),
            format!("libpod-{ID}"),
        ] {
            let id = ContainerId::in_component(name.as_bytes()).expect("an id");
            assert_eq!(id.short(), b"aaaaaaaaaaaa", "{name}");
        }
        for name in [
            "docker.service",
            &ID[1..],
            &format!("x{ID}"),
            &format!("{}g", &ID[1..]),
        ] {
            assert_eq!(ContainerId::in_component(name.as_bytes()), None, "{name}");
        }
    }

    #[test]
    fn container_name_comes_from_state_of_its_runtime() {
        let state_files = [
            (
                format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json"),
                r#"{"annotations":{"io.kubernetes.cri.sandbox-namespace":"shop",
                    "io.kubernetes.cri.sandbox-name":"db-0","io.kubernetes.cri.container-name":"postgres"}}"#
                    .to_owned(),
                "shop/db-0/postgres",
            ),
            (
                "var/lib/containers/storage/overlay-containers/containers.json".to_owned(),
                format!(r#"[{{"id":"0","names":["x"]}},{{"id":"{ID}","names":["backup"]}}]"#),
                "backup",
            ),
        ];
        for (path, content, name) in state_files {
            let directory = tempfile::tempdir().unwrap();
            let roots = SysPaths::under_root(directory.path());
            let id = ContainerId(ID);
            assert_eq!(read_container_name(&roots, id), None);
            let path: PathBuf = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "not JSON").unwrap();
            assert_eq!(read_container_name(&roots, id), None);
            fs::write(&path, content).unwrap();
            assert_eq!(read_container_name(&roots, id).as_deref(), Some(name));
        }
    }
}
