//! Tables of mounts, of swap areas, and of udev.

#![no_main]

#[allow(dead_code, reason = "each target needs some of them")]
#[path = "../checks.rs"]
mod checks;
#[path = "../../support/overlay.rs"]
mod overlay;

use std::path::Path;
use std::sync::LazyLock;

const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels/4.15/before");

static TREE: LazyLock<tempfile::TempDir> = LazyLock::new(|| {
    let root = tempfile::tempdir().expect("a place for a small tree");
    overlay::lay(Path::new(KERNEL), root.path());
    root
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| checks::device_tables(TREE.path(), bytes));
