//! What happens to a target while it is written.

use std::fs::{self, File};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::FlockOperation;
use rustix::process::{Pid, Signal, kill_process};

use crate::file_system::LoopFileSystem;
use crate::guard::sandbox::{
    self, Background, GuardSandbox, IMAGE_BYTES, assert_written, is_root, overwrite_command,
    run_overwrite, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::process::worker_id;
use crate::requirement::{Requirement, skip};
use crate::slow_disk::{Operation, SlowDisk};

/// A run of half a minute that has begun to write.
fn start_writing_run(target: &std::path::Path) -> Background {
    let mut command = overwrite_command(
        target.as_os_str(),
        &["--duration", "30s", "--rate", "100/s"],
    );
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = Background(command.spawn().unwrap());
    // The file is one hole until the first request.
    wait_until("it writes", || fs::metadata(target).unwrap().blocks() > 0);
    child
}

/// Waits for a run to end by itself because its target came into use, as one that has failed. What it has
/// measured is in its document.
#[track_caller]
fn assert_run_ends_within(run: &mut Background, limit: Duration) -> serde_json::Value {
    let began = Instant::now();
    let stdout = run.0.stdout.take();
    // Read meanwhile: a pipe holds less than a long run has to say.
    let reader = stdout.map(|it| std::thread::spawn(move || std::io::read_to_string(it).unwrap()));
    wait_until("it ends", || run.0.try_wait().unwrap().is_some());
    assert!(began.elapsed() < limit, "{:?}", began.elapsed());
    let code = run.0.wait().unwrap().code();
    assert!(matches!(code, Some(1 | 3)), "{code:?}");
    let Some(reader) = reader else {
        return serde_json::Value::Null;
    };
    let document: serde_json::Value = serde_json::from_str(&reader.join().unwrap()).unwrap();
    let run = &document["runs"][0];
    assert_eq!(run["state"], "failed");
    assert!(!run["error"].is_null());
    run.clone()
}

/// The same for what ends it at once.
#[track_caller]
fn assert_run_ends(run: &mut Background) {
    assert_run_ends_within(run, Duration::from_secs(5));
}

/// The kernel has a reader wait until the run has given up its lease.
#[test]
fn reader_of_its_file_ends_the_run_and_gets_the_file() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let mut run = start_writing_run(&file);
    std::thread::sleep(Duration::from_millis(300));
    let began = Instant::now();
    let reader = File::open(&file).unwrap();
    assert!(began.elapsed() < Duration::from_secs(3), "it waits long");
    let result = assert_run_ends_within(&mut run, Duration::from_secs(5));
    assert!(result["latency"]["write"]["count"].as_u64() > Some(0));
    let ended = test_content(&file);
    std::thread::sleep(Duration::from_millis(200));
    assert!(test_content(&file) == ended, "it still writes");
    drop(reader);
    assert_written(&run_overwrite(&file));
}

/// A phase that only reads is part of a run that holds its target.
#[test]
fn opened_file_ends_a_writing_benchmark_also_while_it_reads() {
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    fs::write(&file, vec![7; usize::try_from(IMAGE_BYTES).unwrap()]).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
    command.arg("run").arg("quartet").arg(&file);
    command.arg("--overwrite").arg(&file);
    command.args(["--writes", "yes", "--duration", "60s", "--json", "-"]);
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut run = Background(command.stdin(Stdio::null()).spawn().unwrap());
    // It reads first.
    std::thread::sleep(Duration::from_secs(2));
    let began = Instant::now();
    drop(File::open(&file).unwrap());
    assert!(began.elapsed() < Duration::from_secs(3), "it waits long");
    assert_run_ends_within(&mut run, Duration::from_secs(5));
}

/// A run on a loop device in an image, that has begun to write.
fn start_run_on_device(device: &LoopDevice, duration: &str) -> Background {
    let words = ["--duration", duration, "--rate", "100/s"];
    let mut command = overwrite_command(device.path().as_ref(), &words);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let content = || test_content(device.path().as_ref());
    let before = content();
    let run = Background(command.spawn().unwrap());
    wait_until("it writes", || content() != before);
    run
}

/// A device cannot be kept from a program that opens it plainly.
#[test]
fn process_that_opens_its_device_for_writing_ends_the_run_within_ten_seconds() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let mut run = start_run_on_device(&device, "60s");
    let open = File::options().write(true).open(device.path()).unwrap();
    let result = assert_run_ends_within(&mut run, Duration::from_secs(11));
    let message = result["error"].to_string();
    let own_id = std::process::id().to_string();
    assert!(message.contains(&own_id), "{message}");
    drop(open);
}

