//! Instances that a killed process left in the kernel, where they go on recording.
//!
//! tracefs need not be mounted where the next process looks, and it is not mounted just to check
//! for leftovers. Therefore each instance has a note below `/run` while it exists.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use super::tracefs::TracefsMount;
use crate::files::state::PrivateDirectory;
use crate::probe::process::stat;
use crate::roots::SysPaths;
use crate::roots::{INITIAL_PID_NAMESPACE, pid_namespace};

/// Prefix of the names of our instances.
const INSTANCE_PREFIX: &str = "diskscope-";
/// Directory of the notes below `/run`: empty files with the instances' names.
const NOTES_DIRECTORY: &str = "diskscope/tracing";

/// Distinguishes instances of one process.
static INSTANCE_COUNT: AtomicU32 = AtomicU32::new(0);

/// The creator of an instance, from its name: `diskscope-PID-START-NAMESPACE-NUMBER`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct InstanceMaker {
    pid: u32,
    /// Start time in ticks since boot: process ids are reused.
    start_ticks: u64,
    /// Inode of its PID namespace; `None` in names of earlier versions.
    namespace: Option<u64>,
}

impl InstanceMaker {
    fn parse(name: &str) -> Option<Self> {
        let words: Option<Vec<u64>> = name
            .strip_prefix(INSTANCE_PREFIX)?
            .split('-')
            .map(|word| word.parse().ok())
            .collect();
        let (pid, start, namespace) = match words?[..] {
            [pid, start, _] => (pid, start, None),
            [pid, start, namespace, _] => (pid, start, Some(namespace)),
            _ => return None,
        };
        Some(Self {
            pid: u32::try_from(pid).ok()?,
            start_ticks: start,
            namespace,
        })
    }

    /// Whether it is in a PID namespace other than this process, where its id means nothing here.
    fn is_foreign(self, roots: &SysPaths) -> bool {
        self.namespace
            .is_some_and(|namespace| pid_namespace(roots, "self") != Some(namespace))
    }

    /// Whether the process has certainly ended.
    fn is_gone(self, roots: &SysPaths) -> bool {
        let own = pid_namespace(roots, "self");
        match self.namespace {
            Some(other) if own != Some(other) => {
                own == Some(INITIAL_PID_NAMESPACE) && is_namespace_empty(roots, other)
            }
            // The process id may have been reused.
            _ => process_start_ticks(roots, self.pid) != Some(self.start_ticks),
        }
    }
}

/// The name of the next instance of this process.
pub(super) fn next_instance_name(roots: &SysPaths) -> String {
    let pid = std::process::id();
    format!(
        "{INSTANCE_PREFIX}{pid}-{}-{}-{}",
        process_start_ticks(roots, pid).unwrap_or(0),
        pid_namespace(roots, "self").unwrap_or(0),
        INSTANCE_COUNT.fetch_add(1, Ordering::Relaxed)
    )
}

/// Writes a note before an instance is created. Without the note, which needs a writable `/run`,
/// the next tracing run still removes what a killed process leaves.
pub(super) fn write_note(roots: &SysPaths, name: &OsStr) {
    let notes = PrivateDirectory::create(&roots.run, Path::new(NOTES_DIRECTORY));
    let _ = notes.and_then(|notes| notes.create_new(name));
}

/// Removes the note of a removed instance.
pub(super) fn remove_note(roots: &SysPaths, name: &OsStr) {
    let notes = PrivateDirectory::open(&roots.run, Path::new(NOTES_DIRECTORY));
    let _ = notes.and_then(|notes| notes.unlink(name));
}

/// Removes the instances of ended processes. tracefs is mounted for this, in a private place, only
/// where such an instance is noted.
pub fn remove_leftovers(roots: &SysPaths) {
    let notes = PrivateDirectory::open(&roots.run, Path::new(NOTES_DIRECTORY)).ok();
    let names = notes.as_ref().and_then(|notes| notes.entry_names().ok());
    let mut gone = names.unwrap_or_default();
    gone.retain(|name| name.to_str().is_some_and(|name| is_leftover(roots, name)));
    let tracefs = match TracefsMount::find_mounted(roots) {
        None if !gone.is_empty() => TracefsMount::open(roots).ok(),
        mounted => mounted,
    };
    let Some(tracefs) = tracefs else {
        return;
    };
    let instances = tracefs.root().join("instances");
    remove_leftovers_from(roots, &instances);
    for name in gone {
        if let (Some(notes), false) = (&notes, instances.join(&name).exists()) {
            // An instance that remains is tried again at the next start.
            let _ = notes.unlink(&name);
        }
    }
}

