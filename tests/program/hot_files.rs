//! The bytes of real requests are attributed to the right files, on real file systems. Needs root,
//! loop devices and tracefs; skipped visibly where there are none.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::num::NonZeroU64;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use diskscope::roots::SysPaths;
use diskscope::trace::hot_files::view::{HotFileView, HotFilesView};
use diskscope::trace::hot_files::{Access, FileTrace};
use rustix::fs::{Advice, fadvise, syncfs};
use serde_json::Value;

use crate::file_system::LoopFileSystem;
use crate::process::run_dd;
use crate::requirement::{Requirement, skip};

const PAGE_BYTES: usize = 4096;
/// Files of each way of access.
const FILES_PER_WAY: usize = 5;

/// One trace of files at a time: a test waits for the writeback of all.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// Bytes read and written by file.
type Traffic = BTreeMap<PathBuf, (u64, u64)>;

/// Length of the file with that number: all differ.
fn file_bytes(number: usize) -> u64 {
    ((number + 1) * 300 * PAGE_BYTES) as u64
}

fn dd(words: &[&str]) -> u32 {
    run_dd(&[words, &["bs=64k"]].concat())
}

fn write_with_dd(path: &Path, bytes: u64, option: &str) -> u32 {
    dd(&[
        "if=/dev/urandom",
        &format!("of={}", path.display()),
        &format!("count={bytes}"),
        "iflag=count_bytes",
        option,
    ])
}

/// Drops the pages of a file, which must be written back.
fn drop_pages(path: &Path) {
    let file = File::open(path).unwrap();
    file.sync_all().unwrap();
    fadvise(&file, 0, None::<NonZeroU64>, Advice::DontNeed).unwrap();
}

fn read_through_mapping(path: &Path) {
    let file = File::open(path).unwrap();
    let length = file.metadata().unwrap().len() as usize;
    // SAFETY: a new private mapping of a file that nobody truncates, read within its length and
    // unmapped once.
    unsafe {
        let flags = rustix::mm::MapFlags::PRIVATE;
        let access = rustix::mm::ProtFlags::READ;
        let mapping =
            rustix::mm::mmap(std::ptr::null_mut(), length, access, flags, &file, 0).unwrap();
        let bytes = std::slice::from_raw_parts(mapping.cast::<u8>(), length);
        let sum: u64 = bytes
            .iter()
            .step_by(PAGE_BYTES)
            .map(|byte| u64::from(*byte))
            .sum();
        std::hint::black_box(sum);
        rustix::mm::munmap(mapping, length).unwrap();
    }
}

/// Writes and reads a file with direct I/O. The buffer is aligned, and in memory before it is used:
/// a page fault would make a file system read twice.
fn transfer_directly(path: &Path, bytes: u64) {
    let mut memory = vec![0x5a_u8; 16 * PAGE_BYTES];
    let start = memory.as_ptr().align_offset(PAGE_BYTES);
    let buffer = &mut memory[start..start + 15 * PAGE_BYTES];
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .custom_flags(libc_o_direct())
        .open(path)
        .unwrap();
    for offset in (0..bytes).step_by(buffer.len()) {
        file.write_all_at(buffer, offset).unwrap();
    }
    file.sync_all().unwrap();
    for offset in (0..bytes).step_by(buffer.len()) {
        file.read_exact_at(buffer, offset).unwrap();
    }
}

fn libc_o_direct() -> i32 {
    rustix::fs::OFlags::DIRECT.bits() as i32
}

/// Files that exist before the trace begins.
fn prepare(directory: &Path) {
    for number in 0..FILES_PER_WAY {
        let path = directory.join(format!("old{number}"));
        write_with_dd(&path, file_bytes(number), "conv=fsync");
        drop_pages(&path);
    }
    syncfs(File::open(directory).unwrap()).unwrap();
}

/// Twenty files: written back by the kernel and read into the page cache, written by fsync and read
/// through a mapping, direct, and only read.
fn make_traffic(directory: &Path) -> Traffic {
    let mut expected = Traffic::new();
    let numbers = 0..FILES_PER_WAY;
    let path = |name: &str, number: usize| directory.join(format!("{name}{number}"));
    for number in numbers.clone() {
        let bytes = file_bytes(number);
        write_with_dd(&path("buffered", number), bytes, "conv=notrunc");
        write_with_dd(&path("synced", number), bytes, "conv=fsync");
        // A multiple of the buffer.
        let direct_bytes = bytes / (15 * PAGE_BYTES as u64) * (15 * PAGE_BYTES as u64);
        transfer_directly(&path("direct", number), direct_bytes);
        expected.insert(path("buffered", number), (bytes, bytes));
        expected.insert(path("synced", number), (bytes, bytes));
        expected.insert(path("direct", number), (direct_bytes, direct_bytes));
        expected.insert(path("old", number), (bytes, 0));
    }
    syncfs(File::open(directory).unwrap()).unwrap();
    for number in numbers {
        let (buffered, synced) = (path("buffered", number), path("synced", number));
        drop_pages(&buffered);
        drop_pages(&synced);
        dd(&[&format!("if={}", buffered.display()), "of=/dev/null"]);
        read_through_mapping(&synced);
        let old = path("old", number);
        let mut content = Vec::new();
        File::open(&old).unwrap().read_to_end(&mut content).unwrap();
    }
    expected
}

