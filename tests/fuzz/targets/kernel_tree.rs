//! One file of a tree of `/proc` and `/sys`, and everything that reads the tree. The first byte selects
//! the file.

#![no_main]

#[allow(dead_code, reason = "each target needs some of them")]
#[path = "../checks.rs"]
mod checks;
#[path = "../../support/overlay.rs"]
mod overlay;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use diskscope::snapshot::{ViewBuilder, ViewSettings};
use diskscope::probe::SampleCollector;
use diskscope::roots::SysPaths;

const KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../kernels/4.15/before");

/// Files that the tree lacks.
const ADDED_FILES: [(&str, &str); 4] = [
    (
        "run/udev/data/b8:0",
        "E:ID_MODEL=DISK\nS:disk/by-id/ata-DISK_1\nE:ID_FS_TYPE=ext4\n",
    ),
    (
        "proc/mdstat",
        "md0 : active raid1 sdb[1] sda1[0]\n      1000 blocks [2/2] [UU]\n",
    ),
    (
        "proc/swaps",
        "Filename Type Size Used Priority\n/dev/sda1 partition 1000 10 -2\n",
    ),
    (
        "proc/vmstat",
        "pgpgin 1000\npgpgout 2000\npswpin 1\npswpout 2\nnr_dirty 3\n",
    ),
];

/// A tree of which one file is replaced, and what its files hold.
struct Tree {
    root: tempfile::TempDir,
    files: Vec<(PathBuf, Vec<u8>)>,
}

static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let root = tempfile::tempdir().expect("a place for a small tree");
    overlay::lay(Path::new(KERNEL), root.path());
    for (name, content) in ADDED_FILES {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("a name with a directory")).expect("a directory");
        fs::write(path, content).expect("room for a small file");
    }
    let mut files = Vec::new();
    collect(root.path(), &mut files);
    files.sort();
    Tree { root, files }
});

fn collect(directory: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_symlink() {
            continue;
        }
        match fs::read(&path) {
            Ok(content) => files.push((path, content)),
            Err(_) => collect(&path, files),
        }
    }
}

/// Two samples of the tree, what is printed of them, and what is read only when somebody asks.
fn check_tree(root: &Path) {
    let roots = SysPaths::under_root(root);
    let mut collector = SampleCollector::new(roots.clone());
    let mut builder = ViewBuilder::new(ViewSettings {
        all_processes: true,
        ..ViewSettings::default()
    });
    for second in 1..3 {
        let mut sample = collector.collect();
        checks::shift_times(&mut sample, Duration::from_secs(second));
        checks::sampled(&builder.update(Arc::new(sample)));
    }
    checks::files_on_demand(&roots);
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let Some((which, content)) = bytes.split_first() else {
        return;
    };
    let (path, original) = &TREE.files[usize::from(*which) % TREE.files.len()];
    fs::write(path, content).expect("room for a small file");
    check_tree(TREE.root.path());
    fs::write(path, original).expect("room for a small file");
});
