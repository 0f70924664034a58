//! Mounts of this mount namespace and of all others that may be examined.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::drive::guard::conflicts::use_conflict::{UnresolvedUse, UseConflict};
use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::list_directory;
use crate::drive::io_error::is_gone;
use crate::drive::medium::FileId;
use crate::drive::mounts;
use crate::drive::mounts::MountEntry;
use crate::foreign_tree::ForeignTree;
use crate::roots::SysPaths;

/// A mount and its mount namespace.
#[derive(Debug)]
pub(super) struct PlacedMount {
    /// A process of its mount namespace; `None` for the namespace of this program.
    pub process: Option<u32>,
    /// The mount.
    pub mount: MountEntry,
}

impl PlacedMount {
    /// The conflict: a device or file is mounted there.
    pub(super) fn to_conflict(&self, device: &str) -> UseConflict {
        let (device, at) = (device.to_owned(), sanitized(&self.mount.mount_point));
        match self.process {
            None => UseConflict::Mounted { device, at },
            Some(process) => UseConflict::MountedInOtherNamespace {
                device,
                at,
                process,
            },
        }
    }

    /// Converts a path of its namespace to one that this program can open.
    pub(super) fn reachable_path(&self, roots: &SysPaths, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let inner = path.strip_prefix("/").ok()?;
        Some(match self.process {
            None => path.to_owned(),
            Some(process) => roots.proc.join(format!("{process}/root")).join(inner),
        })
    }

    /// The tree of files of its namespace.
    fn tree(&self, roots: &SysPaths) -> ForeignTree {
        match self
            .process
            .map(|process| roots.proc.join(process.to_string()))
        {
            None => ForeignTree::own(),
            Some(process) => ForeignTree::with_root(process.join("root"), &process),
        }
    }

    /// The file that it is mounted from, or an unresolved use if that is unknown; `None` for a file
    /// system that is not in a file.
    pub(super) fn mount_source(
        &self,
        roots: &SysPaths,
        needs_device: &[String],
    ) -> Option<MountSource> {
        let mount = &self.mount;
        if mount.source_number.is_some() {
            return None;
        }
        // Only a file system in a file has no block device number (erofs since 6.12). btrfs never
        // has one, and an erofs with a domain is fetched over the network.
        let in_file = mount.device_id.0 == 0
            && needs_device.contains(&mount.file_system)
            && mount.file_system != "btrfs"
            && !mount
                .options
                .iter()
                .any(|option| option.starts_with("fsid="));
        // The path may name another file by now: it can prove a use, but not exclude one.
        let question = in_file.then(|| UnresolvedUse::MountSource {
            at: sanitized(&mount.mount_point),
            source: sanitized(&mount.source),
        });
        let file = self.reachable_path(roots, &mount.source).and_then(|path| {
            let id = file_at(&self.tree(roots), Path::new(&mount.source))?;
            Some((path, id))
        });
        (question.is_some() || file.is_some()).then_some(MountSource {
            file,
            unresolved: question,
        })
    }
}

/// The regular file that an absolute path leads to without mounting anything.
pub(super) fn file_at(tree: &ForeignTree, path: &Path) -> Option<FileId> {
    let found = tree.find(path).ok()?;
    let status = found.status();
    let ((major, minor), inode) = status.identity();
    let id = FileId::Inode(rustix::fs::makedev(major, minor), inode);
    status.is_regular().then_some(id)
}

/// The source of a file system in a file.
#[derive(Debug)]
pub(super) struct MountSource {
    /// The file at the path in the mount table.
    pub file: Option<(PathBuf, FileId)>,
    /// Set if it may be any other file.
    pub unresolved: Option<UnresolvedUse>,
}

/// Maximum number of bytes read from the tables of other namespaces. A larger total is likely an
/// attempt to keep this program busy. The table of a typical machine has 10 kB.
const MAX_TABLE_BYTES: u64 = 32 << 20;
/// Maximum number of tables of other namespaces.
const MAX_NAMESPACES: usize = 4096;
/// Maximum number of different relevant file systems in them.
const MAX_RELEVANT_MOUNTS: usize = 16_384;
/// Maximum time for reading them.
const MAX_READ_TIME: Duration = Duration::from_secs(2);

