//! Literal trees of files, one laid over another.

use std::fs;
use std::path::Path;

/// Lays a tree over another: files are replaced, links are kept as links.
pub fn lay(from: &Path, over: &Path) {
    fs::create_dir_all(over).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let (source, target) = (entry.path(), over.join(entry.file_name()));
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            lay(&source, &target);
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source).unwrap(), &target).unwrap();
        } else {
            fs::write(&target, fs::read(&source).unwrap()).unwrap();
        }
    }
}
