//! A file system with one file, whose operations can be made to take seconds. Its requests cannot
//! be interrupted once they are with the server: whoever waits is in state D.

#![allow(dead_code, reason = "not every test needs all of it")]

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fuser::{
    BsdFileFlags, Config, Errno, FileAttr, FileHandle, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::file_attributes::file_attributes;
use crate::requirement::{Requirement, skip};

const DISK: INodeNo = INodeNo(2);
const SCRATCH: INodeNo = INodeNo(3);
const SIZE: u64 = 64 << 20;
/// What a byte reads as that was never written.
const NEVER_WRITTEN: u8 = 7;
const TIME_TO_LIVE: Duration = Duration::from_secs(3600);
/// How long a slow operation takes.
const SLOW: Duration = Duration::from_secs(5);

/// An operation that can be slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Of a name that is not there.
    Lookup,
    Open,
    Read,
    Write,
    Fsync,
}

/// How long each read and write takes, besides.
#[derive(Default)]
enum Service {
    #[default]
    AtOnce,
    /// One after the other.
    Serial(Duration),
    /// All at the same time.
    Parallel(Duration),
    /// One after the other as on a hard disk: a seek where it does not continue the one before, and its size
    /// at that many bytes a second.
    Seeking(Duration, f64),
}

/// Which operations are slow, and how many of them wait.
struct Speed {
    /// What was written, each byte as its difference to [`NEVER_WRITTEN`], so that untouched memory
    /// takes none.
    content: Mutex<Vec<u8>>,
    service: Mutex<Service>,
    /// The request that is served, by the end of the one before.
    served: Mutex<u64>,
    /// How long a flush takes.
    flush: Mutex<Duration>,
    slow: [AtomicBool; 5],
    waiting: [AtomicUsize; 5],
    /// A file whose name was removed is neither opened nor has it sizes, as on mergerfs.
    loses_removed_files: AtomicBool,
    /// The test is over: nothing waits any more.
    over: AtomicBool,
}

impl Speed {
    fn new() -> Self {
        Self {
            content: Mutex::new(vec![0; SIZE as usize]),
            service: Mutex::default(),
            served: Mutex::default(),
            flush: Mutex::default(),
            slow: Default::default(),
            waiting: Default::default(),
            loses_removed_files: AtomicBool::default(),
            over: AtomicBool::default(),
        }
    }

    fn read(&self, offset: u64, size: u32) -> Vec<u8> {
        let content = self.content.lock().unwrap();
        let end = (offset + u64::from(size)).min(SIZE);
        let part = content.get(offset as usize..end as usize);
        let part = part.unwrap_or_default();
        part.iter().map(|byte| byte ^ NEVER_WRITTEN).collect()
    }

    fn write(&self, offset: u64, data: &[u8]) {
        let mut content = self.content.lock().unwrap();
        let part = content.iter_mut().skip(offset as usize);
        for (byte, new) in part.zip(data) {
            *byte = new ^ NEVER_WRITTEN;
        }
    }

    /// Answers now, or on a thread of its own when the time has come. A transfer has an offset and a size.
    fn answer(
        self: &Arc<Self>,
        operation: Operation,
        transfer: Option<(u64, u64)>,
        answer: impl FnOnce() + Send + 'static,
    ) {
        let index = operation as usize;
        if !self.slow[index].load(Ordering::SeqCst) {
            return self.serve(operation, transfer, answer);
        }
        self.waiting[index].fetch_add(1, Ordering::SeqCst);
        let speed = Arc::clone(self);
        std::thread::spawn(move || {
            let until = std::time::Instant::now() + SLOW;
            while std::time::Instant::now() < until && !speed.over.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_millis(10));
            }
            answer();
            speed.waiting[index].fetch_sub(1, Ordering::SeqCst);
        });
    }

    /// Answers after the time that a transfer or a flush takes.
    fn serve(
        self: &Arc<Self>,
        operation: Operation,
        transfer: Option<(u64, u64)>,
        answer: impl FnOnce() + Send + 'static,
    ) {
        let (offset, size) = transfer.unwrap_or_default();
        let (is_serial, seek, move_time) = match *self.service.lock().unwrap() {
            _ if operation == Operation::Fsync => {
                (true, Duration::ZERO, *self.flush.lock().unwrap())
            }
            Service::Serial(time) if transfer.is_some() => (true, Duration::ZERO, time),
            Service::Parallel(time) if transfer.is_some() => (false, Duration::ZERO, time),
            Service::Seeking(seek, rate) if transfer.is_some() => {
                (true, seek, Duration::from_secs_f64(size as f64 / rate))
            }
            _ => return answer(),
        };
        if seek + move_time == Duration::ZERO {
            return answer();
        }
        let speed = Arc::clone(self);
        std::thread::spawn(move || {
            let mut served = is_serial.then(|| speed.served.lock().unwrap());
            let mut time = move_time;
            if let Some(end) = served.as_deref_mut().filter(|_| transfer.is_some()) {
                if *end != offset {
                    time += seek;
                }
                *end = offset + size;
            }
            if !speed.over.load(Ordering::SeqCst) {
                std::thread::sleep(time);
            }
            answer();
            drop(served);
        });
    }
}

struct Server(Arc<Speed>);

impl Server {
    fn is_lost(&self, inode: INodeNo) -> bool {
        inode == SCRATCH && self.0.loses_removed_files.load(Ordering::SeqCst)
    }
}

