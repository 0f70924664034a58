//! Whole trees of `/proc` and `/sys` of real kernels, damaged, and everything that reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diskscope::drive::{advice, file_systems, identity, mounts};
use diskscope::model::{ViewBuilder, ViewSettings};
use diskscope::probe::process::open_files;
use diskscope::probe::{SampleCollector, SystemSample};
use diskscope::report::watch;
use diskscope::roots::SysPaths;
use proptest::sample::Index;

use crate::overlay::lay;
use crate::parsers::damage::{self, ByteEdit};
use crate::parsers::seeds;

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

/// Moves a sample to another time.
fn shift_times(sample: &mut SystemSample, at: Duration) {
    sample.boot_time = at;
    for process in &mut sample.processes {
        process.read_at = at;
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
    shift_times(&mut first, Duration::from_secs(1));
    modeler.update(Arc::new(first));
    lay(&tree("after"), root.path());
    apply_damages(root.path(), after);
    let mut second = collector.collect();
    shift_times(&mut second, Duration::from_secs(2));
    let live = modeler.update(Arc::new(second));
    assert!(!watch::watch_text(&live, true).is_empty());
    let line = watch::json_line(&live).unwrap();
    serde_json::from_str::<serde_json::Value>(&line).unwrap();
    read_other_files(&roots);
}

/// What is read only when somebody asks.
fn read_other_files(roots: &SysPaths) {
    let file_systems = file_systems::list_file_systems(roots);
    for drive in identity::list_block_devices(roots) {
        assert!(!drive.label().chars().any(char::is_control), "{drive:?}");
        std::hint::black_box(advice::tuning_advice(&drive, &file_systems, None));
    }
    let _ = (mounts::mounts(roots), mounts::swaps(roots));
    std::hint::black_box(open_files::deleted_files(roots));
}
