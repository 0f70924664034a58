//! The space of a snapshot or a pool.

/// The space of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoreSpace {
    /// Its size in bytes.
    pub total_bytes: u64,
    /// Bytes that are left.
    pub free_bytes: u64,
    /// Bytes that one write takes at least.
    pub unit_bytes: u64,
}