/// Traces what a function does; `None`, and why in one line, where that is not possible.
fn trace<T: Send + 'static>(
    action: impl FnOnce() -> T + Send + 'static,
) -> Option<(HotFilesView, T)> {
    let trace = match FileTrace::start(&SysPaths::default()) {
        Ok(trace) => trace,
        Err(error) => {
            skip(Requirement::Tracing, error);
            return None;
        }
    };
    let action = thread::spawn(action);
    while !action.is_finished() {
        assert_eq!(trace.end_reason(), None);
        thread::sleep(Duration::from_millis(20));
    }
    let made = action.join().unwrap();
    let (view, end_reason) = trace.finish();
    assert_eq!(end_reason, None);
    Some((view, made))
}

/// Bytes attributed as expected, and bytes attributed to a file that did not have them.
fn compare(view: &HotFilesView, device: &str, expected: &BTreeMap<u64, (u64, u64)>) -> (u64, u64) {
    let (mut right, mut wrong) = (0, 0);
    let files = view
        .files
        .iter()
        .filter(|one| one.file.device.as_str() == device);
    for file in files {
        let (read, written) = expected.get(&file.file.inode).copied().unwrap_or_default();
        let pairs = [(file.read_bytes, read), (file.written_bytes, written)];
        for (attributed, expected) in pairs {
            right += attributed.min(expected);
            wrong += attributed.saturating_sub(expected);
        }
    }
    (right, wrong)
}

fn inode_of(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap().ino()
}

/// Checks one type of file system, whose files are named where `names_all`.
fn check(kind: &str, requirement: Requirement, names_all: bool) -> Option<HotFilesView> {
    let _guard = ONE_AT_A_TIME.lock();
    let file_system = LoopFileSystem::new(kind, requirement)?;
    let directory = file_system.mount_point().to_owned();
    prepare(&directory);
    let traced = directory.clone();
    let (view, traffic) = trace(move || make_traffic(&traced))?;
    let total: u64 = traffic.values().map(|(read, written)| read + written).sum();
    let files = traffic.iter();
    let expected = files
        .map(|(path, bytes)| (inode_of(path), *bytes))
        .collect();
    let device = file_system.device().name();
    let (right, wrong) = compare(&view, device, &expected);
    assert_eq!(view.events_lost, 0);
    assert!(
        right * 100 >= total * 95,
        "{kind}: {right} of {total} bytes are right: {expected:?} {view:#?}"
    );
    assert!(
        wrong * 100 < total,
        "{kind}: {wrong} of {total} bytes are wrong: {expected:?} {view:#?}"
    );
    for (path, (read, written)) in &traffic {
        let name = path.file_name().unwrap().to_str().unwrap();
        let inode = inode_of(path);
        let is_file = |it: &&HotFileView| it.file.inode == inode && &*it.file.device == device;
        let found = view.files.iter().find(is_file);
        let file = found.unwrap_or_else(|| panic!("{kind}: {name} is missing in {view:#?}"));
        let named = file.file.path.as_deref().map(Path::new);
        if names_all {
            assert_eq!(named, Some(&**path), "{kind}");
        } else {
            assert!(named.is_none_or(|named| named == path), "{kind}: {named:?}");
        }
        let commands = file.who.iter().map(|user| user.process.command.as_str());
        let is_of_dd = commands.collect::<Vec<_>>().contains(&"dd");
        let access = file.via;
        match name.trim_end_matches(char::is_numeric) {
            "old" => assert_eq!(access, Some(Access::Buffered), "{kind}"),
            "direct" => assert_eq!(access, Some(Access::Direct), "{kind}"),
            _ => assert!(is_of_dd, "{kind} {name}: {file:?}"),
        }
        for (found, bytes) in [(file.read_bytes, *read), (file.written_bytes, *written)] {
            let is_near = found.abs_diff(bytes) * 20 <= bytes;
            assert!(is_near, "{kind} {name}: {found} instead of {bytes}");
        }
    }
    Some(view)
}

#[test]
fn hot_files_of_ext4_are_named_with_their_bytes() {
    let Some(view) = check("ext4", Requirement::Ext4, true) else {
        return;
    };
    assert!(view.metadata_bytes > 0, "the journal, too");
}

