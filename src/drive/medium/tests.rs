//! Opening of media by name, and scratch files, on the real system.

use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt, symlink};

use super::*;
use crate::drive::{DriveError, ErrorKind, io_error_context, scratch};
use crate::requirement::{Requirement, skip};
use crate::roots::SysPaths;

fn open_error(name: &str) -> (ErrorKind, String) {
    let error = open_target(&SysPaths::default(), name, None).unwrap_err();
    assert!(!error.advice().is_empty());
    (error.kind(), error.to_string())
}

#[test]
fn unsupported_target_names_give_specific_errors() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (kind, text) = open_error(&path("missing"));
    assert_eq!(kind, ErrorKind::Usage);
    assert!(text.ends_with("missing does not exist"));
    assert!(open_error("/dev/null").1.contains("a character device"));
    fs::write(path("empty"), "").unwrap();
    assert!(open_error(&path("empty")).1.ends_with("is empty"));
    let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR);
    rustix::fs::mknodat(rustix::fs::CWD, path("pipe"), kind, mode, 0).unwrap();
    assert!(open_error(&path("pipe")).1.contains("a pipe"));
    symlink("/sys/kernel/uevent_seqnum", path("attribute")).unwrap();
    for name in [&path("attribute"), "/proc/self/environ"] {
        let (kind, text) = open_error(name);
        assert_eq!(kind, ErrorKind::Usage);
        assert!(text.contains("whose files act on the kernel"), "{text}");
    }
}

#[test]
fn device_that_root_may_not_open_is_measured_by_a_scratch_file() {
    let source = std::io::Error::from_raw_os_error(libc::EPERM);
    let error = io_error_context("open", "/dev/vda")(source);
    assert_eq!(error.kind(), ErrorKind::Failed);
    assert!(error.to_string().starts_with("cannot open /dev/vda: "));
    assert!(error.advice().contains("name a directory"));
}

#[test]
fn opened_file_is_identified_by_inode_after_rename() {
    let directory = tempfile::tempdir().unwrap();
    let [file, link] = ["file", "link"].map(|name| directory.path().join(name));
    fs::write(&file, vec![b'a'; 12_288]).unwrap();
    symlink(&file, &link).unwrap();
    let medium = open_target(&SysPaths::default(), link.to_str().unwrap(), None).unwrap();
    let target = &medium.target;
    assert_eq!((target.kind, target.size_bytes), (TargetKind::File, 12_288));
    assert!(
        target.logical_block_bytes >= 512
            && target.physical_block_bytes >= target.logical_block_bytes
    );
    assert!(target.file_system.is_some());
    let id = FileId::of_metadata(&fs::metadata(&file).unwrap());
    assert_eq!(medium.file_id(), id);
    fs::remove_file(&file).unwrap();
    fs::write(&file, vec![b'b'; 12_288]).unwrap();
    let reopened = fs::File::from(medium.open_reader(false).unwrap());
    let mut byte = [0];
    reopened.read_at(&mut byte, 0).unwrap();
    assert_eq!(&byte, b"a");
}

#[test]
fn scratch_file_is_fully_written_and_removed() {
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let name = directory.path().to_str().unwrap();
    let medium = match open_target(&SysPaths::default(), name, Some((5 << 20) + 1)) {
        Ok(medium) => medium,
        Err(error) => return skip(Requirement::Files, error),
    };
    let size = (5 << 20) + 4096;
    assert_eq!(medium.target.size_bytes, size, "whole blocks");
    assert!(!medium.is_filled());
    let mut seen = Vec::new();
    scratch::fill_scratch(&medium, &|| false, &mut |done, total| {
        seen.push((done, total))
    })
    .unwrap();
    assert_eq!(seen, [(4 << 20, size), (size, size)]);
    assert!(medium.is_filled());
    let facts = medium.file().metadata().unwrap();
    assert_eq!(facts.len(), size);
    assert!(facts.blocks() * 512 >= size, "no holes");
    let mut bytes = vec![0; size as usize];
    medium.file().read_exact_at(&mut bytes, 0).unwrap();
    let distinct: std::collections::HashSet<&[u8]> = bytes.chunks(512).collect();
    assert_eq!(distinct.len() as u64, size / 512);
    assert_eq!(fs::read_dir(name).unwrap().count(), 0);
}

#[test]
fn scratch_file_that_is_cancelled_or_too_large_takes_no_space() {
    let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let name = directory.path().to_str().unwrap();
    let Ok(medium) = open_target(&SysPaths::default(), name, Some(64 << 20)) else {
        return skip(Requirement::Files, "not enough space for a scratch file");
    };
    let written = std::cell::Cell::new(0);
    let result = scratch::fill_scratch(&medium, &|| written.get() > 0, &mut |done, _| {
        written.set(done)
    });
    assert!(matches!(result, Err(DriveError::Cancelled)));
    assert_eq!(written.get(), 4 << 20);
    assert_eq!(medium.file().metadata().unwrap().len(), 0);
    assert!(!medium.is_filled());
    let error = open_target(&SysPaths::default(), name, Some(1 << 60)).unwrap_err();
    assert!(matches!(error, DriveError::InsufficientSpace { .. }));
    assert_eq!(fs::read_dir(name).unwrap().count(), 0);
}
