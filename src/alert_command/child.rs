//! Starts the process of a command: what happens between fork and exec.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::fs::{Gid, Uid};
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, setrlimit, setsid};
use rustix::thread::{
    clear_ambient_capability_set, set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

use super::command_line::AlertProgram;
use super::environment::Variable;
use super::identity::{ExecIdentity, IdentityChange};

/// Descriptors that are examined one by one on kernels before 5.11 at most.
const MAX_DESCRIPTORS: u64 = 65_536;
/// `CLOSE_RANGE_CLOEXEC` (linux/close_range.h).
const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;

/// What the process of a command has.
#[derive(Debug)]
pub(super) struct ChildSetup<'a> {
    pub(super) program: &'a AlertProgram,
    pub(super) identity: &'a ExecIdentity,
    pub(super) environment: Vec<Variable>,
    /// Limit of open files of this process when it started: later it is raised.
    pub(super) open_files: &'a Rlimit,
}

/// Starts the process, in a session of its own: it has no terminal, and signals of the terminal do
/// not reach it. stdin is `/dev/null`; its output goes to stderr, because stdout is the result.
///
/// # Errors
/// If it cannot be started, or its identity cannot be changed.
pub(super) fn spawn(setup: ChildSetup<'_>) -> io::Result<Child> {
    let mut command = Command::new(&setup.program.path);
    command
        .args(&setup.program.arguments)
        .env_clear()
        .envs(setup.environment)
        .stdin(Stdio::null())
        .stdout(copy_of_stderr());
    let identity = setup.identity.0.clone();
    if identity != IdentityChange::None {
        command.current_dir("/");
    }
    let limit = Rlimit {
        current: setup.open_files.current,
        maximum: setup.open_files.maximum,
    };
    let before_exec = move || -> io::Result<()> { Ok(prepare_process(&identity, &limit)?) };
    // SAFETY: the function makes system calls on values that were made before the fork. It neither
    // allocates nor takes locks, which another thread may have held at the fork.
    unsafe { command.pre_exec(before_exec) };
    command.spawn()
}

/// Closed where stderr is.
fn copy_of_stderr() -> Stdio {
    match io::stderr().as_fd().try_clone_to_owned() {
        Ok(descriptor) => descriptor.into(),
        Err(_) => Stdio::null(),
    }
}

/// Runs in the child. The order matters: without its privileges a process can no longer drop its
/// groups.
fn prepare_process(identity: &IdentityChange, open_files: &Rlimit) -> Result<(), Errno> {
    setsid()?;
    // SAFETY: the default action takes no function. This program ignores the signal.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_DFL) };
    close_descriptors_on_exec(open_files);
    let limit = Rlimit {
        current: open_files.current,
        maximum: open_files.maximum,
    };
    setrlimit(Resource::Nofile, limit)?;
    match identity {
        IdentityChange::Root(_) => Ok(()),
        // Kernels before 4.3 have no such set.
        IdentityChange::None => clear_ambient_capability_set().or_else(|error| match error {
            Errno::INVAL => Ok(()),
            other => Err(other),
        }),
        IdentityChange::To(account) => {
            let (user, group) = (
                Uid::from_raw(account.user_id),
                Gid::from_raw(account.group_id),
            );
            set_groups(&account.groups)?;
            set_thread_res_gid(group, group, group)?;
            set_thread_res_uid(user, user, user)?;
            // What was dropped must not come back.
            match set_thread_res_uid(Uid::ROOT, Uid::ROOT, Uid::ROOT) {
                Ok(()) => Err(Errno::PERM),
                Err(_) => Ok(()),
            }
        }
    }
}

/// At most as many groups as fit: the kernel permits 65,536, but memory cannot be allocated here.
fn set_groups(groups: &[u32]) -> Result<(), Errno> {
    const MAX_GROUPS: usize = 256;
    let mut ids = [Gid::ROOT; MAX_GROUPS];
    let count = groups.len().min(MAX_GROUPS);
    for (id, group) in ids.iter_mut().zip(groups) {
        *id = Gid::from_raw(*group);
    }
    set_thread_groups(&ids[..count])
}

/// Descriptors that this program has inherited would otherwise be passed on. Its own ones are
/// closed already.
fn close_descriptors_on_exec(open_files: &Rlimit) {
    // SAFETY: the call changes a flag of descriptors.
    let answer = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            3,
            libc::c_uint::MAX,
            CLOSE_RANGE_CLOEXEC,
        )
    };
    if answer == 0 {
        return;
    }
    let limit = open_files.maximum.unwrap_or(MAX_DESCRIPTORS);
    for descriptor in 3..limit.min(MAX_DESCRIPTORS) as libc::c_int {
        // SAFETY: the call changes a flag of one descriptor, or fails where there is none.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
}
