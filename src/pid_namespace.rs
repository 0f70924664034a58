//! PID namespaces (pid_namespaces(7)): whether /proc shows every process, and every lock.

use std::fs;

use crate::roots::SysPaths;

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

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
                    symlink(format!("pid:[{inode}]"), directory.join("pid")).unwrap();
                }
            }
            let found = is_proc_of_initial_namespace(&roots);
            assert_eq!(found, expected, "{own:?} {first:?}");
        }
    }
}
