//! A program in a pseudo-terminal, its keys and its screen.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{
    LocalModes, OptionalActions, Termios, Winsize, tcgetattr, tcsetattr, tcsetwinsize,
};

use crate::requirement::{Requirement, skip};

/// How long anything may take on a busy machine.
const WAIT_TIMEOUT: Duration = Duration::from_secs(60);

/// A program in a terminal of 100 x 30.
pub struct PtyTerminal {
    master: Option<File>,
    slave: OwnedFd,
    initial_modes: Termios,
    child: Child,
    screen: vt100::Parser,
    output_bytes: Vec<u8>,
}

impl PtyTerminal {
    /// Starts a program as the leader of a session of its own, in `directory`.
    pub fn start(program: &Path, arguments: &[&str], directory: &Path) -> Self {
        let master =
            openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
        let slave: OwnedFd = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .unwrap()
            .into();
        let size = Winsize {
            ws_row: 30,
            ws_col: 100,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&master, size).unwrap();
        let before = tcgetattr(&slave).unwrap();
        let stream = || Stdio::from(slave.try_clone().unwrap());
        // setsid(1) makes the terminal the controlling one, as sshd does.
        let child = Command::new("setsid")
            .arg("--ctty")
            .arg(program)
            .args(arguments)
            .current_dir(directory)
            .env("XDG_STATE_HOME", directory.join("state"))
            .env("XDG_CONFIG_HOME", directory.join("state/config"))
            .env_remove("COLORFGBG")
            // What a panic says must fit the screen that is looked at.
            .env("RUST_BACKTRACE", "0")
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .stdin(stream())
            .stdout(stream())
            .stderr(stream())
            .spawn()
            .unwrap();
        Self {
            master: Some(master.into()),
            slave,
            initial_modes: before,
            child,
            screen: vt100::Parser::new(30, 100, 0),
            output_bytes: Vec::new(),
        }
    }