fn attributes(inode: INodeNo) -> FileAttr {
    file_attributes(inode, SIZE, (0o755, 0o666), 0)
}

impl Filesystem for Server {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name.to_str() {
            Some("disk") => reply.entry(&TIME_TO_LIVE, &attributes(DISK), Generation(0)),
            _ => self
                .0
                .answer(Operation::Lookup, None, || reply.error(Errno::ENOENT)),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&TIME_TO_LIVE, &attributes(inode));
    }

    fn setattr(
        &self,
        _: &Request,
        inode: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<std::time::SystemTime>,
        _: Option<FileHandle>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<std::time::SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        reply.attr(&TIME_TO_LIVE, &attributes(inode));
    }

    fn open(&self, _: &Request, inode: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        if self.is_lost(inode) {
            return reply.error(Errno::ESTALE);
        }
        self.0.answer(Operation::Open, None, || {
            reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
        });
    }

    fn create(
        &self,
        _: &Request,
        _: INodeNo,
        _: &OsStr,
        _: u32,
        _: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let attributes = attributes(SCRATCH);
        let flags = FopenFlags::FOPEN_DIRECT_IO;
        reply.created(
            &TIME_TO_LIVE,
            &attributes,
            Generation(0),
            FileHandle(0),
            flags,
        );
    }

    fn unlink(&self, _: &Request, _: INodeNo, _: &OsStr, reply: ReplyEmpty) {
        reply.ok();
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let data = self.0.read(offset, size);
        let transfer = Some((offset, u64::from(size)));
        self.0
            .answer(Operation::Read, transfer, move || reply.data(&data));
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let count = data.len() as u32;
        let transfer = Some((offset, u64::from(count)));
        self.0.write(offset, data);
        self.0
            .answer(Operation::Write, transfer, move || reply.written(count));
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.0.answer(Operation::Fsync, None, || reply.ok());
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn statfs(&self, _: &Request, inode: INodeNo, reply: ReplyStatfs) {
        if self.is_lost(inode) {
            return reply.error(Errno::ESTALE);
        }
        let blocks = 100 << 18;
        reply.statfs(blocks, blocks, blocks, 100, 100, 4096, 255, 4096);
    }
}

/// The file system, mounted until it is dropped.
pub struct SlowDisk {
    mount: tempfile::TempDir,
    speed: Arc<Speed>,
    session: Option<fuser::BackgroundSession>,
}

impl SlowDisk {
    /// All operations are quick at first; `None` where FUSE is not to be had.
    pub fn mount() -> Option<Self> {
        if rustix::fs::access("/dev/fuse", rustix::fs::Access::WRITE_OK).is_err() {
            skip(Requirement::Fuse, "/dev/fuse cannot be opened");
            return None;
        }
        let mount = tempfile::tempdir().unwrap();
        let speed = Arc::new(Speed::new());
        let mut options = Config::default();
        options.mount_options = vec![MountOption::FSName("slow-disk".to_owned())];
        let server = Server(Arc::clone(&speed));
        match fuser::spawn_mount(server, mount.path(), &options) {
            Ok(session) => Some(Self {
                mount,
                speed,
                session: Some(session),
            }),
            Err(error) => {
                skip(Requirement::Fuse, error);
                None
            }
        }
    }

    pub fn directory(&self) -> PathBuf {
        self.mount.path().to_owned()
    }

    pub fn file(&self) -> PathBuf {
        self.mount.path().join("disk")
    }

    /// From now on a file whose name was removed is not opened again, and its file system tells no sizes for it.
    pub fn lose_removed_files(&self) {
        self.speed.loses_removed_files.store(true, Ordering::SeqCst);
    }

    /// From now on the operation takes five seconds.
    pub fn slow_down(&self, operation: Operation) {
        self.speed.slow[operation as usize].store(true, Ordering::SeqCst);
    }

    /// From now on each read and each write takes that time, one after the other.
    pub fn serve_serially(&self, time: Duration) {
        *self.speed.service.lock().unwrap() = Service::Serial(time);
    }

    /// The same, many at a time.
    pub fn serve_in_parallel(&self, time: Duration) {
        *self.speed.service.lock().unwrap() = Service::Parallel(time);
    }

    /// From now on reads and writes take as long as on a hard disk with that time for a seek and that many
    /// bytes a second.
    pub fn serve_as_hard_disk(&self, seek: Duration, bytes_per_s: f64) {
        *self.speed.service.lock().unwrap() = Service::Seeking(seek, bytes_per_s);
    }

    /// From now on each flush takes that time, while nothing else is served.
    pub fn flush_in(&self, time: Duration) {
        *self.speed.flush.lock().unwrap() = time;
    }

    /// Whether somebody waits for the operation.
    pub fn is_waited_for(&self, operation: Operation) -> bool {
        self.speed.waiting[operation as usize].load(Ordering::SeqCst) > 0
    }

    /// Answers everything at once from now on.
    pub fn be_quick(&self) {
        self.speed.over.store(true, Ordering::SeqCst);
        for slow in &self.speed.slow {
            slow.store(false, Ordering::SeqCst);
        }
    }
}

impl Drop for SlowDisk {
    fn drop(&mut self) {
        self.be_quick();
        let unmounted = Command::new("umount")
            .arg("-l")
            .arg(self.mount.path())
            .status();
        let done = unmounted.is_ok_and(|status| status.success());
        assert!(done || std::thread::panicking(), "it stays mounted");
        drop(self.session.take());
    }
}