#[test]
fn processes_that_read_a_device_do_not_end_a_run() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(device) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let mut run = start_run_on_device(&device, "2s");
    let reader = File::open(device.path()).unwrap();
    for _ in 0..5 {
        // As udev does with a device that changes.
        let _ = sandbox::command_output("blkid", &["-p", device.path()]);
        std::thread::sleep(Duration::from_millis(300));
    }
    wait_until("it ends", || run.0.try_wait().unwrap().is_some());
    assert_eq!(run.0.wait().unwrap().code(), Some(0));
    drop(reader);
}

/// Whether the lock that QEMU tries first on an image that it writes would be granted: byte 100, an
/// open file description lock.
fn is_granted_to_qemu(file: &File) -> bool {
    // SAFETY: struct flock consists of numbers, for which zero is valid.
    let mut request: libc::flock = unsafe { std::mem::zeroed() };
    request.l_type = libc::F_WRLCK as libc::c_short;
    request.l_whence = libc::SEEK_SET as libc::c_short;
    (request.l_start, request.l_len) = (100, 1);
    // SAFETY: F_OFD_GETLK reads and writes the struct flock whose address is given.
    let answer = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut request) };
    assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
    i32::from(request.l_type) == libc::F_UNLCK
}

/// For udev and QEMU, who open a device by its usual node, also where the run has it by another one. And nobody can
/// claim it: mount(2), swapon(2) and device-mapper open it like that.
#[test]
fn device_is_claimed_and_locked_at_its_usual_node_while_it_is_written() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let Some(device) = LoopDevice::attach(&sandbox.create_image("image"), &[]) else {
        return;
    };
    let number = fs::metadata(device.path()).unwrap().rdev();
    let node = sandbox.path("node");
    let (kind, mode) = (rustix::fs::FileType::BlockDevice, 0o600.into());
    rustix::fs::mknodat(rustix::fs::CWD, &node, kind, mode, number).unwrap();
    let usual = File::open(device.path()).unwrap();
    let is_free = || {
        let locked = rustix::fs::flock(&usual, FlockOperation::NonBlockingLockShared);
        rustix::fs::flock(&usual, FlockOperation::Unlock).unwrap();
        let claimed = File::options()
            .read(true)
            .custom_flags(libc::O_EXCL)
            .open(device.path());
        [locked.is_ok(), is_granted_to_qemu(&usual), claimed.is_ok()]
    };
    assert_eq!(is_free(), [true; 3]);
    let words = ["--duration", "60s", "--rate", "50"];
    let mut command = overwrite_command(node.as_ref(), &words);
    let run = Background(command.stdout(Stdio::null()).spawn().unwrap());
    wait_until("it is claimed and locked", || is_free() == [false; 3]);
    drop(run);
    wait_until("claim and locks have gone", || is_free() == [true; 3]);
}

/// The processes of a run: the program, and the worker that it starts.
fn processes_of(run: &Background) -> Vec<Pid> {
    let worker = worker_id(&run.0).and_then(Pid::from_raw);
    std::iter::once(Pid::from_child(&run.0))
        .chain(worker)
        .collect()
}

/// Requests that a worker may have checked just before it was stopped, and that it still submits
/// afterwards: one batch.
const CHECKED_BEFORE_STOP: usize = 8;

/// No more of the file changes than one batch of requests of 4 KiB, and nothing after that.
#[track_caller]
fn assert_content_unchanged(file: &Path, before: &[u8]) {
    let looks = Instant::now();
    let mut after_stop = None;
    while looks.elapsed() < Duration::from_millis(1500) {
        std::thread::sleep(Duration::from_millis(20));
        let now = test_content(file);
        let pairs = now.chunks(4096).zip(before.chunks(4096));
        let changed = pairs.filter(|(now, before)| now != before).count();
        assert!(changed <= CHECKED_BEFORE_STOP, "{changed} blocks changed");
        // The gate closes within its half second: what changes later was submitted later.
        if looks.elapsed() > Duration::from_secs(1) {
            let settled = after_stop.get_or_insert_with(|| now.clone());
            assert!(now == *settled, "the bytes still change");
        }
    }
}

