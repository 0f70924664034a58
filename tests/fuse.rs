//! The simulated hard disk as a real file, served through FUSE in real time, and measured by the
//! engine that real drives get. Says in one line why where FUSE is not to be had.

mod support;

use std::ffi::OsStr;
use std::sync::Mutex;
use std::time::{Duration, Instant, UNIX_EPOCH};

use diskscope::engine::simulated::hdd::{Access, Answer, Hdd, Settings};
use diskscope::engine::{self, Choice};
use diskscope::roots::Roots;
use fuser::{
    Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEntry, ReplyOpen, Request,
};
use support::run_on;

const DISK: INodeNo = INodeNo(2);
const FOREVER: Duration = Duration::from_secs(3600);

/// One file, `disk`, whose reads take as long as the drive's.
struct Spindle {
    drive: Mutex<Hdd>,
    began: Instant,
}

impl Spindle {
    fn attributes(&self, inode: INodeNo) -> FileAttr {
        let size = self.drive.lock().expect("no reader panicked").size();
        let disk = inode == DISK;
        FileAttr {
            ino: inode,
            size: if disk { size } else { 0 },
            blocks: if disk { size / 512 } else { 0 },
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind: if disk {
                FileType::RegularFile
            } else {
                FileType::Directory
            },
            perm: if disk { 0o444 } else { 0o555 },
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }

    /// Waits for that moment: asleep at first, awake for the last tenth of a millisecond.
    fn wait_until(&self, nanoseconds: f64) {
        let moment = self.began + Duration::from_nanos(nanoseconds as u64);
        let early = moment.saturating_duration_since(Instant::now());
        std::thread::sleep(early.saturating_sub(Duration::from_micros(100)));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
    }
}

impl Filesystem for Spindle {
    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name.to_str() {
            Some("disk") => reply.entry(&FOREVER, &self.attributes(DISK), Generation(0)),
            _ => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&FOREVER, &self.attributes(inode));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO);
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
        let now = self.began.elapsed().as_nanos() as f64;
        let access = Access {
            address: offset,
            bytes: size,
            write: false,
        };
        match self
            .drive
            .lock()
            .expect("no reader panicked")
            .serve(&access, now)
        {
            Answer::Done(at) => {
                self.wait_until(at);
                reply.data(&vec![0; size as usize]);
            }
            Answer::Failed(at) => {
                self.wait_until(at);
                reply.error(Errno::EIO);
            }
        }
    }
}

#[test]
fn the_speed_of_a_real_file_that_spins_is_found() {
    if rustix::fs::access("/dev/fuse", rustix::fs::Access::WRITE_OK).is_err() {
        println!("not tried: /dev/fuse cannot be opened here");
        return;
    }
    let settings = Settings {
        rpm: 15_000.0,
        full_stroke: 8e6,
        ..Settings::default()
    };
    let mount = tempfile::tempdir().unwrap();
    let spindle = Spindle {
        drive: Mutex::new(Hdd::new(settings)),
        began: Instant::now(),
    };
    let mut options = Config::default();
    options.mount_options = vec![MountOption::RO, MountOption::FSName("spindle".to_owned())];
    let session = match fuser::spawn_mount(spindle, mount.path(), &options) {
        Ok(session) => session,
        Err(error) => {
            println!("not tried: no file system can be mounted here: {error}");
            return;
        }
    };
    let disk = mount.path().join("disk");
    let opened = engine::open(
        &Roots::default(),
        disk.to_str().unwrap(),
        Choice::Auto,
        None,
    );
    let opened = opened.unwrap();
    let findings = run_on(
        "rotation",
        &opened.target,
        opened.engine(),
        &[("duration", "5s")],
    );
    drop(opened);
    drop(session);
    let speed = findings.figure("rotation_speed").map(|figure| figure.value);
    println!("{speed:?} {:?} {:?}", findings.figures, findings.verdicts);
    // A machine with much else to do delays answers, which is told: then there is no number to
    // hold against the truth.
    let doubtful = findings
        .verdicts
        .iter()
        .any(|verdict| verdict.code.starts_with("rotation-doubt"));
    match speed {
        Some(speed) if !doubtful => assert!((speed / 15_000.0 - 1.0).abs() < 2e-4, "{speed}"),
        _ => println!("not certain: {:?}", findings.verdicts),
    }
}
