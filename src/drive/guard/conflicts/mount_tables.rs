//! The mounts of this mount namespace and of all others that may be examined.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{Conflict, Unresolved};
use crate::drive::identity::{entries, harmless};
use crate::drive::mounts::{self, Mount};
use crate::drive::target::FileId;
use crate::roots::Roots;

/// A mount, and where.
#[derive(Debug)]
pub(super) struct PlacedMount {
    /// A process of its mount namespace; `None` for this program's own.
    pub process: Option<u32>,
    /// What is mounted.
    pub mount: Mount,
}

impl PlacedMount {
    /// That a device or file is mounted like this.
    pub(super) fn conflict(&self, device: &str) -> Conflict {
        let (device, at) = (device.to_owned(), harmless(&self.mount.at));
        match self.process {
            None => Conflict::Mounted { device, at },
            Some(process) => Conflict::MountedElsewhere {
                device,
                at,
                process,
            },
        }
    }

    /// A path of its namespace as one that this program can use.
    pub(super) fn reach(&self, roots: &Roots, path: &str) -> Option<PathBuf> {
        let path = Path::new(path);
        let inner = path.strip_prefix("/").ok()?;
        Some(match self.process {
            None => path.to_owned(),
            Some(process) => roots.proc.join(format!("{process}/root")).join(inner),
        })
    }

    /// The file that it is mounted from, or that this cannot be told; `None` for a file system that
    /// does not lie in a file.
    pub(super) fn file(&self, roots: &Roots, needs_device: &[String]) -> Option<Backing> {
        let mount = &self.mount;
        if mount.source_number.is_some() {
            return None;
        }
        // Only a file system in a file has no number of a block device (erofs since 6.12); btrfs
        // never has, and one with a domain is fetched over the network.
        let in_file = mount.number.0 == 0
            && needs_device.contains(&mount.file_system)
            && mount.file_system != "btrfs"
            && !mount
                .options
                .iter()
                .any(|option| option.starts_with("fsid="));
        // Another file may be there by now: the path can prove a use, but not that there is none.
        let question = in_file.then(|| Unresolved::MountedFile {
            at: harmless(&mount.at),
            source: harmless(&mount.source),
        });
        let file = self.reach(roots, &mount.source).and_then(|path| {
            let facts = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
            Some((path, FileId::of(&facts)))
        });
        (question.is_some() || file.is_some()).then_some(Backing { file, question })
    }
}

/// What a file system in a file is mounted from.
#[derive(Debug)]
pub(super) struct Backing {
    /// The file at the path that the table names.
    pub file: Option<(PathBuf, FileId)>,
    /// That it may be any other file.
    pub question: Option<Unresolved>,
}

/// The most bytes of other namespaces' tables that are read: more is somebody's attempt to keep
/// this program busy. A table of a usual machine has 10 kB.
const MOST_BYTES: u64 = 32 << 20;
/// The most tables of other namespaces.
const MOST_VIEWS: usize = 4096;
/// The most different file systems in them that matter.
const MOST_MOUNTS: usize = 16_384;
/// The longest that they are read.
const LONGEST: Duration = Duration::from_secs(2);

/// What is mounted.
#[derive(Debug)]
pub(super) struct MountTables {
    /// Everything in this namespace; of others what may lie on a device, in a file or in an overlay,
    /// each file system once.
    pub mounts: Vec<PlacedMount>,
    /// `st_dev` of all mounts.
    pub numbers: HashSet<(u32, u32)>,
    /// A process of each mount namespace and root directory.
    pub processes: Vec<u32>,
    /// That not everything was read.
    pub question: Option<Unresolved>,
}

/// All mounts.
///
/// # Errors
/// When this namespace's table cannot be read.
pub(super) fn read(roots: &Roots) -> io::Result<MountTables> {
    let place = |mount| PlacedMount {
        process: None,
        mount,
    };
    let mounts: Vec<_> = mounts::mounts(roots)?.into_iter().map(place).collect();
    let mut tables = MountTables {
        numbers: mounts.iter().map(|placed| placed.mount.number).collect(),
        mounts,
        processes: mounts::other_views(roots),
        question: None,
    };
    if let Err(reason) = tables.read_others(roots) {
        tables.question = Some(Unresolved::Mounts { reason });
    }
    Ok(tables)
}

