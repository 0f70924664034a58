//! Whole trees of `/proc` and `/sys` of real kernels, damaged, and everything that reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diskscope::probe::SampleCollector;
use diskscope::roots::SysPaths;
use diskscope::snapshot::{ViewBuilder, ViewSettings};
use proptest::sample::Index;

use crate::overlay::lay;
use crate::parsers::damage::{self, ByteEdit};
use crate::parsers::{checks, seeds};

/// One file's damage.
pub type FileDamage = (Index, Vec<(Index, ByteEdit)>);

fn apply_damages(root: &Path, damages: &[FileDamage]) {
    let mut files: Vec<PathBuf> = Vec::new();
    seeds::collect_files(root, &mut files);
    files.sort();
    for (which, edits) in damages {
        let file = &files[which.index(files.len())];
        let bytes = damage::apply_edits(fs::read(file).unwrap(), edits);
        fs::write(file, bytes).unwrap();
    }
}

/// Two moments of a kernel, both damaged, read, understood and printed.
pub fn sample_damaged_tree(kernel: &str, before: &[FileDamage], after: &[FileDamage]) {
    let root = tempfile::tempdir().unwrap();
    let tree = |moment: &str| {
        seeds::repository_root()
            .join("tests/kernels")
            .join(kernel)
            .join(moment)
    };
    lay(&tree("before"), root.path());
    apply_damages(root.path(), before);
    let roots = SysPaths::under_root(root.path());
    let mut collector = SampleCollector::new(roots.clone());
    let mut modeler = ViewBuilder::new(ViewSettings {
        all_processes: true,
        ..ViewSettings::default()
    });
    let mut first = collector.collect();
    checks::shift_times(&mut first, Duration::from_secs(1));
    modeler.update(Arc::new(first));
    lay(&tree("after"), root.path());
    apply_damages(root.path(), after);
    let mut second = collector.collect();
    checks::shift_times(&mut second, Duration::from_secs(2));
    checks::sampled(&modeler.update(Arc::new(second)));
    checks::files_on_demand(&roots);
}

/// A tree of a kernel without its tables of devices.
pub fn device_tree() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let kernel = seeds::repository_root().join("tests/kernels/4.15/before");
    lay(&kernel, root.path());
    root
}
