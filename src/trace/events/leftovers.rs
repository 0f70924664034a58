//! Instances that a killed process left in the kernel, where they go on recording.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::tracefs::TracefsMount;
use crate::probe::process::stat;
use crate::roots::{SysPaths, pid_namespace};

/// Prefix of the names of our instances.
const INSTANCE_PREFIX: &str = "diskscope-";

/// Distinguishes instances of one process.
static INSTANCE_COUNT: AtomicU32 = AtomicU32::new(0);

/// The name of the next instance of this process: `diskscope-PID-START-NAMESPACE-NUMBER`. START is its start
/// time in ticks since boot, because process ids are reused, NAMESPACE the inode of its PID namespace.
pub(super) fn next_instance_name(roots: &SysPaths) -> String {
    let pid = std::process::id();
    format!(
        "{INSTANCE_PREFIX}{pid}-{}-{}-{}",
        process_start_ticks(roots, pid).unwrap_or(0),
        pid_namespace(roots, "self").unwrap_or(0),
        INSTANCE_COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// What is known about the process that made an instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Maker {
    /// It is running.
    Running,
    /// It has ended.
    Gone,
    /// It is in another PID namespace, where its id means nothing here.
    Foreign,
}

/// The maker of an instance, from its name; `None` where it is no instance of ours.
fn maker_of(roots: &SysPaths, name: &OsStr) -> Option<Maker> {
    let words = name.to_str()?.strip_prefix(INSTANCE_PREFIX)?.split('-');
    let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let [pid, start, namespace, _] = numbers[..] else {
        return None;
    };
    if pid_namespace(roots, "self") != Some(namespace) {
        return Some(Maker::Foreign);
    }
    let is_running = process_start_ticks(roots, u32::try_from(pid).ok()?) == Some(start);
    Some(if is_running {
        Maker::Running
    } else {
        Maker::Gone
    })
}

/// Removes the instances of ended processes. Where tracefs is not mounted, it is mounted in a private place only
/// `after_kill` of a process of this run; otherwise the next trace removes them.
pub fn remove_leftovers(roots: &SysPaths, after_kill: bool) {
    let tracefs = if after_kill {
        TracefsMount::open(roots).ok()
    } else {
        TracefsMount::find_mounted(roots)
    };
    if let Some(tracefs) = tracefs {
        remove_leftovers_from(roots, &tracefs.root().join("instances"));
    }
}

/// Removes the instances of ended processes. Of those in other PID namespaces the kernel tells which ones have
/// ended: it refuses to remove an instance whose buffers are open. Its maker opens them before it enables the
/// first event, and keeps them open.
pub(super) fn remove_leftovers_from(roots: &SysPaths, instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let path = entry.path();
        let has_events = || fs::read(path.join("set_event")).is_ok_and(|it| !it.is_empty());
        let is_candidate = match maker_of(roots, &entry.file_name()) {
            Some(Maker::Gone) => true,
            Some(Maker::Foreign) => has_events(),
            Some(Maker::Running) | None => false,
        };
        if is_candidate {
            // One that remains is tried again at the next start.
            let _ = fs::remove_dir(path);
        }
    }
}

/// Start time of a process in ticks since boot.
fn process_start_ticks(roots: &SysPaths, pid: u32) -> Option<u64> {
    let text = fs::read(roots.proc.join(pid.to_string()).join("stat")).ok()?;
    let stat = stat::parse_stat(&text)?;
    // A zombie records nothing.
    (!matches!(stat.state, 'Z' | 'X' | 'x')).then_some(stat.start_ticks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const OWN: u64 = 4_026_531_836;

    /// A machine with this process, which is number 7, in a namespace.
    fn fake_proc() -> (tempfile::TempDir, SysPaths) {
        let directory = tempfile::tempdir().unwrap();
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        for process in ["self", "7"] {
            let process = directory.path().join("proc").join(process);
            fs::create_dir_all(process.join("ns")).unwrap();
            fs::write(process.join("stat"), stat).unwrap();
            symlink(format!("pid:[{OWN}]"), process.join("ns/pid")).unwrap();
        }
        let roots = SysPaths::under_root(directory.path());
        (directory, roots)
    }

    #[test]
    fn maker_of_instance_is_known_from_its_name() {
        let (_directory, roots) = fake_proc();
        for (name, maker) in [
            (format!("diskscope-7-4711-{OWN}-0"), Some(Maker::Running)),
            (format!("diskscope-7-4712-{OWN}-0"), Some(Maker::Gone)),
            (format!("diskscope-9-1-{OWN}-3"), Some(Maker::Gone)),
            ("diskscope-7-4711-1-0".to_owned(), Some(Maker::Foreign)),
            ("diskscope-mine".to_owned(), None),
            ("somebody-else".to_owned(), None),
            ("diskscope-1-2-3-4-5".to_owned(), None),
        ] {
            assert_eq!(maker_of(&roots, name.as_ref()), maker, "{name}");
        }
        let own = next_instance_name(&SysPaths::default());
        assert_eq!(
            maker_of(&SysPaths::default(), own.as_ref()),
            Some(Maker::Running)
        );
    }

    #[test]
    fn instances_of_ended_makers_are_removed_and_of_foreign_ones_those_with_events() {
        let (directory, roots) = fake_proc();
        let instances = directory.path().join("instances");
        let [gone, running, foreign] = [
            format!("diskscope-9-1-{OWN}-0"),
            format!("diskscope-7-4711-{OWN}-0"),
            "diskscope-9-1-5-0".to_owned(),
        ];
        for name in [&gone, &running, &foreign, &"mine".to_owned()] {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        remove_leftovers_from(&roots, &instances);
        let is_left = |name: &str| instances.join(name).exists();
        assert!(!is_left(&gone) && is_left(&running) && is_left(&foreign) && is_left("mine"));
    }
}
