//! Names of containers, from the state files of their runtimes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use serde_json::Value;

use crate::roots::SysPaths;

/// Digits of a container's id (OCI runtimes use SHA-256).
const ID_DIGITS: usize = 64;
/// Larger state files are not read.
const MAX_STATE_BYTES: u64 = 4 << 20;
/// Annotations of an OCI configuration that hold the names Kubernetes uses: namespace, pod, container
/// (containerd, CRI-O).
const KUBERNETES_KEYS: [[&str; 3]; 2] = [
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

/// A container's id in a component of a group's path: `ID`, `docker-ID.scope`, `libpod-ID.scope`,
/// `cri-containerd-ID.scope`, `crio-ID.scope` and the like.
pub(super) fn container_id(component: &[u8]) -> Option<&str> {
    let name = std::str::from_utf8(component).ok()?;
    let name = name.strip_suffix(".scope").unwrap_or(name);
    let (prefix, id) = name.split_at_checked(name.len().checked_sub(ID_DIGITS)?)?;
    let is_id = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_id && (prefix.is_empty() || prefix.ends_with('-'))).then_some(id)
}

/// The name of a container; `None` where no runtime tells it to this user.
pub(super) fn read_container_name(roots: &SysPaths, id: &str) -> Option<String> {
    let docker = roots
        .var
        .join(format!("lib/docker/containers/{id}/config.v2.json"));
    let podman = "lib/containers/storage/overlay-containers/containers.json";
    let kubernetes = [
        format!("containerd/io.containerd.runtime.v2.task/k8s.io/{id}/config.json"),
        format!("containers/storage/overlay-containers/{id}/userdata/config.json"),
    ];
    let mut kubernetes = kubernetes
        .iter()
        .filter_map(|path| read_state(&roots.run.join(path)));
    let name = read_state(&docker)
        .and_then(|state| Some(state["Name"].as_str()?.trim_start_matches('/').to_owned()))
        .or_else(|| kubernetes.find_map(|state| kubernetes_name(&state)))
        .or_else(|| {
            let list = read_state(&roots.var.join(podman))?;
            let own = list.as_array()?.iter().find(|it| it["id"] == id)?;
            Some(own["names"][0].as_str()?.to_owned())
        });
    name.filter(|name| !name.is_empty())
}

/// `namespace/pod/container`. The container that holds the namespaces of a pod has no name of its own.
fn kubernetes_name(state: &Value) -> Option<String> {
    KUBERNETES_KEYS.iter().find_map(|keys| {
        let names = keys.map(|key| state["annotations"][key].as_str());
        names[1]?;
        Some(names.into_iter().flatten().collect::<Vec<_>>().join("/"))
    })
}

fn read_state(path: &Path) -> Option<Value> {
    let file = File::open(path)
        .ok()
        .filter(|file| file.metadata().is_ok_and(|it| it.is_file()))?;
    let mut text = Vec::new();
    file.take(MAX_STATE_BYTES).read_to_end(&mut text).ok()?;
    serde_json::from_slice(&text).ok()
}
