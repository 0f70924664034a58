//! tracefs, and the instances in it: `instances/diskscope-PID-TIME-NAMESPACE` (kernel Documentation/trace/ftrace.rst,
//! "Instances"). One that a killed process left goes on recording; the next start removes it.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use super::error::TraceError;
use crate::probe::boot_time;
use crate::roots::{SysPaths, pid_namespace};

/// Prefix of the names of our instances.
const INSTANCE_PREFIX: &str = "diskscope-";
/// `f_type` of tracefs (include/uapi/linux/magic.h).
const TRACEFS_MAGIC: u64 = 0x7472_6163;

/// Access to tracefs.
///
/// Where the administrator has not mounted it, it is mounted detached from the tree (fsmount(2),
/// kernel 5.2): no other process sees that mount, and it disappears with the last descriptor,
/// however this process ends.
#[derive(Debug)]
pub(super) struct TracefsMount {
    /// Root directory of tracefs.
    pub(super) root: PathBuf,
    _mount: Option<OwnedFd>,
}

impl TracefsMount {
    /// Finds the mount or creates one.
    ///
    /// # Errors
    ///
    /// When it is not mounted and cannot be.
    pub(super) fn open(roots: &SysPaths) -> Result<Self, TraceError> {
        let below_debugfs = roots.sys.join("kernel/debug/tracing");
        // The last one is that of the first mount namespace: there is one tracefs, and a further mount resets
        // its options for all (kernel fs/super.c, `mount_single`).
        let of_init = roots.proc.join("1/root/sys/kernel/tracing");
        let known = [&roots.tracing, &below_debugfs, &of_init];
        if let Some(root) = known.into_iter().find(|path| is_tracefs(path)) {
            return Ok(Self::at_path(root));
        }
        // A mount reaches the running kernel, which is not the one that a test describes.
        if *roots != SysPaths::default() {
            let source = io::Error::from(io::ErrorKind::NotFound);
            return Err(TraceError::NoTracefs { source });
        }
        let mount = mount_detached().map_err(|error| match error {
            Errno::PERM | Errno::ACCESS => {
                TraceError::refused("mounting", &roots.tracing)(error.into())
            }
            error => TraceError::NoTracefs {
                source: error.into(),
            },
        })?;
        Ok(Self {
            root: roots.proc.join(format!("self/fd/{}", mount.as_raw_fd())),
            _mount: Some(mount),
        })
    }

    /// A mount that is there.
    pub(super) fn at_path(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            _mount: None,
        }
    }
}

/// Whether tracefs is mounted there. Opening with `O_PATH`, and without `O_DIRECTORY`, does not
/// trigger an automount (open(2); kernel fs/namei.c, `follow_automount`).
fn is_tracefs(path: &Path) -> bool {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .and_then(rustix::fs::fstatfs)
        .is_ok_and(|about| about.f_type as u64 == TRACEFS_MAGIC)
}

fn mount_detached() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// An instance; dropping it removes it.
#[derive(Debug)]
pub(super) struct TraceInstance {
    pub(super) path: PathBuf,
    // The path is below the mount, which has to live as long.
    pub(super) _tracefs: TracefsMount,
}

impl TraceInstance {
    /// Creates an instance that is not recording yet, after removing those of processes that have ended.
    ///
    /// # Errors
    ///
    /// When it is not permitted or the kernel has no instances (before 3.10).
    pub(super) fn create(
        roots: &SysPaths,
        tracefs: TracefsMount,
        buffer_kib: u32,
    ) -> Result<Self, TraceError> {
        let instances = tracefs.root.join("instances");
        remove_leftovers_from(roots, &instances);
        let (pid, now) = (std::process::id(), boot_time().as_nanos());
        let namespace = pid_namespace(roots, "self").unwrap_or(0);
        let path = instances.join(format!("{INSTANCE_PREFIX}{pid}-{now}-{namespace}"));
        fs::create_dir(&path).map_err(TraceError::refused("making", &path))?;
        let instance = Self {
            path,
            _tracefs: tracefs,
        };
        instance.write("tracing_on", "0")?;
        instance.write("buffer_size_kb", &buffer_kib.to_string())?;
        // That of the samples; it is consistent between processors.
        instance.write("trace_clock", "boot")?;
        Ok(instance)
    }

    /// Writes to one of its files.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<(), TraceError> {
        let path = self.path.join(name);
        fs::write(&path, text).map_err(TraceError::refused("writing to", &path))
    }
}

impl Drop for TraceInstance {
    fn drop(&mut self) {
        // This removes its events and buffer too. A failure cannot be reported here, and the next
        // start tries again.
        let _ = fs::remove_dir(&self.path);
    }
}

/// Removes the instances of ended processes. Where tracefs is not mounted, it is mounted in a private place only
/// `after_kill` of a process of this run; otherwise the next trace removes them.
pub fn remove_leftovers(roots: &SysPaths, after_kill: bool) {
    // Not below debugfs, where a lookup mounts it.
    if (after_kill || is_tracefs(&roots.tracing))
        && let Ok(tracefs) = TracefsMount::open(roots)
    {
        remove_leftovers_from(roots, &tracefs.root.join("instances"));
    }
}

/// The kernel refuses to remove an instance whose buffers are open. Its maker opens them before it enables the first
/// event, and keeps them open: one without events is removed only where its maker has ended, one with events is tried.
fn remove_leftovers_from(roots: &SysPaths, instances: &Path) {
    let own = pid_namespace(roots, "self").unwrap_or(0).to_string();
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        let Some(words) = name.strip_prefix(INSTANCE_PREFIX) else {
            continue;
        };
        let words: Vec<&str> = words.split('-').collect();
        let [pid, _, namespace] = words[..] else {
            continue;
        };
        // Elsewhere the process id means nothing here.
        let has_ended = namespace == own && !roots.proc.join(pid).exists();
        if has_ended || fs::read(path.join("set_event")).is_ok_and(|it| !it.is_empty()) {
            // One that remains is tried again at the next start.
            let _ = fs::remove_dir(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn instances_of_ended_makers_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(directory.path());
        fs::create_dir_all(roots.proc.join("self/ns")).unwrap();
        fs::create_dir_all(roots.proc.join("7")).unwrap();
        symlink("pid:[4026531836]", roots.proc.join("self/ns/pid")).unwrap();
        let instances = directory.path().join("instances");
        let left = [
            ("diskscope-9-1-4026531836", false),
            ("diskscope-7-1-4026531836", true),
            ("diskscope-9-1-5", true),
            ("diskscope-mine", true),
            ("mine", true),
        ];
        for (name, _) in left {
            fs::create_dir_all(instances.join(name)).unwrap();
        }
        remove_leftovers_from(&roots, &instances);
        for (name, is_left) in left {
            assert_eq!(instances.join(name).exists(), is_left, "{name}");
        }
    }
}
