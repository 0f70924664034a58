//! Threads of another process that do not run for a while (ptrace(2)).

use std::io;
use std::ptr::null_mut;

use libc::{PTRACE_DETACH, PTRACE_INTERRUPT, PTRACE_SEIZE, c_uint, pid_t};

/// The threads, until this is dropped. It must be dropped by the thread that made it.
pub struct FrozenThreads(Vec<pid_t>);

impl FrozenThreads {
    /// All threads of a process but the main one.
    pub fn all_but_main(process: u32) -> Self {
        let mut frozen = Self(Vec::new());
        for thread in std::fs::read_dir(format!("/proc/{process}/task")).unwrap() {
            let name = thread.unwrap().file_name();
            let thread: pid_t = name.to_str().unwrap().parse().unwrap();
            if thread != pid_t::try_from(process).unwrap() && request(PTRACE_SEIZE, thread).is_ok()
            {
                frozen.0.push(thread);
                request(PTRACE_INTERRUPT, thread).unwrap();
                let mut status = 0;
                // SAFETY: waitpid writes one integer, whose address is given.
                let ended = unsafe { libc::waitpid(thread, &raw mut status, libc::__WALL) };
                assert_eq!(ended, thread, "{}", io::Error::last_os_error());
            }
        }
        assert!(!frozen.0.is_empty(), "no thread of {process} was frozen");
        frozen
    }
}

impl Drop for FrozenThreads {
    fn drop(&mut self) {
        for thread in &self.0 {
            // It may have been killed.
            let _ = request(PTRACE_DETACH, *thread);
        }
    }
}

fn request(what: c_uint, thread: pid_t) -> io::Result<()> {
    let nothing = null_mut::<libc::c_void>();
    // SAFETY: none of these requests reads or writes memory of this process.
    match unsafe { libc::ptrace(what, thread, nothing, nothing) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
