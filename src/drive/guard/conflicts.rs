//! Who uses a medium: itself, its partitions, and everything stacked on them.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use super::Refusal;
use crate::drive::identity::{self, entries, harmless};
use crate::drive::ioctl::{self, LoopBacking};
use crate::drive::mounts::{self, Mount, Swap, split_number};
use crate::drive::target::{FileId, Medium};
use crate::roots::Roots;

/// One use that forbids writing.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Conflict {
    /// A file system is mounted.
    Mounted {
        /// The device that it lies on, or the file.
        device: String,
        /// Where.
        at: String,
    },
    /// The kernel swaps to it.
    Swap {
        /// The device or file.
        device: String,
    },
    /// A loop device is attached to it.
    Loop {
        /// The device or file.
        device: String,
        /// The loop device.
        by: String,
    },
    /// Another device lies on it.
    Held {
        /// The device.
        device: String,
        /// What lies on it.
        by: String,
    },
    /// Another program, or a file system elsewhere, has taken it for itself (`O_EXCL`).
    Exclusive,
}

impl fmt::Display for Conflict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Mounted { device, at } => write!(formatter, "{device} is mounted at {at}"),
            Self::Swap { device } => write!(formatter, "the kernel swaps to {device}"),
            Self::Loop { device, by } => write!(formatter, "{by} is attached to {device}"),
            Self::Held { device, by } => write!(formatter, "{by} lies on {device}"),
            Self::Exclusive => write!(
                formatter,
                "another program or file system has opened it for itself alone"
            ),
        }
    }
}

/// Everything that forbids writing a medium, the most telling first.
pub(super) fn find(roots: &Roots, medium: &Medium) -> Result<Vec<Conflict>, Refusal> {
    find_for(roots, medium.id(), &medium.target.name)
}

/// Everything that forbids writing what has that identity; `name` is what it is called.
pub(super) fn find_for(roots: &Roots, id: FileId, name: &str) -> Result<Vec<Conflict>, Refusal> {
    let unknown = |tried| {
        let name = name.to_owned();
        move |source: io::Error| Refusal::Unknown {
            name,
            tried,
            source,
        }
    };
    let mut search = Search {
        roots,
        mounts: mounts::mounts(roots).map_err(unknown("read the table of mounts"))?,
        swaps: mounts::swaps(roots).map_err(unknown("read the table of swaps"))?,
        loops: attached_loops(roots).map_err(unknown("list the loop devices"))?,
        seen: Vec::new(),
        found: Vec::new(),
    };
    match id {
        FileId::Device(major, minor) => {
            let device = identity::name_of(roots, (major, minor)).ok_or_else(|| {
                unknown("find it in /sys/class/block")(io::ErrorKind::NotFound.into())
            })?;
            search.device_and_parts(&device);
            search.whole_of(&device);
            search.below(&device);
        }
        FileId::Inode(..) => search.file(id, name),
    }
    search.found.sort();
    search.found.dedup();
    Ok(search.found)
}

/// A loop device that is attached to something.
struct Attached {
    name: String,
    backing: FileId,
}

/// The state of one search.
struct Search<'a> {
    roots: &'a Roots,
    mounts: Vec<Mount>,
    swaps: Vec<Swap>,
    loops: Vec<Attached>,
    seen: Vec<String>,
    found: Vec<Conflict>,
}

