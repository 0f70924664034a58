use std::path::Path;

use super::*;
use crate::probe::control_groups::unit::UnitKind;

const V2_MOUNT: &str = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const V1_MOUNT: &str = "31 23 0:27 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n";
const PRESSURE: &str = "some avg10=12.50 avg60=0.00 avg300=0.00 total=77\n\
                        full avg10=1.25 avg60=0.00 avg300=0.00 total=5\n";

fn membership(files: &[(&str, &str)]) -> Membership {
    let (_root, roots) = SysPaths::with_files(files);
    IoHierarchies::find(&roots).membership(&roots, 7)
}

fn read(files: &[(&str, &str)]) -> ControlGroupsSample {
    let (_root, roots) = SysPaths::with_files(files);
    let hierarchies = IoHierarchies::find(&roots);
    let mut sample = read_control_groups(&roots, &hierarchies, &mut UnitNames::default());
    let path = |group: &ControlGroupSample| group.unit.path.to_string();
    sample.groups.sort_by_key(path);
    sample
}

#[test]
fn strictest_io_limit_of_all_groups_of_a_process_applies() {
    let found = membership(&[
        ("proc/self/mountinfo", V2_MOUNT),
        ("proc/7/cgroup", "0::/backup.slice/copy.service\n"),
        (
            "sys/fs/cgroup/backup.slice/io.max",
            "8:0 rbps=2000000 wbps=max riops=max wiops=120\nnonsense rbps=1\n",
        ),
        (
            "sys/fs/cgroup/backup.slice/copy.service/io.max",
            "8:0 rbps=3000000 wbps=1000 riops=max wiops=max\n259:0 rbps=5 wbps=max\n",
        ),
    ]);
    let expected = [
        IoLimit {
            device: (8, 0),
            read_bytes_per_s: Some(2_000_000),
            write_bytes_per_s: Some(1000),
            read_ios_per_s: None,
            write_ios_per_s: Some(120),
        },
        IoLimit {
            device: (259, 0),
            read_bytes_per_s: Some(5),
            ..IoLimit::default()
        },
    ];
    assert_eq!(found.limits, expected);
    let group = found.group.as_deref();
    assert_eq!(group, Some(Path::new("/backup.slice/copy.service")));
    assert_eq!(
        membership(&[("proc/self/mountinfo", V2_MOUNT)]),
        Membership::default()
    );
}

#[test]
fn bytes_of_version_1_are_limited_and_counted() {
    let files = [
        ("proc/self/mountinfo", V1_MOUNT),
        (
            "proc/7/cgroup",
            "7:blkio,cpu:/slow\n1:cpuacct:/other\n0::/\n",
        ),
        (
            "sys/fs/cgroup/blkio/slow/blkio.throttle.read_bps_device",
            "254:0 1048576\n",
        ),
        (
            "sys/fs/cgroup/blkio/slow/blkio.throttle.io_service_bytes_recursive",
            "8:0 Read 7\n8:0 Write 9\n8:0 Sync 3\nTotal 16\n7:0 Read 2\n7:1 Read\n",
        ),
        (
            "sys/fs/cgroup/blkio/slow/blkio.throttle.io_serviced_recursive",
            "8:0 Read 1\n7:0 Write 4\n",
        ),
    ];
    let limit = IoLimit {
        device: (254, 0),
        read_bytes_per_s: Some(1 << 20),
        ..IoLimit::default()
    };
    let found = membership(&files);
    assert_eq!(
        (found.limits, found.group),
        (vec![limit], Some("/slow".into()))
    );
    let sample = read(&files);
    assert_eq!(sample.accounting, IoAccounting::V1);
    let io = |device, [read_bytes, written_bytes, read_ios, write_ios]: [u64; 4]| DeviceIo {
        device,
        read_bytes,
        written_bytes,
        read_ios,
        write_ios,
    };
    let expected = [
        io((8, 0), [7, 9, 1, 0]),
        io((7, 0), [2, 0, 0, 4]),
        io((7, 1), [0; 4]),
    ];
    assert_eq!(sample.groups[0].io.as_deref(), Some(&expected[..]));
    assert_eq!(sample.groups[0].limits, [limit]);
}

