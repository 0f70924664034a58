//! What a process waits for, and how busy a device is.

/// Where a process waits, according to the kernel function that it is blocked in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WaitPlace {
    /// For a page that is read.
    Read,
    /// For a write or a flush to complete.
    Write,
    /// For writeback, because of the limit of dirty memory.
    DirtyLimit,
    /// For the next process of a pipeline.
    Pipe,
    /// For something else.
    Other,
}

/// The place that a wait channel stands for (mm/filemap.c, mm/page-writeback.c, block/, fs/jbd2,
/// fs/xfs, fs/btrfs; names since kernel 4.15).
#[must_use]
pub fn wait_place(channel: &str) -> WaitPlace {
    const READS: &str = "folio_wait_bit_common wait_on_page_bit_common filemap_update_page \
        filemap_get_pages filemap_read generic_file_buffered_read";
    const WRITES: &str = "folio_wait_writeback wait_on_page_writeback submit_bio_wait \
        blkdev_issue_flush filemap_fdatawait __filemap_fdatawait file_write_and_wait jbd2_ \
        wait_transaction_locked xfs_log_ xlog_ btrfs_wait_ wait_current_trans wbt_wait";
    let begins = |names: &str| {
        let mut names = names.split_ascii_whitespace();
        names.any(|name| channel.starts_with(name))
    };
    // Without `_common` it is the wait for writeback; with it, for a page to be read.
    let writeback = matches!(channel, "folio_wait_bit" | "wait_on_page_bit");
    if channel.starts_with("balance_dirty") {
        WaitPlace::DirtyLimit
    } else if writeback || begins(WRITES) {
        WaitPlace::Write
    } else if begins(READS) {
        WaitPlace::Read
    } else if channel.contains("pipe_read") || channel.contains("pipe_write") {
        WaitPlace::Pipe
    } else {
        WaitPlace::Other
    }
}

/// Load of a device in an interval; `None` if unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct DeviceLoad {
    /// Fraction of the time with a request in flight.
    pub busy: Option<f64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<f64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<f64>,
    /// Mean response time of reads.
    pub read_await_ns: Option<f64>,
    /// Mean response time of writes.
    pub write_await_ns: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_channels_of_reads_and_writes_are_distinguished() {
        assert_eq!(wait_place("folio_wait_bit_common"), WaitPlace::Read);
        assert_eq!(wait_place("folio_wait_bit"), WaitPlace::Write);
        assert_eq!(wait_place("submit_bio_wait"), WaitPlace::Write);
        assert_eq!(wait_place("jbd2_log_wait_commit"), WaitPlace::Write);
        assert_eq!(
            wait_place("balance_dirty_pages_ratelimited_flags"),
            WaitPlace::DirtyLimit
        );
        assert_eq!(wait_place("anon_pipe_write"), WaitPlace::Pipe);
        assert_eq!(wait_place("do_select"), WaitPlace::Other);
    }
}