#[test]
fn hot_files_of_xfs_get_their_bytes() {
    // What is closed at once has only its inode.
    check("xfs", Requirement::Xfs, false);
}

/// Writes a file again and again through one descriptor, and reads it with direct I/O through another one.
fn keep_busy(path: &Path, time: Duration) {
    let writer = File::create(path).unwrap();
    let data = vec![7; 1 << 20];
    let end = Instant::now() + time;
    while Instant::now() < end {
        writer.write_all_at(&data, 0).unwrap();
        writer.sync_all().unwrap();
        fadvise(&writer, 0, None::<NonZeroU64>, Advice::DontNeed).unwrap();
        File::open(path)
            .unwrap()
            .read_exact_at(&mut vec![0; 1 << 20], 0)
            .unwrap();
    }
}

#[test]
fn files_of_a_btrfs_with_a_subvolume_are_named_unless_two_have_one_inode() {
    let _guard = ONE_AT_A_TIME.lock();
    let Some(file_system) = LoopFileSystem::new("btrfs", Requirement::Btrfs) else {
        return;
    };
    let subvolume = file_system.file_path("below");
    let made = Command::new("btrfs")
        .args(["-q", "subvolume", "create"])
        .arg(&subvolume)
        .status();
    if !made.is_ok_and(|status| status.success()) {
        return skip(Requirement::Btrfs, "btrfs(8) cannot make a subvolume");
    }
    // The first two have the same inode number.
    let files = ["above", "below/file", "below/other"].map(|name| file_system.file_path(name));
    let inodes = files.each_ref().map(|path| {
        File::create(path).unwrap();
        inode_of(path)
    });
    assert!(inodes[0] == inodes[1] && inodes[1] != inodes[2]);
    // A pipe that nobody reads might be full before it ends.
    let output = tempfile::NamedTempFile::new().unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["files", "--hot", "--duration", "2s", "--json"])
        .stdout(Stdio::from(output.reopen().unwrap()))
        .spawn()
        .unwrap();
    thread::sleep(Duration::from_millis(700));
    thread::scope(|scope| {
        for file in &files {
            scope.spawn(|| keep_busy(file, Duration::from_millis(1500)));
        }
    });
    let deadline = Instant::now() + Duration::from_secs(20);
    let status = loop {
        if let Some(status) = program.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            program.kill().unwrap();
            panic!("it does not end");
        }
        thread::sleep(Duration::from_millis(20));
    };
    if !status.success() {
        return skip(Requirement::Tracing, "requests cannot be traced");
    }
    let document: Value = serde_json::from_reader(output).unwrap();
    let listed = document["files"].as_array().unwrap();
    let written = |path: &Path| {
        let mut named = listed
            .iter()
            .filter(|file| file["path"].as_str() == path.to_str());
        named
            .next()
            .map_or(0, |file| file["written_bytes"].as_u64().unwrap())
    };
    let bytes = files.each_ref().map(|path| written(path));
    let unknown = document["unknown_bytes"].as_u64().unwrap();
    assert_eq!(bytes[0] + bytes[1], 0, "{document:#}");
    assert!(unknown > 0, "{document:#}");
    assert!(bytes[2] > 0, "{document:#}");
    assert!(document["unknown"]["subvolumes"].as_u64() > Some(0));
}

#[test]
fn file_system_whose_files_are_traced_can_be_unmounted() {
    let _guard = ONE_AT_A_TIME.lock();
    let Some(file_system) = LoopFileSystem::new("ext4", Requirement::Ext4) else {
        return;
    };
    let traced = trace(move || {
        std::fs::write(file_system.file_path("file"), [1; PAGE_BYTES]).unwrap();
        // The trace opens a file for a moment to find its path.
        let mut attempts = (0..50).map(|_| {
            thread::sleep(Duration::from_millis(100));
            file_system.unmount()
        });
        attempts.find(Result::is_ok)
    });
    if let Some((_, unmounted)) = traced {
        assert_eq!(unmounted, Some(Ok(())));
    }
}

#[test]
fn files_hot_prints_the_keys_of_the_contract() {
    if !rustix::process::geteuid().is_root() {
        return skip(Requirement::Root, "requests can be traced by root only");
    }
    let output = Command::new(env!("CARGO_BIN_EXE_diskscope"))
        .args(["files", "--hot", "--duration", "300ms", "--json"])
        .output()
        .unwrap();
    if !output.status.success() {
        return skip(
            Requirement::Tracing,
            String::from_utf8_lossy(&output.stderr).trim(),
        );
    }
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    for key in [
        "files",
        "unknown_bytes",
        "unknown",
        "metadata_bytes",
        "events_lost",
    ] {
        assert!(document.get(key).is_some(), "{key} is missing");
    }
}
