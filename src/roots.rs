//! Paths of the kernel file systems.
//!
//! Every reader takes its paths from here, so that a test can use a directory of files taken from
//! another kernel.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::files;

/// State directory relative to the home directory, unless `$XDG_STATE_HOME` is set.
const STATE_IN_HOME: &str = ".local/state";

/// The directories that replace `/proc`, `/sys`, `/dev`, `/run` and `/var` in all paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SysPaths {
    /// procfs, `/proc`.
    pub proc: PathBuf,
    /// sysfs, `/sys`.
    pub sys: PathBuf,
    /// tracefs, `/sys/kernel/tracing`.
    pub tracing: PathBuf,
    /// device nodes, `/dev`.
    pub dev: PathBuf,
    /// runtime state of other programs (the udev database), `/run`.
    pub run: PathBuf,
    /// persistent state of other programs (container runtimes), `/var`.
    pub var: PathBuf,
}

impl Default for SysPaths {
    fn default() -> Self {
        Self::under_root(Path::new("/"))
    }
}

impl SysPaths {
    /// The standard layout below another root: `ROOT/proc`, `ROOT/sys` and so on.
    #[must_use]
    pub fn under_root(root: &Path) -> Self {
        Self {
            proc: root.join("proc"),
            sys: root.join("sys"),
            tracing: root.join("sys/kernel/tracing"),
            dev: root.join("dev"),
            run: root.join("run"),
            var: root.join("var"),
        }
    }

    /// A machine with these files below its root directory, which is removed at the end of the test.
    #[cfg(test)]
    pub(crate) fn with_files(files: &[(&str, &str)]) -> (tempfile::TempDir, Self) {
        let root = tempfile::tempdir().expect("a temporary directory");
        for (name, content) in files {
            let path = root.path().join(name);
            let directory = path.parent().unwrap_or(root.path());
            std::fs::create_dir_all(directory).expect("a directory");
            std::fs::write(path, content).expect("a file");
        }
        let roots = Self::under_root(root.path());
        (root, roots)
    }
}

/// Directory of persistent state: `$XDG_STATE_HOME/diskscope`, or the same below `~/.local/state`
/// (XDG Base Directory Specification). `None` without either variable.
///
/// Root stores nothing in a directory that another user controls. If the variables name such a
/// directory, as under `sudo -E`, the home directory of root in the password file is used.
#[must_use]
pub fn state_directory() -> Option<PathBuf> {
    let user = rustix::process::geteuid();
    let is_used = |path: &PathBuf| !user.is_root() || files::path::is_trusted(path);
    let own_home = || {
        let passwd = std::fs::read("/etc/passwd").unwrap_or_default();
        user.is_root()
            .then(|| home_directory(&passwd, user.as_raw()))
            .flatten()
    };
    let in_home = |home: PathBuf| home.join(STATE_IN_HOME);
    absolute_path_from_env("XDG_STATE_HOME")
        .filter(is_used)
        .or_else(|| home().map(in_home).filter(is_used))
        .or_else(|| own_home().or_else(home).map(in_home))
        .map(|state| state.join("diskscope"))
}

/// `$HOME`, where it exists: that of some system users is `/nonexistent`, which must not be created.
fn home() -> Option<PathBuf> {
    absolute_path_from_env("HOME").filter(|home| home.is_dir())
}

/// The home directory of a user (passwd(5)).
fn home_directory(passwd: &[u8], user: u32) -> Option<PathBuf> {
    passwd.split(|byte| *byte == b'\n').find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b':').collect();
        let number: u32 = std::str::from_utf8(fields.get(2)?).ok()?.parse().ok()?;
        let home = Path::new(OsStr::from_bytes(fields.get(5)?));
        (number == user && home.is_absolute()).then(|| home.to_owned())
    })
}