/// Runs that are stopped, and go on after the kernel has given their files to others, as the leases were not given up
/// in time: nothing may be written any more.
#[test]
fn stopped_run_writes_nothing_after_others_got_its_file() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let engines = [("pread", "1"), ("uring", "8")];
    let mut runs = engines.map(|(engine, depth)| {
        let file = sandbox.create_image(engine);
        fs::write(&file, vec![0; usize::try_from(IMAGE_BYTES).unwrap()]).unwrap();
        let modified = || fs::metadata(&file).unwrap().modified().unwrap();
        let made = modified();
        let words = "--duration 30s --rate 2000/s --engine ENGINE --depth DEPTH";
        let words = words.replace("ENGINE", engine).replace("DEPTH", depth);
        let words: Vec<&str> = words.split(' ').collect();
        let mut command = overwrite_command(file.as_os_str(), &words);
        let run = Background(command.stdout(Stdio::null()).spawn().unwrap());
        // A reader would end the run.
        wait_until("it writes", || modified() != made);
        let processes = processes_of(&run);
        assert_eq!(processes.len(), 2, "{processes:?}");
        for process in &processes {
            kill_process(*process, Signal::STOP).unwrap();
            wait_until("it is stopped", || is_stopped(*process));
        }
        (file, run)
    });
    // Longer than the gap that the workers tolerate.
    std::thread::sleep(Duration::from_millis(1200));
    let lease_break_time = LeaseBreakTime::seconds(1);
    for (file, run) in &mut runs {
        let Some(device) = LoopDevice::attach(file, &[]) else {
            return;
        };
        let before = test_content(file);
        for process in processes_of(run).iter().rev() {
            kill_process(*process, Signal::CONT).unwrap();
        }
        assert_content_unchanged(file, &before);
        assert_run_ends(run);
        drop(device);
    }
    drop(lease_break_time);
}

/// How long a lease that somebody waits for is kept, put back at the end.
struct LeaseBreakTime {
    before: String,
    _alone: MutexGuard<'static, ()>,
}

impl LeaseBreakTime {
    const PATH: &str = "/proc/sys/fs/lease-break-time";

    fn seconds(seconds: u32) -> Self {
        static LOCK: Mutex<()> = Mutex::new(());
        let alone = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
        let before = fs::read_to_string(Self::PATH).unwrap();
        fs::write(Self::PATH, seconds.to_string()).unwrap();
        Self {
            before,
            _alone: alone,
        }
    }
}

impl Drop for LeaseBreakTime {
    fn drop(&mut self) {
        let _ = fs::write(Self::PATH, &self.before);
    }
}

fn is_stopped(process: Pid) -> bool {
    let directory = format!("/proc/{}/task", process.as_raw_nonzero());
    fs::read_dir(directory).unwrap().all(|thread| {
        let status = fs::read_to_string(thread.unwrap().path().join("status"));
        status.is_ok_and(|status| status.contains("State:\tT"))
    })
}

/// A request that the kernel has keeps the lease, also after the program has ended.
#[test]
fn file_is_leased_until_the_last_request_to_a_slow_disk_has_ended() {
    for engine in ["uring", "pread"] {
        let Some(slow) = SlowDisk::mount() else {
            return;
        };
        let Some(device) = LoopDevice::attach(&slow.file(), &[]) else {
            return;
        };
        // Without a journal nothing else is written meanwhile.
        let options = ["-O", "^has_journal"];
        let Some(mounted) = LoopFileSystem::on(device, "ext4", &options, Requirement::Ext4) else {
            return;
        };
        let file = mounted.file_path("file");
        fs::write(&file, vec![7; 8 << 20]).unwrap();
        rustix::fs::syncfs(File::open(mounted.mount_point()).unwrap()).unwrap();
        let _alone = LeaseBreakTime::seconds(60);
        let _quick = QuickAtTheEnd(&slow);
        let modified = || fs::metadata(&file).unwrap().modified().unwrap();
        let made = modified();
        // Past the page cache.
        let mut command = Command::new(env!("CARGO_BIN_EXE_diskscope"));
        command.arg("run").arg("random-write").arg(&file);
        command.arg("--overwrite").arg(&file);
        command.args(["--duration", "60s", "--engine", engine]);
        command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = Background(command.stdin(Stdio::null()).spawn().unwrap());
        wait_until("it writes", || modified() != made);
        slow.slow_down(Operation::Write);
        wait_until("a request is slow", || slow.is_waited_for(Operation::Write));
        std::thread::sleep(Duration::from_millis(200));
        kill_process(Pid::from_child(&run.0), Signal::INT).unwrap();
        run.0.wait().unwrap();
        let open = || {
            let mut options = File::options();
            let opened = options
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&file);
            opened.map_err(|error| error.raw_os_error())
        };
        let ended = Instant::now();
        while ended.elapsed() < Duration::from_secs(1) {
            let opened = open().err();
            assert!(slow.is_waited_for(Operation::Write), "it is slow no more");
            assert_eq!(opened, Some(Some(libc::EAGAIN)), "{engine}");
            std::thread::sleep(Duration::from_millis(20));
        }
        slow.be_quick();
        wait_until("it is given up", || open().is_ok());
    }
}

