//! Parameters of write-sync-close.

use crate::bench::framework;
use crate::bench::{Parameter, ParameterKind};

pub(crate) const FILE_BYTES: Parameter<u64> = Parameter {
    name: "file-bytes",
    kind: ParameterKind::Size { min: 4096 },
    help: "bytes written with each record size in each of four rounds before fsync and close",
    default: |target| (256 << 20).min(target.size_bytes),
};
pub(crate) const METHOD_BYTES: Parameter<u64> = Parameter {
    name: "method-bytes",
    kind: ParameterKind::Size { min: 4096 },
    help: "bytes written with each sync method in each of four rounds",
    default: |target| (4 << 20).min(target.size_bytes),
};
pub(crate) const METHOD_BLOCK_BYTES: Parameter<u64> = Parameter {
    help: "record size for the comparison of the sync methods",
    ..framework::BLOCK_SIZE.with_default(|_| 64 << 10)
};

/// Record size of the headline metrics.
pub(crate) const DEFAULT_RECORD_BYTES: u32 = 1 << 20;