/// The absolute path in an environment variable; other values are ignored.
fn absolute_path_from_env(name: &str) -> Option<PathBuf> {
    std::env::var_os(name)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// The initial PID namespace, in which every process has an id (include/linux/proc_ns.h,
/// PROC_PID_INIT_INO).
pub(crate) const INITIAL_PID_NAMESPACE: u64 = 0xEFFF_FFFC;

/// Inode of the PID namespace of a process, which is given by its name below `/proc`; `None` where it
/// may not be examined.
pub(crate) fn pid_namespace(roots: &SysPaths, process: &str) -> Option<u64> {
    let link = fs::read_link(roots.proc.join(process).join("ns/pid")).ok()?;
    let text = link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?;
    text.parse().ok()
}

/// Whether `/proc` belongs to the initial PID namespace: that of another one shows the processes of that
/// namespace and their locks only. `false` where it is not known.
pub(crate) fn is_proc_of_initial_namespace(roots: &SysPaths) -> bool {
    // This process is in a namespace that the one of /proc contains.
    ["self", "1"]
        .iter()
        .any(|process| pid_namespace(roots, process) == Some(INITIAL_PID_NAMESPACE))
}

/// The path of a device node from its name in sysfs, where `!` replaces `/`; `None` for what is no
/// name of a device. A recording can contain any name, and the path could lead anywhere.
#[must_use]
pub fn device_node(name: &str) -> Option<String> {
    Some(format!("/dev/{}", device_name(name)?.replace('!', "/")))
}

/// The directory of a block device in sysfs; `None` for what is no name of a device.
#[must_use]
pub fn device_directory(name: &str) -> Option<String> {
    Some(format!("/sys/block/{}", device_name(name)?))
}

/// The name, if sysfs can have a device of this name: no part of the paths above leads upwards. A
/// backslash begins an escape of `safe_text`: the name itself is another one.
#[must_use]
pub fn device_name(name: &str) -> Option<&str> {
    let is_entry = |part: &str| !matches!(part, "" | "." | "..");
    let is_name = !name.contains(['/', '\\']) && name.split('!').all(is_entry);
    is_name.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn home_of_user_in_passwd_file_is_found() {
        let passwd =
            b"root:x:0:0:root:/root:/bin/bash\nbroken\n+::::::\njoe:x:1000:1000::/home/joe:";
        assert_eq!(home_directory(passwd, 0), Some(PathBuf::from("/root")));
        assert_eq!(
            home_directory(passwd, 1000),
            Some(PathBuf::from("/home/joe"))
        );
        assert_eq!(home_directory(passwd, 7), None);
        assert_eq!(home_directory(b"root:x:0:0:root::/bin/bash", 0), None);
    }

    #[test]
    fn proc_of_initial_namespace_is_recognized_by_this_process_or_the_first_one() {
        let cases = [
            (Some(INITIAL_PID_NAMESPACE), None, true),
            (Some(4_026_532_001), Some(INITIAL_PID_NAMESPACE), true),
            (Some(4_026_532_001), Some(4_026_532_001), false),
            (None, None, false),
        ];
        for (own, first, expected) in cases {
            let tree = tempfile::tempdir().unwrap();
            let roots = SysPaths::under_root(tree.path());
            for (process, inode) in [("self", own), ("1", first)] {
                let directory = roots.proc.join(process).join("ns");
                fs::create_dir_all(&directory).unwrap();
                if let Some(inode) = inode {
                    std::os::unix::fs::symlink(format!("pid:[{inode}]"), directory.join("pid"))
                        .unwrap();
                }
            }
            let found = is_proc_of_initial_namespace(&roots);
            assert_eq!(found, expected, "{own:?} {first:?}");
        }
    }

    #[test]
    fn name_of_a_device_leads_nowhere_else() {
        assert_eq!(
            device_node("cciss!c0d0").as_deref(),
            Some("/dev/cciss/c0d0")
        );
        assert_eq!(
            device_directory("md127").as_deref(),
            Some("/sys/block/md127")
        );
        for name in [
            "",
            ".",
            "..",
            "../sda",
            "/etc",
            "..!..!etc",
            "!etc",
            "a!",
            "a\\nb",
        ] {
            assert_eq!(
                (device_node(name), device_directory(name)),
                (None, None),
                "{name}"
            );
        }
    }
}
