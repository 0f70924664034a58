//! The process list as a tree.

use std::collections::HashMap;

use crate::snapshot::view::ProcessView;

/// The same processes, each after its parent if that is listed too. Roots and siblings keep their
/// order.
#[must_use]
pub fn in_tree_order<'a>(listed: &[&'a ProcessView]) -> Vec<&'a ProcessView> {
    let parents = parent_indices(listed);
    let mut children = vec![Vec::new(); listed.len()];
    for (index, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent].push(index);
        }
    }
    let mut visited = vec![false; listed.len()];
    let mut ordered = Vec::with_capacity(listed.len());
    // A cycle of parents has no root; reused process ids can produce one.
    let first = (0..listed.len()).filter(|index| parents[*index].is_none());
    for start in first.chain(0..listed.len()) {
        let mut stack = vec![start];
        while let Some(index) = stack.pop() {
            if !std::mem::replace(&mut visited[index], true) {
                ordered.push(listed[index]);
                stack.extend(children[index].iter().rev());
            }
        }
    }
    ordered
}

/// Number of listed ancestors of each process.
#[must_use]
pub fn tree_depths(listed: &[&ProcessView]) -> Vec<usize> {
    let parents = parent_indices(listed);
    let depth = |index: usize| {
        let above = std::iter::successors(parents[index], |index| parents[*index]);
        above.take(MAX_TREE_DEPTH).count()
    };
    (0..listed.len()).map(depth).collect()
}

/// A longer chain of ancestors is a cycle.
const MAX_TREE_DEPTH: usize = 64;

/// Indices of the parents; the parent of a thread is its process.
fn parent_indices(listed: &[&ProcessView]) -> Vec<Option<usize>> {
    let indices: HashMap<u32, usize> = listed
        .iter()
        .enumerate()
        .filter(|(_, process)| process.pid == process.tid)
        .map(|(index, process)| (process.pid, index))
        .collect();
    let parent = |(index, process): (usize, &&ProcessView)| {
        let found = indices.get(&process.parent_pid).copied();
        found.filter(|parent| *parent != index)
    };
    listed.iter().enumerate().map(parent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, tid: u32, parent: u32) -> ProcessView {
        ProcessView {
            pid,
            tid,
            parent_pid: parent,
            ..ProcessView::default()
        }
    }

    #[test]
    fn process_tree_lists_children_after_their_parent() {
        let all = [
            process(30, 30, 20),
            process(10, 10, 1),
            process(20, 21, 20),
            process(20, 20, 10),
            process(99, 99, 98),
        ];
        let listed: Vec<_> = all.iter().collect();
        let ordered = in_tree_order(&listed);
        let ids: Vec<_> = ordered.iter().map(|it| it.tid).collect();
        assert_eq!(ids, [10, 20, 30, 21, 99]);
        assert_eq!(tree_depths(&ordered), [0, 1, 2, 2, 0]);
    }

    #[test]
    fn process_tree_with_cycle_lists_every_process() {
        let all = [process(1, 1, 2), process(2, 2, 1)];
        let listed: Vec<_> = all.iter().collect();
        assert_eq!(in_tree_order(&listed).len(), 2);
        assert_eq!(tree_depths(&listed).len(), 2);
    }
}
