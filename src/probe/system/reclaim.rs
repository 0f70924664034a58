//! Swapping and reclaim, as `/proc/vmstat` counts them.

use crate::probe::text::{nonempty_lines, parse_number, split_fields};

/// Counters of `/proc/vmstat` about memory that is taken away and needed again.
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

impl ReclaimCounters {
    /// Parses `/proc/vmstat`; pages are `page` bytes long. `None` without swap counters.
    #[must_use]
    pub fn parse(text: &[u8], page: u64) -> Option<Self> {
        let mut counters = Self::default();
        let mut known = false;
        for line in nonempty_lines(text) {
            let mut words = split_fields(line);
            let (Some(name), Some(value)) = (words.next(), words.next().and_then(parse_number))
            else {
                continue;
            };
            let bytes = value.saturating_mul(page);
            match name {
                b"pswpin" => {
                    counters.swapped_in_bytes = bytes;
                    known = true;
                }
                b"pswpout" => counters.swapped_out_bytes = bytes,
                b"workingset_refault" | b"workingset_refault_file" => {
                    counters.refaulted_bytes = bytes;
                }
                _ if name.starts_with(b"allocstall") => {
                    counters.direct_reclaims = counters.direct_reclaims.saturating_add(value);
                }
                _ => {}
            }
        }
        known.then_some(counters)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reclaim_counters_of_old_and_new_kernels_are_parsed() {
        let new = b"allocstall_normal 3\nallocstall_movable 4\npswpin 10\npswpout 20\n\
            workingset_refault_anon 99\nworkingset_refault_file 30\n";
        let counters = ReclaimCounters::parse(new, 4096).unwrap();
        assert_eq!(counters.swapped_in_bytes, 40_960);
        assert_eq!(counters.swapped_out_bytes, 81_920);
        assert_eq!(counters.refaulted_bytes, 122_880);
        assert_eq!(counters.direct_reclaims, 7);
        let old = b"pswpin 0\npswpout 0\nworkingset_refault 2\nallocstall 5\n";
        let counters = ReclaimCounters::parse(old, 1).unwrap();
        assert_eq!((counters.refaulted_bytes, counters.direct_reclaims), (2, 5));
        assert_eq!(ReclaimCounters::parse(b"nr_dirty 1\n", 4096), None);
    }
}
