//! What the machine as a whole moves, counted by the kernel's memory management.

use super::text::{lines, number};

/// Counters of `/proc/vmstat`, all in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Fetched from devices (`pgpgin`).
    pub fetched: u64,
    /// Sent to devices (`pgpgout`).
    pub sent: u64,
    /// Written to memory that has to be written to a device later (`nr_dirtied`).
    pub dirtied: u64,
    /// Written back from memory (`nr_written`).
    pub written_back: u64,
}

impl Traffic {
    /// Reads `/proc/vmstat`; pages are `page` bytes long. Kernels before 2.6.37 lack some of it.
    #[must_use]
    pub fn read(text: &[u8], page: u64) -> Option<Self> {
        let value = |name: &[u8], unit: u64| {
            let line = lines(text).find_map(|line| line.strip_prefix(name))?;
            number(line.trim_ascii())?.checked_mul(unit)
        };
        Some(Self {
            fetched: value(b"pgpgin ", 1024)?,
            sent: value(b"pgpgout ", 1024)?,
            dirtied: value(b"nr_dirtied ", page)?,
            written_back: value(b"nr_written ", page)?,
        })
    }

    /// Bytes since an earlier reading that some process was charged with: reads when they are sent
    /// to the device, writes when memory becomes dirty (`task_io_account_read` and
    /// `task_io_account_write` of the kernel), and what goes to a device beside write-back, which is
    /// charged at once.
    #[must_use]
    pub fn charged_since(&self, before: &Self) -> u64 {
        let sent = self.sent.saturating_sub(before.sent);
        let written_back = self.written_back.saturating_sub(before.written_back);
        self.fetched
            .saturating_sub(before.fetched)
            .saturating_add(self.dirtied.saturating_sub(before.dirtied))
            .saturating_add(sent.saturating_sub(written_back))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_dirty_memory_and_direct_writes_are_charged() {
        let before = Traffic::default();
        let text = b"nr_dirtied 10\nnr_written 4\npgpgin 100\npgpgout 20\n";
        let now = Traffic::read(text, 4096).unwrap();
        // 100 KiB read, 10 pages dirtied, and 20 KiB sent, 16 of them written back.
        assert_eq!(now.charged_since(&before), (100 + 40 + 4) * 1024);
        assert_eq!(before.charged_since(&now), 0);
        assert_eq!(Traffic::read(b"pgpgin 1\n", 4096), None);
    }
}