/// All mounts found.
#[derive(Debug)]
pub(super) struct MountTables {
    /// All mounts of this namespace; of other namespaces those that may use a device, a file or an
    /// overlay, each file system once.
    pub mounts: Vec<PlacedMount>,
    /// `st_dev` of all mounts.
    pub device_ids: HashSet<(u32, u32)>,
    /// One process of each mount namespace and root directory.
    pub namespace_processes: Vec<u32>,
    /// Set if not everything was read.
    pub unresolved: Option<UnresolvedUse>,
}

/// Reads all mounts.
///
/// # Errors
/// When the table of this namespace cannot be read.
pub(super) fn read_all_mounts(roots: &SysPaths) -> io::Result<MountTables> {
    let location = |mount| PlacedMount {
        process: None,
        mount,
    };
    let mounts: Vec<_> = mounts::mounts(roots)?.into_iter().map(location).collect();
    let mut tables = MountTables {
        device_ids: mounts.iter().map(|placed| placed.mount.device_id).collect(),
        mounts,
        namespace_processes: mounts::other_mount_namespaces(roots)?,
        unresolved: None,
    };
    if let Err(reason) = tables.read_other_namespaces(roots) {
        tables.unresolved = Some(UnresolvedUse::OtherNamespaceMounts { reason });
    }
    Ok(tables)
}

impl MountTables {
    /// Reads the mount tables of other namespaces.
    ///
    /// # Errors
    /// The reason why not all of them were read.
    fn read_other_namespaces(&mut self, roots: &SysPaths) -> Result<(), &'static str> {
        let (began, own) = (Instant::now(), self.mounts.len());
        let needs_device = device_file_system_types(roots);
        let mut bytes = 0;
        if self.namespace_processes.len() > MAX_NAMESPACES {
            self.namespace_processes.truncate(MAX_NAMESPACES);
            return Err("there are too many namespaces and root directories");
        }
        for process in self.namespace_processes.clone() {
            let table = match fs::File::open(roots.proc.join(format!("{process}/mountinfo"))) {
                Ok(table) => table,
                Err(error) if has_no_mounts(&error) => continue,
                Err(_) => return Err(UNREADABLE),
            };
            let mut table = BufReader::new(table.take(MAX_TABLE_BYTES - bytes));
            let (mut line, mut seen) = (Vec::new(), HashSet::new());
            loop {
                let length = match table.read_until(b'\n', &mut line) {
                    Ok(0) => break,
                    Ok(length) => length,
                    Err(error) if has_no_mounts(&error) => break,
                    Err(_) => return Err(UNREADABLE),
                };
                bytes += length as u64;
                if bytes >= MAX_TABLE_BYTES {
                    return Err("their tables are too long");
                }
                if began.elapsed() > MAX_READ_TIME {
                    return Err("reading their tables takes too long");
                }
                let text = String::from_utf8_lossy(&line);
                if let Some(mount) = first_occurrence(text.trim_end_matches('\n'), &mut seen)
                    .and_then(|line| mounts::parse_mount(roots, line.as_bytes()))
                {
                    self.device_ids.insert(mount.device_id);
                    if is_relevant_mount(&mount, &needs_device) {
                        let process = Some(process);
                        self.mounts.push(PlacedMount { process, mount });
                    }
                }
                line.clear();
                if self.mounts.len() - own > MAX_RELEVANT_MOUNTS {
                    return Err("they have too many file systems");
                }
            }
        }
        Ok(())
    }
}

/// Reason why the mounts of other namespaces are unknown.
const UNREADABLE: &str = "one of their tables cannot be read";

/// Whether the mount table of a process cannot be read because the process has exited, is exiting
/// (`EINVAL`), or belongs to another user.
fn has_no_mounts(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidInput, PermissionDenied};
    is_gone(error) || matches!(error.kind(), InvalidInput | PermissionDenied)
}

/// The line, unless an earlier line of the same table has the same file system: all but its ID, its
/// mount point, its per-mount options and its optional fields is equal then.
fn first_occurrence<'a>(line: &'a str, seen: &mut HashSet<String>) -> Option<&'a str> {
    let (front, back) = line.split_once(" - ")?;
    let number = front.split(' ').nth(2)?;
    seen.insert(format!("{number} {back}")).then_some(line)
}