/// Has a disk answer before its file system is unmounted.
struct QuickAtTheEnd<'d>(&'d SlowDisk);

impl Drop for QuickAtTheEnd<'_> {
    fn drop(&mut self) {
        self.0.be_quick();
    }
}

/// The two sides of a new terminal.
fn open_pty() -> (File, File) {
    let (mut master, mut slave) = (0, 0);
    let none = std::ptr::null_mut();
    // SAFETY: openpty writes two descriptors, which are new and owned by nobody else; it accepts
    // null for the name, the settings and the size.
    unsafe {
        let answer = libc::openpty(&mut master, &mut slave, none, none.cast(), none.cast());
        assert_eq!(answer, 0, "{}", std::io::Error::last_os_error());
        (File::from_raw_fd(master), File::from_raw_fd(slave))
    }
}

/// Neither a terminal that takes nothing nor a directory of sessions that hangs keeps the file from others.
#[test]
fn run_that_can_tell_nobody_stops_writing_when_its_file_is_opened() {
    let mut sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let sessions = sandbox.create_image("sessions");
    let Some(device) = sandbox.mounted_loop_device(&sessions, &[]) else {
        return;
    };
    let state = sandbox.path("mounted-0");
    let state_name = state.to_str().unwrap().to_owned();
    let (master, slave) = open_pty();
    let words = ["--duration", "30s", "--rate", "200/s"];
    let mut command = overwrite_command(file.as_os_str(), &words);
    command.stdout(Stdio::null()).env("XDG_STATE_HOME", &state);
    command.stderr(slave.try_clone().unwrap());
    let run = Background(command.spawn().unwrap());
    wait_until("it writes", || fs::metadata(&file).unwrap().blocks() > 0);
    // SAFETY: tcflow takes a descriptor and a number.
    let blocked = unsafe { libc::tcflow(slave.as_raw_fd(), libc::TCOOFF) };
    assert_eq!(blocked, 0);
    if sandbox::command_output("fsfreeze", &["-f", &state_name]).is_none() {
        return skip(Requirement::Program, "no fsfreeze");
    }
    let thaw = Thaw(state_name);
    // It tells something meanwhile.
    std::thread::sleep(Duration::from_millis(1500));
    // The kernel gives the file to others when the time of a lease is over.
    let lease_break_time = LeaseBreakTime::seconds(1);
    let reader = File::open(&file).unwrap();
    drop(lease_break_time);
    assert_content_unchanged(&file, &test_content(&file));
    let processes = processes_of(&run);
    assert_eq!(processes.len(), 2, "the run has ended already");
    drop((reader, thaw, run, master));
    // The worker keeps the directory open for a moment longer.
    wait_until("all of it has ended", || {
        let is_there = |it: &Pid| fs::exists(format!("/proc/{}", it.as_raw_nonzero())).unwrap();
        !processes.iter().any(is_there)
    });
    drop((sandbox, device));
}

/// Lets a file system go on at the end.
struct Thaw(String);

impl Drop for Thaw {
    fn drop(&mut self) {
        sandbox::command_output("fsfreeze", &["-u", &self.0]);
    }
}

#[test]
fn run_on_a_loop_device_ends_when_another_is_attached_to_its_image() {
    let sandbox = GuardSandbox::new();
    let image = sandbox.create_image("image");
    let Some(target) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    let mut run = start_run_on_device(&target, "60s");
    let Some(sibling) = LoopDevice::attach(&image, &[]) else {
        return;
    };
    assert_run_ends_within(&mut run, Duration::from_secs(11));
    drop(sibling);
}