impl MountTables {
    /// Reads the tables of other namespaces.
    ///
    /// # Errors
    /// Why not all of them were read.
    fn read_others(&mut self, roots: &Roots) -> Result<(), &'static str> {
        let (began, own) = (Instant::now(), self.mounts.len());
        let needs_device = types_with_device(roots);
        let mut bytes = 0;
        if self.processes.len() > MOST_VIEWS {
            self.processes.truncate(MOST_VIEWS);
            return Err("there are too many namespaces and root directories");
        }
        for process in self.processes.clone() {
            // A process that has ended has nothing mounted.
            let Ok(table) = fs::File::open(roots.proc.join(format!("{process}/mountinfo"))) else {
                continue;
            };
            let mut table = BufReader::new(table.take(MOST_BYTES - bytes));
            let (mut line, mut seen) = (Vec::new(), HashSet::new());
            while let Ok(length @ 1..) = table.read_until(b'\n', &mut line) {
                bytes += length as u64;
                if bytes >= MOST_BYTES {
                    return Err("their tables are too long");
                }
                if began.elapsed() > LONGEST {
                    return Err("reading their tables takes too long");
                }
                let text = String::from_utf8_lossy(&line);
                if let Some(mount) = seen_first(text.trim_end_matches('\n'), &mut seen)
                    .and_then(|line| mounts::parse_mount(roots, line))
                {
                    self.numbers.insert(mount.number);
                    if matters(&mount, &needs_device) {
                        let process = Some(process);
                        self.mounts.push(PlacedMount { process, mount });
                    }
                }
                line.clear();
                if self.mounts.len() - own > MOST_MOUNTS {
                    return Err("they have too many file systems");
                }
            }
        }
        Ok(())
    }
}

/// The line, if none of the same file system came before in the same table: everything but its
/// identity, its place, its own options and its optional fields is the same then.
fn seen_first<'a>(line: &'a str, seen: &mut HashSet<String>) -> Option<&'a str> {
    let (front, back) = line.split_once(" - ")?;
    let number = front.split(' ').nth(2)?;
    seen.insert(format!("{number} {back}")).then_some(line)
}

/// Whether a mount may be a use of a device or file, or hide one behind an overlay.
fn matters(mount: &Mount, needs_device: &[String]) -> bool {
    mount.number.0 != 0
        || mount.source_number.is_some()
        || mount.source.starts_with('/')
        || mount.file_system == "overlay"
        || needs_device.contains(&mount.file_system)
}

/// File systems that the kernel has mounted from files, also where no process sees the mount
/// (Documentation/ABI/testing/sysfs-fs-erofs).
pub(super) fn in_files(roots: &Roots) -> Vec<Unresolved> {
    let is_device = |name: &String| roots.sys.join("class/block").join(name).exists();
    let mut names = entries(&roots.sys.join("fs/erofs"));
    names.retain(|name| name != "features" && !is_device(name));
    names
        .into_iter()
        .map(|name| Unresolved::FileSystem {
            name: harmless(&name),
        })
        .collect()
}

/// Types of file systems that lie on a device or in a file.
pub(super) fn types_with_device(roots: &Roots) -> Vec<String> {
    let text = fs::read_to_string(roots.proc.join("filesystems")).unwrap_or_default();
    let known = text
        .lines()
        .filter(|line| !line.starts_with("nodev"))
        .map(|line| line.trim().to_owned());
    // Also where the table cannot be read.
    known.chain(["erofs".to_owned()]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree with this process and another one in another mount namespace.
    fn tree(theirs: &str) -> (tempfile::TempDir, Roots) {
        let directory = tempfile::tempdir().unwrap();
        let roots = Roots::below(directory.path());
        for (process, namespace) in [("self", "mnt:[1]"), ("7", "mnt:[2]")] {
            let place = roots.proc.join(process);
            fs::create_dir_all(place.join("ns")).unwrap();
            std::os::unix::fs::symlink(namespace, place.join("ns/mnt")).unwrap();
            fs::create_dir(place.join("root")).unwrap();
        }
        fs::write(roots.proc.join("self/mountinfo"), "").unwrap();
        fs::write(roots.proc.join("7/mountinfo"), theirs).unwrap();
        (directory, roots)
    }

    #[test]
    fn bind_mounts_of_one_file_system_are_kept_once() {
        let lines: String = (0..1000)
            .map(|id| format!("{id} 1 8:1 / /m{id} rw - ext4 /dev/sda1 rw\n"))
            .chain(["2000 1 0:40 / /t rw - tmpfs tmpfs rw\n".to_owned()])
            .collect();
        let (_directory, roots) = tree(&lines);
        let tables = read(&roots).unwrap();
        assert_eq!(tables.mounts.len(), 1);
        assert_eq!(tables.mounts[0].process, Some(7));
        assert_eq!(tables.numbers, HashSet::from([(8, 1), (0, 40)]));
        assert_eq!(tables.question, None);
    }

    #[test]
    fn tables_beyond_the_limit_are_a_question() {
        let long = "x".repeat(1 << 20);
        let line = format!("2 1 0:40 / /{long} rw - tmpfs tmpfs rw\n");
        let (_directory, roots) = tree(&line.repeat(40));
        let tables = read(&roots).unwrap();
        assert!(matches!(tables.question, Some(Unresolved::Mounts { .. })));
    }

    #[test]
    fn too_many_file_systems_are_a_question() {
        let lines: String = (0..=MOST_MOUNTS)
            .map(|id| format!("{id} 1 0:{id} / /m rw - overlay overlay rw,lowerdir=a\n"))
            .collect();
        let (_directory, roots) = tree(&lines);
        let tables = read(&roots).unwrap();
        assert!(matches!(tables.question, Some(Unresolved::Mounts { .. })));
    }
}