impl Search<'_> {
    /// A device, its partitions, and all that lies on them.
    fn device_and_parts(&mut self, name: &str) {
        let directory = self.directory(name);
        self.device(name);
        for part in entries(&directory) {
            if directory.join(&part).join("partition").exists() {
                self.device(&part);
            }
        }
    }

    /// Uses of one device and of all that is stacked on it. A circle is not possible in a kernel,
    /// but in a file of a test.
    fn device(&mut self, name: &str) {
        if self.seen.iter().any(|seen| seen == name) {
            return;
        }
        self.seen.push(name.to_owned());
        let Some(number) = self.number(name) else {
            return;
        };
        self.direct_uses(name, number);
        for holder in entries(&self.directory(name).join("holders")) {
            self.found.push(Conflict::Held {
                device: name.to_owned(),
                by: harmless(&holder),
            });
            self.device_and_parts(&holder);
        }
        self.attached(FileId::Device(number.0, number.1), name);
    }

    /// Mounts and swap of the device with that number.
    fn direct_uses(&mut self, name: &str, number: (u32, u32)) {
        for mount in self.mounts.iter().filter(|mount| mount.is_on(number)) {
            self.found.push(Conflict::Mounted {
                device: name.to_owned(),
                at: harmless(&mount.at),
            });
        }
        if self.swaps.iter().any(|swap| swap.number == Some(number)) {
            self.found.push(Conflict::Swap {
                device: name.to_owned(),
            });
        }
    }

    /// Loop devices attached to a device or file, and what lies on them.
    fn attached(&mut self, id: FileId, name: &str) {
        let loops: Vec<String> = self
            .loops
            .iter()
            .filter(|attached| attached.backing == id)
            .map(|attached| attached.name.clone())
            .collect();
        for by in loops {
            self.found.push(Conflict::Loop {
                device: name.to_owned(),
                by: by.clone(),
            });
            self.device_and_parts(&by);
        }
    }

    /// A partition is in use also when the whole of which it is a part is taken as one.
    fn whole_of(&mut self, name: &str) {
        let Some(whole) = identity::read(self.roots, name).and_then(|drive| drive.parent) else {
            return;
        };
        self.device(&whole);
    }

    /// A loop device can be attached to a block device without holding it.
    fn below(&mut self, name: &str) {
        let backing = self.loops.iter().find(|attached| attached.name == name);
        let Some(FileId::Device(major, minor)) = backing.map(|attached| attached.backing) else {
            return;
        };
        // The target itself is no stranger to what it lies on.
        self.loops.retain(|attached| attached.name != name);
        if let Some(lower) = identity::name_of(self.roots, (major, minor)) {
            self.device_and_parts(&lower);
            self.whole_of(&lower);
        }
    }

    /// A regular file: swapped to, attached to a loop device, or mounted as it is.
    fn file(&mut self, id: FileId, name: &str) {
        let same = |path: &Path| fs::metadata(path).is_ok_and(|facts| FileId::of(&facts) == id);
        if self.swaps.iter().any(|swap| same(&swap.path)) {
            self.found.push(Conflict::Swap {
                device: name.to_owned(),
            });
        }
        for mount in &self.mounts {
            let source = Path::new(&mount.source);
            if source.is_absolute() && mount.source_number.is_none() && same(source) {
                self.found.push(Conflict::Mounted {
                    device: name.to_owned(),
                    at: harmless(&mount.at),
                });
            }
        }
        self.attached(id, name);
    }

    fn directory(&self, name: &str) -> std::path::PathBuf {
        self.roots.sys.join("class/block").join(name)
    }

    fn number(&self, name: &str) -> Option<(u32, u32)> {
        mounts::parse_number(&fs::read_to_string(self.directory(name).join("dev")).ok()?)
    }
}

/// All loop devices that are attached to something.
fn attached_loops(roots: &Roots) -> io::Result<Vec<Attached>> {
    let directory = roots.sys.join("class/block");
    fs::read_dir(&directory)?;
    Ok(entries(&directory)
        .into_iter()
        .filter(|name| name.starts_with("loop"))
        .filter_map(|name| {
            let path = directory.join(&name).join("loop/backing_file");
            let backing_file = fs::read_to_string(path).ok()?;
            let backing = backing_of(roots, &name, backing_file.trim_end())?;
            Some(Attached { name, backing })
        })
        .collect())
}

/// What a loop device is attached to: as the kernel knows it, for the path that sysfs shows may be
/// deleted or of another root; by that path where the device cannot be asked.
fn backing_of(roots: &Roots, name: &str, path: &str) -> Option<FileId> {
    let asked = File::open(roots.dev.join(name)).and_then(|file| ioctl::loop_backing(&file));
    match asked {
        Ok(LoopBacking {
            device,
            inode,
            special: 0,
        }) => Some(FileId::Inode(device, inode)),
        Ok(LoopBacking { special, .. }) => {
            let (major, minor) = split_number(special);
            Some(FileId::Device(major, minor))
        }
        Err(_) => fs::metadata(path).ok().map(|facts| FileId::of(&facts)),
    }
}
