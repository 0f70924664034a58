//! I/O of the machine as a whole, as the kernel's memory management counts it.

use crate::probe::text::{nonempty_lines, parse_number};

/// Counters of `/proc/vmstat`, all in bytes.
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

impl PagingCounters {
    /// Parses `/proc/vmstat`; pages are `page` bytes long. Kernels before 2.6.37 lack some fields.
    #[must_use]
    pub fn parse(text: &[u8], page: u64) -> Option<Self> {
        let value = |name: &[u8], unit: u64| {
            let line = nonempty_lines(text).find_map(|line| line.strip_prefix(name))?;
            parse_number(line.trim_ascii())?.checked_mul(unit)
        };
        Some(Self {
            paged_in_bytes: value(b"pgpgin ", 1024)?,
            paged_out_bytes: value(b"pgpgout ", 1024)?,
            dirtied_bytes: value(b"nr_dirtied ", page)?,
            written_back_bytes: value(b"nr_written ", page)?,
        })
    }

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
    fn paging_counters_charge_reads_dirtied_pages_and_direct_writes() {
        let before = PagingCounters::default();
        let text = b"nr_dirtied 10\nnr_written 4\npgpgin 100\npgpgout 20\n";
        let now = PagingCounters::parse(text, 4096).unwrap();
        // 100 KiB read, 10 pages dirtied, and 20 KiB written, 16 of them by writeback.
        assert_eq!(now.charged_bytes_since(&before), (100 + 40 + 4) * 1024);
        assert_eq!(before.charged_bytes_since(&now), 0);
        assert_eq!(PagingCounters::parse(b"pgpgin 1\n", 4096), None);
    }
}
