//! Whole trees of `/proc` and `/sys` of real kernels, damaged, and everything that reads them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use diskscope::drive::{advice, file_systems, identity, mounts};
use diskscope::model::{Modeler, Settings};
use diskscope::probe::{Collector, Sample, open_files};
use diskscope::report::watch;
use diskscope::roots::Roots;
use proptest::sample::Index;

use crate::damage::{self, Edit};
use crate::overlay::lay;
use crate::seeds;

/// One file's damage.
pub type Damage = (Index, Vec<(Index, Edit)>);

fn damage(root: &Path, damages: &[Damage]) {
    let mut files: Vec<PathBuf> = Vec::new();
    seeds::collect(root, &mut files);
    files.sort();
    for (which, edits) in damages {
        let file = &files[which.index(files.len())];
        let bytes = damage::bytes(fs::read(file).unwrap(), edits);
        fs::write(file, bytes).unwrap();
    }
}

/// Moves a sample to another time.
fn shift(sample: &mut Sample, at: Duration) {
    sample.at = at;
    for process in &mut sample.processes {
        process.read_at = at;
    }
}

/// Two moments of a kernel, both damaged, read, understood and printed.
pub fn watch(kernel: &str, before: &[Damage], after: &[Damage]) {
    let root = tempfile::tempdir().unwrap();
    let tree = |moment: &str| {
        seeds::root()
            .join("tests/kernels")
            .join(kernel)
            .join(moment)
    };
    lay(&tree("before"), root.path());
    damage(root.path(), before);
    let roots = Roots::below(root.path());
    let mut collector = Collector::new(roots.clone());
    let mut modeler = Modeler::new(Settings {
        all_processes: true,
        ..Settings::default()
    });
    let mut first = collector.collect();
    shift(&mut first, Duration::from_secs(1));
    modeler.update(Arc::new(first));
    lay(&tree("after"), root.path());
    damage(root.path(), after);
    let mut second = collector.collect();
    shift(&mut second, Duration::from_secs(2));
    let live = modeler.update(Arc::new(second));
    assert!(!watch::text(&live).is_empty());
    let line = watch::line(&live).unwrap();
    serde_json::from_str::<serde_json::Value>(&line).unwrap();
    others(&roots);
}

/// What is read only when somebody asks.
fn others(roots: &Roots) {
    let file_systems = file_systems::list(roots);
    for drive in identity::list(roots) {
        assert!(!drive.label().chars().any(char::is_control), "{drive:?}");
        std::hint::black_box(advice::advise(&drive, &file_systems, None));
    }
    let _ = (mounts::mounts(roots), mounts::swaps(roots));
    std::hint::black_box(open_files::deleted(roots));
}
