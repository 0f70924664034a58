//! Opens of a regular file that wait until the test lets them go on (fanotify(7), `FAN_OPEN_PERM`).

#![allow(dead_code, reason = "not every test program needs all of it")]

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::process::wait_until;
use crate::requirement::{Requirement, skip};

const POLL_INTERVAL: Duration = Duration::from_millis(2);
const EVENT_BYTES: usize = size_of::<libc::fanotify_event_metadata>();

/// The opens of a file by the first process for which a condition is met; until it is dropped.
pub struct HeldOpens {
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct State {
    waiting: AtomicUsize,
    is_released: AtomicBool,
    is_over: AtomicBool,
}

impl HeldOpens {
    /// `condition` is evaluated when a process opens the file. `None`, and why, where the kernel asks nobody.
    pub fn of(path: &Path, condition: impl FnMut() -> bool + Send + 'static) -> Option<Self> {
        let group = match watch_opens(path) {
            Ok(group) => group,
            Err(error) => {
                skip(Requirement::Kernel, format!("fanotify: {error}"));
                return None;
            }
        };
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || answer_opens(group, &shared, condition));
        Some(Self {
            state,
            thread: Some(thread),
        })
    }

    /// Whether an open waits.
    pub fn is_waiting(&self) -> bool {
        self.state.waiting.load(Ordering::SeqCst) > 0
    }

    /// Waits until an open waits.
    pub fn wait(&self) {
        wait_until("an open of the target", || self.is_waiting());
    }

    /// Those that wait go on, and no other one waits.
    pub fn release(&self) {
        self.state.is_released.store(true, Ordering::SeqCst);
    }
}

impl Drop for HeldOpens {
    fn drop(&mut self) {
        self.release();
        self.state.is_over.store(true, Ordering::SeqCst);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(matches!(ended, Some(Ok(()))) || std::thread::panicking());
    }
}

fn watch_opens(path: &Path) -> io::Result<File> {
    let path = std::ffi::CString::new(path.as_os_str().as_bytes()).unwrap();
    let class = libc::FAN_CLASS_CONTENT | libc::FAN_CLOEXEC | libc::FAN_NONBLOCK;
    // SAFETY: the descriptor is new and owned by nobody else; the path ends with a zero.
    unsafe {
        let group = libc::fanotify_init(class, (libc::O_RDONLY | libc::O_CLOEXEC) as u32);
        if group < 0 {
            return Err(io::Error::last_os_error());
        }
        let group = OwnedFd::from_raw_fd(group);
        let (add, opens) = (libc::FAN_MARK_ADD, libc::FAN_OPEN_PERM);
        let raw = std::os::fd::AsRawFd::as_raw_fd(&group);
        match libc::fanotify_mark(raw, add, opens, libc::AT_FDCWD, path.as_ptr()) {
            0 => Ok(group.into()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

/// Answers all opens, those that wait when they are released.
fn answer_opens(mut group: File, state: &State, mut condition: impl FnMut() -> bool) {
    let mut waiting: Vec<OwnedFd> = Vec::new();
    let mut held_process = None;
    while !state.is_over.load(Ordering::SeqCst) {
        let is_released = state.is_released.load(Ordering::SeqCst);
        if is_released {
            waiting.drain(..).for_each(|file| allow(&group, file));
        }
        let Some((file, process)) = next_open(&mut group) else {
            std::thread::sleep(POLL_INTERVAL);
            continue;
        };
        let may_wait = !is_released && held_process.is_none_or(|held| held == process);
        match may_wait && (held_process.is_some() || condition()) {
            true => {
                held_process = Some(process);
                waiting.push(file);
                state.waiting.fetch_add(1, Ordering::SeqCst);
            }
            false => allow(&group, file),
        }
    }
    waiting.drain(..).for_each(|file| allow(&group, file));
}

/// The file that a process opens, and the process.
fn next_open(group: &mut File) -> Option<(OwnedFd, i32)> {
    // For one event only.
    let mut bytes = [0; EVENT_BYTES];
    let length = group.read(&mut bytes).ok()?;
    assert_eq!(length, EVENT_BYTES);
    // SAFETY: the kernel has filled the structure, which has no invalid values; the descriptor is new.
    unsafe {
        let event: libc::fanotify_event_metadata = std::ptr::read_unaligned(bytes.as_ptr().cast());
        Some((OwnedFd::from_raw_fd(event.fd), event.pid))
    }
}

fn allow(mut group: &File, file: OwnedFd) {
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    let answer = [fd.to_ne_bytes(), libc::FAN_ALLOW.to_ne_bytes()].concat();
    // The process may have been killed.
    let _ = group.write_all(&answer);
}