    /// The program's process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The process that does the program's work: the supervisor's child.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn worker_id(&self) -> u32 {
        let id = self.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
        // The process of the clean-up, where it is still there, was started first.
        let worker = children.split_whitespace().last().unwrap();
        worker.parse().unwrap()
    }

    /// Types.
    pub fn send_keys(&mut self, keys: &str) {
        self.master
            .as_mut()
            .unwrap()
            .write_all(keys.as_bytes())
            .unwrap();
    }

    /// Sends a signal to the program.
    pub fn send_signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Makes the terminal larger or smaller.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        self.screen.screen_mut().set_size(rows, columns);
        tcsetwinsize(self.master.as_ref().unwrap(), size).unwrap();
    }

    /// Waits until the program has been told of the last `resize`.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn wait_for_handled_resize(&self) {
        let path = format!("/proc/{}/status", self.worker_id());
        wait_until("a handled SIGWINCH", || {
            let status = std::fs::read_to_string(&path).unwrap();
            let pending = |name| {
                let line = status.lines().find_map(|line| line.strip_prefix(name));
                u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
            };
            let both = pending("SigPnd:") | pending("ShdPnd:");
            both & 1 << (Signal::WINCH.as_raw() - 1) == 0
        });
    }

    /// Waits until what was typed can be read by the program.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn wait_for_unread_keys(&self) {
        wait_until("keys to read", || {
            rustix::io::ioctl_fionread(&self.slave).unwrap() > 0
        });
    }

    /// Number of typed bytes that no program has read.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn unread_bytes(&self) -> u64 {
        // In canonical mode an incomplete line is not counted.
        let mut modes = tcgetattr(&self.slave).unwrap();
        modes.local_modes.remove(LocalModes::ICANON);
        tcsetattr(&self.slave, OptionalActions::Now, &modes).unwrap();
        rustix::io::ioctl_fionread(&self.slave).unwrap()
    }

    /// The connection breaks.
    pub fn hang_up(&mut self) {
        self.master = None;
    }

    /// Takes at most that many bytes of what was written, without waiting.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn take_output(&mut self, most: usize) -> usize {
        let Some(master) = &mut self.master else {
            return 0;
        };
        let mut events = [PollFd::new(master, PollFlags::IN)];
        if poll(&mut events, Some(&Timespec::default())).unwrap() == 0 {
            return 0;
        }
        let mut bytes = vec![0; most];
        let count = master.read(&mut bytes).unwrap_or(0);
        self.screen.process(&bytes[..count]);
        self.output_bytes.extend_from_slice(&bytes[..count]);
        count
    }

    /// Fills the terminal until it takes no more, as if its reader had stopped long ago.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn fill_output(&self) {
        let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let path = format!("/proc/self/fd/{}", self.slave.as_raw_fd());
        let terminal = rustix::fs::open(path, flags, Mode::empty()).unwrap();
        wait_until("a full terminal", || {
            rustix::io::write(&terminal, &[b' '; 64]) == Err(rustix::io::Errno::AGAIN)
        });
    }

    /// Whether the program runs, without reading what it writes.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn try_wait(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// Whether the terminal has the modes that it had before.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn has_initial_modes(&self) -> bool {
        let now = tcgetattr(&self.slave).unwrap();
        now.local_modes == self.initial_modes.local_modes
    }

    /// Waits until the screen shows this text.
    pub fn wait_for_text(&mut self, text: &str) {
        self.wait_until(text, |screen| screen.contents().contains(text));
    }

    /// Waits until the screen looks as wanted.
    pub fn wait_until(&mut self, what: &str, wanted: impl Fn(&vt100::Screen) -> bool) {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        while !wanted(self.screen.screen()) {
            let shown = self.screen.screen().contents();
            assert!(
                Instant::now() < deadline,
                "waited for {what:?}, saw:\n{shown}"
            );
            assert!(
                self.read_output() || self.is_running(),
                "waited for {what:?}, ended with:\n{shown}"
            );
        }
    }

    fn is_running(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Reads what was drawn, if anything came within a tenth of a second.
    fn read_output(&mut self) -> bool {
        let Some(master) = &mut self.master else {
            return false;
        };
        let tenth = Timespec {
            tv_sec: 0,
            tv_nsec: 100_000_000,
        };
        let mut events = [PollFd::new(master, PollFlags::IN)];
        if poll(&mut events, Some(&tenth)).unwrap() == 0 {
            return false;
        }
        let mut bytes = [0; 16_384];
        let count = master.read(&mut bytes).unwrap_or(0);
        self.screen.process(&bytes[..count]);
        self.output_bytes.extend_from_slice(&bytes[..count]);
        count > 0
    }

    /// Waits for the program's end.
    pub fn wait_for_exit(&mut self) -> ExitStatus {
        let deadline = Instant::now() + WAIT_TIMEOUT;
        loop {
            let more = self.read_output();
            if let Some(status) = self.child.try_wait().unwrap()
                && !more
            {
                return status;
            }
            assert!(
                Instant::now() < deadline,
                "{}",
                self.screen.screen().contents()
            );
        }
    }

    /// Every byte that was written to it.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn output_bytes(&self) -> &[u8] {
        &self.output_bytes
    }

    /// What the terminal shows now.
    pub fn screen_text(&self) -> String {
        self.screen.screen().contents()
    }

    /// Asserts that the terminal is as it was before.
    pub fn assert_restored(&self) {
        let (now, before) = (tcgetattr(&self.slave).unwrap(), &self.initial_modes);
        assert_eq!(now.local_modes, before.local_modes);
        assert_eq!(now.input_modes, before.input_modes);
        assert_eq!(now.output_modes, before.output_modes);
        let screen = self.screen.screen();
        assert!(!screen.alternate_screen(), "still on the alternate screen");
        assert!(!screen.hide_cursor(), "the cursor is still hidden");
        assert!(!screen.bracketed_paste(), "pasted text is still bracketed");
        let mouse = screen.mouse_protocol_mode();
        assert_eq!(mouse, vt100::MouseProtocolMode::None);
    }
}

/// Whether setsid(1) is there, which gives a program its terminal; a skip where not.
#[track_caller]
#[allow(dead_code, reason = "measurements need no skip")]
pub fn setsid_is_available() -> bool {
    let found = Command::new("setsid").arg("--version").output().is_ok();
    if !found {
        skip(Requirement::Program, "setsid(1) is missing");
    }
    found
}

/// Waits for something that draws nothing.
fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + WAIT_TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "waited for {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Drop for PtyTerminal {
    fn drop(&mut self) {
        // A test that failed leaves nothing running.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
