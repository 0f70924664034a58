//! Counters of the memory management (`/proc/vmstat`): I/O of the machine as a whole, swapping and
//! reclaim, the limits of dirty memory.

use std::collections::HashMap;

use crate::probe::text::{nonempty_lines, parse_number, split_fields};

/// I/O of the machine as a whole, in bytes since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PagingCounters {
    /// Read from devices (`pgpgin`).
    pub paged_in_bytes: u64,
    /// Written to devices (`pgpgout`).
    pub paged_out_bytes: u64,
    /// Dirtied in memory (`nr_dirtied`).
    pub dirtied_bytes: u64,
    /// Written back from memory (`nr_written`).
    pub written_back_bytes: u64,
}

/// Memory that was taken away and needed again, since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ReclaimCounters {
    /// Bytes read from swap (`pswpin`).
    pub swapped_in_bytes: u64,
    /// Bytes written to swap (`pswpout`).
    pub swapped_out_bytes: u64,
    /// Bytes of files that were read again shortly after they had been dropped from the page cache
    /// (`workingset_refault_file`, before kernel 5.9 `workingset_refault`; mm/workingset.c).
    pub refaulted_bytes: u64,
    /// How often a task had to reclaim memory itself before its allocation succeeded
    /// (`allocstall_*`).
    pub direct_reclaims: u64,
}

/// The fields of `/proc/vmstat` that are used; `None` where the kernel has none.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryStatistics {
    /// I/O of the machine; `None` before kernel 2.6.37.
    pub paging: Option<PagingCounters>,
    /// Swapping and reclaim; `None` without swap counters.
    pub reclaim: Option<ReclaimCounters>,
    /// Dirty and writeback bytes above which the kernel writes back in the background (kernel
    /// Documentation/admin-guide/sysctl/vm.rst, `dirty_background_ratio`).
    pub background_threshold: Option<u64>,
    /// Bytes above which writers wait (`dirty_ratio`, as mm/page-writeback.c computes it).
    pub throttle_threshold: Option<u64>,
}

impl MemoryStatistics {
    /// Parses `/proc/vmstat`; pages are `page` bytes long.
    #[must_use]
    pub fn parse(text: &[u8], page: u64) -> Self {
        let line = |line| {
            let mut words = split_fields(line);
            Some((words.next()?, parse_number(words.next()?)?))
        };
        let counts: HashMap<&[u8], u64> = nonempty_lines(text).filter_map(line).collect();
        let kib = |name: &str| counts.get(name.as_bytes())?.checked_mul(1024);
        let pages = |name: &str| counts.get(name.as_bytes())?.checked_mul(page);
        let refaulted = pages("workingset_refault_file").or_else(|| pages("workingset_refault"));
        let stalls = counts.iter().filter(|it| it.0.starts_with(b"allocstall"));
        let paging = || {
            Some(PagingCounters {
                paged_in_bytes: kib("pgpgin")?,
                paged_out_bytes: kib("pgpgout")?,
                dirtied_bytes: pages("nr_dirtied")?,
                written_back_bytes: pages("nr_written")?,
            })
        };
        let reclaim = || {
            Some(ReclaimCounters {
                swapped_in_bytes: pages("pswpin")?,
                swapped_out_bytes: pages("pswpout")?,
                refaulted_bytes: refaulted.unwrap_or(0),
                direct_reclaims: stalls.fold(0, |sum, (_, count)| sum.saturating_add(*count)),
            })
        };
        Self {
            paging: paging(),
            reclaim: reclaim(),
            background_threshold: pages("nr_dirty_background_threshold"),
            throttle_threshold: pages("nr_dirty_threshold"),
        }
    }
}

impl PagingCounters {
    /// Bytes accounted to processes since an earlier reading: reads when they are submitted to the
    /// device, writes when memory becomes dirty (`task_io_account_read` and `task_io_account_write`
    /// of the kernel), and writes that bypass writeback, which are accounted at once.
    #[must_use]
    pub fn charged_bytes_since(&self, before: &Self) -> u64 {
        let sent = self.paged_out_bytes.saturating_sub(before.paged_out_bytes);
        let written_back = self
            .written_back_bytes
            .saturating_sub(before.written_back_bytes);
        self.paged_in_bytes
            .saturating_sub(before.paged_in_bytes)
            .saturating_add(self.dirtied_bytes.saturating_sub(before.dirtied_bytes))
            .saturating_add(sent.saturating_sub(written_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_of_old_and_new_kernels_are_parsed() {
        let new = b"nr_dirty_threshold 9\nnr_dirty_background_threshold 5\nnr_dirty 3\npswpin 10\n\
            pswpout 20\nallocstall_normal 3\nallocstall_movable 4\nworkingset_refault_anon 99\n\
            workingset_refault_file 30\npgpgin x\n";
        let found = MemoryStatistics::parse(new, 4096);
        let expected = ReclaimCounters {
            swapped_in_bytes: 40_960,
            swapped_out_bytes: 81_920,
            refaulted_bytes: 122_880,
            direct_reclaims: 7,
        };
        assert_eq!((found.reclaim, found.paging), (Some(expected), None));
        assert_eq!(found.background_threshold, Some(5 * 4096));
        assert_eq!(found.throttle_threshold, Some(9 * 4096));
        let old = b"pswpin 0\npswpout 0\nworkingset_refault 2\nallocstall 5\n";
        let reclaim = MemoryStatistics::parse(old, 1).reclaim.unwrap();
        assert_eq!((reclaim.refaulted_bytes, reclaim.direct_reclaims), (2, 5));
        assert_eq!(
            MemoryStatistics::parse(b"", 4096),
            MemoryStatistics::default()
        );
    }

    #[test]
    fn reads_dirtied_pages_and_direct_writes_are_charged() {
        let before = PagingCounters::default();
        let text = b"nr_dirtied 10\nnr_written 4\npgpgin 100\npgpgout 20\n";
        let now = MemoryStatistics::parse(text, 4096).paging.unwrap();
        // 100 KiB read, 10 pages dirtied, and 20 KiB written, 16 of them by writeback.
        assert_eq!(now.charged_bytes_since(&before), (100 + 40 + 4) * 1024);
        assert_eq!(before.charged_bytes_since(&now), 0);
    }
}
