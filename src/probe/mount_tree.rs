//! Which mount is on which: what its path leads to, and what a lazy unmount detaches with it.

use std::collections::HashSet;

use crate::drive::mounts::MountEntry;

/// Whether the path of a mount of this table leads to it: no other one is mounted over it, or over a
/// directory above it.
#[must_use]
pub fn is_reachable(mounts: &[MountEntry], mount: &MountEntry) -> bool {
    let is_on_it = |it: &MountEntry| it.parent == mount.id && it.path == mount.path;
    let mut is_hidden = mounts.iter().any(|it| it.id != mount.id && is_on_it(it));
    let mut lower = mount;
    // There are no more levels than mounts, even in a table whose parents form a circle. The first mount
    // of all is its own parent.
    for _ in mounts {
        if lower.parent == lower.id {
            break;
        }
        let hides = |it: &MountEntry| {
            let is_beside = it.parent == lower.parent && it.id != lower.id && it.id != lower.parent;
            is_beside && lower.path.starts_with(&it.path)
        };
        is_hidden |= mounts.iter().any(hides);
        let Some(parent) = mounts.iter().find(|it| it.id == lower.parent) else {
            break;
        };
        lower = parent;
    }
    !is_hidden
}

/// The mounts of this table that are on a mount, or on one that is: a lazy unmount detaches them with it.
pub fn submounts<'a>(
    mounts: &'a [MountEntry],
    mount: &MountEntry,
) -> impl Iterator<Item = &'a MountEntry> {
    let mut found = HashSet::from([mount.id]);
    let mut is_complete = false;
    // A mount that was moved is listed before the one that it is on.
    while !is_complete {
        let count = found.len();
        let below = mounts.iter().filter(|it| found.contains(&it.parent));
        let below: Vec<u64> = below.map(|it| it.id).collect();
        found.extend(below);
        is_complete = found.len() == count;
    }
    found.remove(&mount.id);
    mounts.iter().filter(move |it| found.contains(&it.id))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::mounts::mounts_of;
    use crate::roots::SysPaths;

    fn entry_of(line: &str) -> MountEntry {
        let (root, roots) = SysPaths::with_files(&[("table", line)]);
        let mut found = mounts_of(&roots, &root.path().join("table")).unwrap();
        found.remove(0)
    }

    #[test]
    fn mount_below_another_one_is_not_reachable_by_its_path() {
        let table = |rows: &[(u64, u64, &str)]| -> Vec<MountEntry> {
            let line = |(id, parent, at): &(u64, u64, &str)| {
                let line = format!("{id} {parent} 8:1 / {at} rw - ext4 /dev/sda1 rw");
                entry_of(&line)
            };
            rows.iter().map(line).collect()
        };
        for (rows, hidden) in [
            (
                &[(1, 0, "/"), (2, 1, "/m"), (3, 2, "/m/a"), (4, 1, "/mb")][..],
                &[][..],
            ),
            (&[(1, 0, "/"), (2, 1, "/m"), (3, 2, "/m")], &[2]),
            (
                &[(1, 0, "/"), (2, 1, "/m/a"), (3, 2, "/m/a/b"), (4, 1, "/m")],
                &[2, 3],
            ),
            // The initial file system below the root, and one that was moved there before it.
            (
                &[(5, 7, "/proc"), (1, 1, "/"), (7, 1, "/"), (8, 7, "/home")],
                &[1],
            ),
            // A recursive bind mount of the root on itself.
            (
                &[(1, 0, "/"), (2, 1, "/h"), (3, 1, "/"), (4, 3, "/h")],
                &[1, 2],
            ),
            (&[(1, 2, "/a"), (2, 1, "/b")], &[]),
        ] {
            let table = table(rows);
            let found = table.iter().filter(|it| !is_reachable(&table, it));
            assert_eq!(
                found.map(|it| it.id).collect::<Vec<_>>(),
                hidden,
                "{rows:?}"
            );
        }
    }

    #[test]
    fn submounts_are_on_a_mount_or_on_one_that_is() {
        let rows = [
            (5, 3, "/m/a/b"),
            (1, 1, "/"),
            (2, 1, "/m"),
            (3, 2, "/m/a"),
            (4, 1, "/mb"),
        ];
        let entry = |(id, parent, at): (u64, u64, &str)| {
            let line = format!("{id} {parent} 8:1 / {at} rw - ext4 /dev/sda1 rw");
            entry_of(&line)
        };
        let table = rows.map(entry);
        let of = |index: usize| -> Vec<u64> {
            submounts(&table, &table[index]).map(|it| it.id).collect()
        };
        assert_eq!(of(2), [5, 3]);
        assert_eq!(of(3), [5]);
        assert!(of(0).is_empty() && of(4).is_empty());
        assert_eq!(of(1), [5, 2, 3, 4]);
    }
}