/// Whether a mount may use a device or file, or hide one behind an overlay.
fn is_relevant_mount(mount: &MountEntry, needs_device: &[String]) -> bool {
    mount.device_id.0 != 0
        || mount.source_number.is_some()
        || mount.source.starts_with('/')
        || mount.file_system == "overlay"
        || needs_device.contains(&mount.file_system)
}

/// File systems that the kernel has mounted from files, including mounts that no process sees
/// (Documentation/ABI/testing/sysfs-fs-erofs).
pub(super) fn unidentified_file_mounts(roots: &SysPaths) -> Vec<UnresolvedUse> {
    let is_device = |name: &String| roots.sys.join("class/block").join(name).exists();
    let directory = roots.sys.join("fs/erofs");
    let mut names = match list_directory(&directory) {
        Ok(names) => names,
        Err(error) => return vec![UnresolvedUse::unreadable(&directory, &error)],
    };
    names.retain(|name| name != "features" && !is_device(name));
    names
        .into_iter()
        .map(|name| UnresolvedUse::UnlistedMountSource {
            name: sanitized(&name),
        })
        .collect()
}

/// File system types that use a device or a file.
pub(super) fn device_file_system_types(roots: &SysPaths) -> Vec<String> {
    let text = fs::read_to_string(roots.proc.join("filesystems")).unwrap_or_default();
    let known = text
        .lines()
        .filter(|line| !line.starts_with("nodev"))
        .map(|line| line.trim().to_owned());
    // Also if the table cannot be read.
    known.chain(["erofs".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with this process and another one in another mount namespace.
    fn mount_tree(theirs: &str) -> (tempfile::TempDir, SysPaths) {
        let directory = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(directory.path());
        for (process, namespace) in [("self", "mnt:[1]"), ("7", "mnt:[2]")] {
            let location = roots.proc.join(process);
            fs::create_dir_all(location.join("ns")).unwrap();
            std::os::unix::fs::symlink(namespace, location.join("ns/mnt")).unwrap();
            fs::create_dir(location.join("root")).unwrap();
        }
        fs::write(roots.proc.join("self/mountinfo"), "").unwrap();
        fs::write(roots.proc.join("7/mountinfo"), theirs).unwrap();
        (directory, roots)
    }

    #[test]
    fn bind_mounts_of_same_file_system_are_listed_once() {
        let lines: String = (0..1000)
            .map(|id| format!("{id} 1 8:1 / /m{id} rw - ext4 /dev/sda1 rw\n"))
            .chain(["2000 1 0:40 / /t rw - tmpfs tmpfs rw\n".to_owned()])
            .collect();
        let (_directory, roots) = mount_tree(&lines);
        let tables = read_all_mounts(&roots).unwrap();
        assert_eq!(tables.mounts.len(), 1);
        assert_eq!(tables.mounts[0].process, Some(7));
        assert_eq!(tables.device_ids, HashSet::from([(8, 1), (0, 40)]));
        assert_eq!(tables.unresolved, None);
    }

    #[test]
    fn mount_tables_beyond_byte_limit_are_unresolved() {
        let long = "x".repeat(1 << 20);
        let line = format!("2 1 0:40 / /{long} rw - tmpfs tmpfs rw\n");
        let (_directory, roots) = mount_tree(&line.repeat(40));
        let tables = read_all_mounts(&roots).unwrap();
        assert!(matches!(
            tables.unresolved,
            Some(UnresolvedUse::OtherNamespaceMounts { .. })
        ));
    }

    #[test]
    fn too_many_mounted_file_systems_are_unresolved() {
        let lines: String = (0..=MAX_RELEVANT_MOUNTS)
            .map(|id| format!("{id} 1 0:{id} / /m rw - overlay overlay rw,lowerdir=a\n"))
            .collect();
        let (_directory, roots) = mount_tree(&lines);
        let tables = read_all_mounts(&roots).unwrap();
        assert!(matches!(
            tables.unresolved,
            Some(UnresolvedUse::OtherNamespaceMounts { .. })
        ));
    }
}