/// Removes the instances of ended processes. The kernel itself protects those whose buffers are
/// open: so it tells which ones have ended in another PID namespace, of those that have begun to record.
pub(super) fn remove_leftovers_from(roots: &SysPaths, instances: &Path) {
    let Ok(entries) = fs::read_dir(instances) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(maker) = name.to_str().and_then(InstanceMaker::parse) else {
            continue;
        };
        let path = entry.path();
        if maker.is_gone(roots) || (maker.is_foreign(roots) && has_enabled_events(&path)) {
            let _: io::Result<()> = fs::remove_dir(path);
        }
    }
}

/// Whether an instance has enabled events. Its maker opens the buffers before it enables the first one, and
/// keeps them open.
fn has_enabled_events(instance: &Path) -> bool {
    fs::read(instance.join("set_event")).is_ok_and(|events| !events.is_empty())
}

fn is_leftover(roots: &SysPaths, name: &str) -> bool {
    InstanceMaker::parse(name).is_some_and(|maker| maker.is_gone(roots))
}

/// Start time of a process in ticks since boot.
fn process_start_ticks(roots: &SysPaths, pid: u32) -> Option<u64> {
    let text = fs::read(roots.proc.join(pid.to_string()).join("stat")).ok()?;
    let stat = stat::parse_stat(&text)?;
    // A zombie records nothing.
    (!matches!(stat.state, 'Z' | 'X' | 'x')).then_some(stat.start_ticks)
}

/// Whether a PID namespace is empty, as seen from the initial one, which sees all processes. A
/// process that cannot be examined counts as part of it, except process 1, which is in the initial one.
fn is_namespace_empty(roots: &SysPaths, other: u64) -> bool {
    let Ok(entries) = fs::read_dir(&roots.proc) else {
        return false;
    };
    entries
        .flatten()
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.as_encoded_bytes();
            name.iter().all(u8::is_ascii_digit) && name != b"1"
        })
        .all(|entry| match fs::read_link(entry.path().join("ns/pid")) {
            Ok(link) => link.as_os_str() != OsStr::new(&format!("pid:[{other}]")),
            // It has ended in the meantime.
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A machine with this process in a namespace, and another process.
    fn fake_proc(own: u64, other: u64) -> (tempfile::TempDir, SysPaths) {
        let directory = tempfile::tempdir().unwrap();
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
        for (process, inode) in [("self", own), ("7", own), ("8", other)] {
            let process = directory.path().join("proc").join(process);
            fs::create_dir_all(process.join("ns")).unwrap();
            fs::write(process.join("stat"), stat).unwrap();
            symlink(format!("pid:[{inode}]"), process.join("ns/pid")).unwrap();
        }
        let roots = SysPaths::under_root(directory.path());
        (directory, roots)
    }

    #[test]
    fn trace_instance_of_ended_process_is_leftover() {
        let roots = SysPaths::default();
        let pid = std::process::id();
        let start = process_start_ticks(&roots, pid).unwrap();
        assert!(!is_leftover(&roots, &next_instance_name(&roots)));
        assert!(!is_leftover(&roots, &format!("diskscope-{pid}-{start}-0")));
        let later = start + 1;
        assert!(is_leftover(&roots, &format!("diskscope-{pid}-{later}-0")));
        assert!(is_leftover(&roots, "diskscope-4194305-1-0"));
        for other in ["diskscope-mine", "somebody-else", "diskscope-1-2-3-4-5"] {
            assert!(!is_leftover(&roots, other));
        }
    }

    #[test]
    fn trace_instance_of_empty_pid_namespace_is_leftover() {
        let name = |namespace: u64| format!("diskscope-9-1-{namespace}-0");
        let (_directory, roots) = fake_proc(INITIAL_PID_NAMESPACE, 4_026_532_001);
        assert!(
            !is_leftover(&roots, &name(4_026_532_001)),
            "process 8 is in it"
        );
        assert!(is_leftover(&roots, &name(4_026_532_002)));
        assert!(
            is_leftover(&roots, &name(INITIAL_PID_NAMESPACE)),
            "no process 9"
        );
        let running = format!("diskscope-7-4711-{INITIAL_PID_NAMESPACE}-0");
        assert!(!is_leftover(&roots, &running));
    }

    #[test]
    fn trace_instance_of_foreign_namespace_is_kept_outside_initial_one() {
        let (_directory, roots) = fake_proc(4_026_532_003, 4_026_532_001);
        assert!(!is_leftover(&roots, "diskscope-9-1-4026532002-0"));
        assert!(is_leftover(&roots, "diskscope-9-1-4026532003-0"));
    }

    #[test]
    fn instance_note_is_written_and_removed() {
        let (_directory, roots) = fake_proc(INITIAL_PID_NAMESPACE, 1);
        let name = next_instance_name(&roots);
        write_note(&roots, name.as_ref());
        let path = roots.run.join(NOTES_DIRECTORY).join(&name);
        assert!(path.exists());
        remove_note(&roots, name.as_ref());
        assert!(!path.exists());
    }
}