#[test]
fn groups_of_version_2_have_counters_pressure_and_limits() {
    const SERVICE: &str = "sys/fs/cgroup/system.slice/db.service/";
    let file = |name: &str| format!("{SERVICE}{name}");
    let sample = read(&[
        ("proc/self/mountinfo", &format!("{V1_MOUNT}{V2_MOUNT}")),
        ("sys/fs/cgroup/cgroup.controllers", "cpu io memory\n"),
        (
            &file("io.stat"),
            "8:0 rbytes=5 wbytes=6 rios=1 wios=2 dbytes=3\n7:0 \n8:1 rbytes=x\nnonsense rbytes=1\n",
        ),
        (&file("io.pressure"), PRESSURE),
        (
            &file("io.max"),
            "8:0 rbps=100 wbps=max riops=max wiops=max\n",
        ),
        (&file("inner/io.stat"), ""),
    ]);
    assert_eq!(sample.accounting, IoAccounting::V2);
    let units = sample
        .groups
        .iter()
        .map(|it| (it.unit.name.as_str(), it.is_unit, it.io.is_some()));
    let expected = [
        ("system.slice", true, false),
        ("db.service", true, true),
        ("db.service", false, true),
    ];
    assert_eq!(units.collect::<Vec<_>>(), expected);
    let service = sample
        .groups
        .iter()
        .find(|it| it.is_unit && it.io.is_some())
        .unwrap();
    let io = service.io.as_ref().unwrap();
    let expected = DeviceIo {
        device: (8, 0),
        read_bytes: 5,
        written_bytes: 6,
        read_ios: 1,
        write_ios: 2,
    };
    assert_eq!(io[0], expected);
    assert_eq!((io.len(), io[1].device), (2, (7, 0)));
    assert_eq!(service.limits[0].read_bytes_per_s, Some(100));
    assert_eq!(service.pressure.unwrap().some.average_10_s, 12.5);
    assert_eq!(
        read(&[("proc/self/mountinfo", "")]),
        ControlGroupsSample::default()
    );
}

fn identified(roots: &SysPaths, group: &str) -> Option<(UnitKind, String, String)> {
    let unit = UnitNames::default().unit_of(roots, Path::new(group))?;
    Some((unit.kind, unit.name.to_string(), unit.path.to_string()))
}

#[test]
fn groups_are_named_by_their_innermost_unit() {
    let (_root, roots) = SysPaths::with_files(&[]);
    // An empty name or path: the same as the last component, or as the group.
    let cases = [
        (
            "/system.slice/ssh.service",
            UnitKind::Service,
            "ssh.service",
            "",
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
            "",
        ),
        (
            "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope",
            UnitKind::Scope,
            "app-x.scope",
            "",
        ),
        ("/system.slice", UnitKind::Slice, "system.slice", ""),
        ("/batch/job", UnitKind::Group, "/batch/job", ""),
        ("/batch", UnitKind::Group, "batch", ""),
        (
            "/my.slice/handmade",
            UnitKind::Group,
            "/my.slice/handmade",
            "",
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
            "",
        ),
        ("/lxc/db/job", UnitKind::Container, "db", "/lxc/db"),
    ];
    for (group, kind, name, path) in cases {
        let path = if path.is_empty() { group } else { path };
        let expected = (kind, name.to_owned(), path.to_owned());
        assert_eq!(identified(&roots, group), Some(expected), "{group}");
    }
    assert_eq!(identified(&roots, "/"), None);
    let (_, name, _) = identified(&roots, "/a\u{1b}]52;c;x\u{7}.service").unwrap();
    assert!(!name.chars().any(char::is_control), "{name:?}");
}

#[test]
fn containers_are_named_by_their_runtime_or_the_beginning_of_their_id() {
    const ID: &str = "aaaaaaaaaaaabbbbbbbbbbbbccccccccccccddddddddddddeeeeeeeeeeeeffff";
    let group = format!("/system.slice/docker-{ID}.scope");
    let overlay = "containers/storage/overlay-containers";
    let pod = r#"{"annotations":{"io.kubernetes.pod.namespace":"shop","io.kubernetes.pod.name":"db-0",
        "io.kubernetes.container.name":"postgres"}}"#;
    let cri = pod.replace("pod.namespace", "cri.sandbox-namespace");
    let cri = cri
        .replace("pod.name", "cri.sandbox-name")
        .replace("kubernetes.container.", "kubernetes.cri.container-");
    let states = [
        (
            format!("var/lib/docker/containers/{ID}/config.v2.json"),
            r#"{"Name":"/web-1"}"#.to_owned(),
            "web-1",
        ),
        (
            format!("run/containerd/io.containerd.runtime.v2.task/k8s.io/{ID}/config.json"),
            cri,
            "shop/db-0/postgres",
        ),
        (
            format!("run/{overlay}/{ID}/userdata/config.json"),
            pod.to_owned(),
            "shop/db-0/postgres",
        ),
        (
            format!("var/lib/{overlay}/containers.json"),
            format!(r#"[{{"id":"0","names":["x"]}},{{"id":"{ID}","names":["backup"]}}]"#),
            "backup",
        ),
        ("var/lib/none".to_owned(), String::new(), "aaaaaaaaaaaa"),
    ];
    for (path, content, name) in states {
        let (_root, roots) = SysPaths::with_files(&[(&path, &content)]);
        let expected = (UnitKind::Container, name.to_owned(), group.clone());
        assert_eq!(identified(&roots, &group), Some(expected), "{path}");
        let (_root, roots) = SysPaths::with_files(&[(&path, "not JSON")]);
        assert_eq!(
            identified(&roots, &group).unwrap().1,
            "aaaaaaaaaaaa",
            "{path}"
        );
    }
    let (_root, roots) = SysPaths::with_files(&[]);
    let is_container =
        |name: &str| identified(&roots, &format!("/{name}")).unwrap().0 == UnitKind::Container;
    assert!(is_container(ID) && is_container(&format!("libpod-{ID}")));
    let names = [&ID[1..], &format!("x{ID}"), &format!("{}g", &ID[1..])];
    assert!(!names.into_iter().any(is_container));
}
