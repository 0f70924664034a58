//! What may not be examined, or is not examined in time, counts as a use: by other users, with some
//! of root's capabilities, and in other user namespaces.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use crate::guard::sandbox::{
    Background, GuardSandbox, assert_refused, assert_written, is_root, overwrite_arguments,
    overwrite_command, run_overwrite, test_content, wait_until,
};
use crate::loop_device::LoopDevice;
use crate::requirement::{Requirement, skip};

const USER: u32 = 1000;
/// All processes may be examined, but links of mappings not followed.
const SEES_PROCESSES: &str = "+sys_ptrace,+dac_read_search";

/// A node of a loop device that an ordinary user may write.
fn node(sandbox: &GuardSandbox, device: &LoopDevice, name: &str) -> PathBuf {
    let number = fs::metadata(device.path()).unwrap().rdev();
    let path = sandbox.path(name);
    let (kind, mode) = (rustix::fs::FileType::BlockDevice, 0o600.into());
    rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, number).unwrap();
    chown(&path, Some(USER), Some(USER)).unwrap();
    path
}

/// The program's state directory of an ordinary user, who may enter the place.
fn state(sandbox: &GuardSandbox) -> PathBuf {
    fs::set_permissions(sandbox.directory.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let state = sandbox.subdirectory("state");
    chown(&state, Some(USER), Some(USER)).unwrap();
    state
}

fn as_user(options: &[&str], words: &[&str]) -> Command {
    let user = USER.to_string();
    let mut command = Command::new("setpriv");
    command.args(["--reuid", &user, "--regid", &user, "--clear-groups"]);
    command.args(options).args(words);
    command
}

/// Overwrites a target as an ordinary user with these capabilities; `None` where that user cannot
/// start the program.
fn overwrite_as_user(sandbox: &GuardSandbox, target: &Path, capabilities: &str) -> Option<Output> {
    let options = match capabilities {
        "" => vec![],
        some => vec!["--inh-caps", some, "--ambient-caps", some],
    };
    let mut command = as_user(&options, &[env!("CARGO_BIN_EXE_diskscope")]);
    overwrite_arguments(&mut command, target.as_ref(), &["--requests", "20"]);
    let output = command.env("XDG_STATE_HOME", state(sandbox)).output();
    let started = output
        .ok()
        .filter(|it| !matches!(it.status.code(), Some(126 | 127)));
    if started.is_none() {
        skip(Requirement::Program, "setpriv cannot start the program");
    }
    started
}

fn python(script: &str, arguments: &[&Path]) -> Option<Background> {
    let child = Command::new("python3")
        .arg("-c")
        .arg(script)
        .args(arguments)
        .stdin(Stdio::null())
        .spawn();
    match child {
        Ok(child) => Some(Background(child)),
        Err(error) => {
            skip(Requirement::Program, format!("python3: {error}"));
            None
        }
    }
}

/// Waits until a program has made a file.
fn wait_for(child: &mut Child, done: &Path) {
    wait_until("the program is ready", || {
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        done.exists()
    });
}

/// Every process hands the device to its child and ends.
const CHAIN: &str = "
import os, sys, time
file = os.open(sys.argv[1], os.O_RDWR)
open(sys.argv[2], 'w').close()
if os.fork():
    os._exit(0)
os.setsid()
end = time.time() + 60
while time.time() < end and os.path.exists(sys.argv[2]):
    if os.fork():
        os._exit(0)
    time.sleep(0.001)
";

#[test]
fn device_that_processes_hand_on_to_their_children_is_refused() {
    let sandbox = GuardSandbox::new();
    let Some(device) = LoopDevice::attach(&sandbox.create_image("image"), &[]) else {
        return;
    };
    let done = sandbox.path("done");
    let Some(mut first) = python(CHAIN, &[device.path().as_ref(), &done]) else {
        return;
    };
    wait_until("the chain has begun", || {
        first.0.try_wait().unwrap().is_some()
    });
    assert!(done.exists());
    for _ in 0..5 {
        assert_refused(&run_overwrite(device.path()), "");
    }
    fs::remove_file(&done).unwrap();
    wait_until("the chain has ended, and the device is written", || {
        run_overwrite(device.path()).status.code() == Some(0)
    });
}

/// In a mount namespace with nodes that the user may open and a /proc that hides the processes of
/// others.
const HIDING: &str = "
set -e
mount -t tmpfs -o mode=755 tmpfs /dev
mknod -m 666 /dev/null c 1 3
mknod -m 666 /dev/urandom c 1 9
for device in /sys/block/loop*; do
    number=$(cat $device/dev)
    mknod -m 600 /dev/${device##*/} b ${number%:*} ${number#*:}
    chown 1000 /dev/${device##*/}
done
mount -t proc -o hidepid=2 proc /proc
exec \"$@\"
";

#[test]
fn device_is_refused_where_processes_are_hidden_whatever_a_user_namespace_permits() {
    if !is_root() {
        return;
    }
    // The nodes of other tests' loop devices are asked too.
    let sandbox = GuardSandbox::exclusive();
    let Some(device) = LoopDevice::attach(&sandbox.create_image("image"), &[]) else {
        return;
    };
    let node = node(&sandbox, &device, "node");
    let state = state(&sandbox);
    let held = OpenOptions::new().write(true).open(device.path()).unwrap();
    for own_namespace in [&["unshare", "-r"][..], &[]] {
        let user = USER.to_string();
        let mut command = Command::new("unshare");
        command.args(["-m", "--propagation", "private", "sh", "-c", HIDING, "sh"]);
        command.args([
            "setpriv",
            "--reuid",
            &user,
            "--regid",
            &user,
            "--clear-groups",
        ]);
        command
            .args(own_namespace)
            .arg(env!("CARGO_BIN_EXE_diskscope"));
        overwrite_arguments(&mut command, node.as_ref(), &["--requests", "20"]);
        let output = command.env("XDG_STATE_HOME", &state).output().unwrap();
        if output.status.code() == Some(1) && output.stderr.starts_with(b"unshare:") {
            return skip(Requirement::Namespaces, "no user namespaces");
        }
        assert_refused(&output, "hides the processes");
    }
    drop(held);
}

/// A shared mapping of what has no path any more; in its place comes what is named next.
const MAPPER: &str = "
import mmap, os, sys, time
file = os.open(sys.argv[1], os.O_RDWR)
memory = mmap.mmap(file, 4096)
# The mapping keeps another descriptor of its own.
os.closerange(3, 100)
os.unlink(sys.argv[1])
if len(sys.argv) > 3:
    open(sys.argv[3], 'w').close()
open(sys.argv[2], 'w').close()
time.sleep(600)
";

#[test]
fn device_mapped_by_a_removed_node_is_refused_where_mappings_may_not_be_followed() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let Some(device) = LoopDevice::attach(&sandbox.create_image("image"), &[]) else {
        return;
    };
    let (target, removed) = (
        node(&sandbox, &device, "node"),
        node(&sandbox, &device, "removed"),
    );
    let done = sandbox.path("done");
    let Some(mut mapper) = python(MAPPER, &[&removed, &done]) else {
        return;
    };
    wait_for(&mut mapper.0, &done);
    let Some(output) = overwrite_as_user(&sandbox, &target, SEES_PROCESSES) else {
        return;
    };
    assert_refused(&output, "may not be examined");
    assert_refused(&run_overwrite(&target), "mapped for writing");
    let without = "-sys_admin,-checkpoint_restore";
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", without, "--inh-caps", without]);
    command.arg(env!("CARGO_BIN_EXE_diskscope"));
    overwrite_arguments(&mut command, target.as_ref(), &["--requests", "20"]);
    assert_refused(&command.output().unwrap(), "may not be examined");
}

#[test]
fn mapped_file_whose_path_leads_elsewhere_is_refused_where_mappings_may_not_be_followed() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::exclusive();
    let file = sandbox.create_image("file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o664)).unwrap();
    chown(&file, Some(0), Some(USER)).unwrap();
    let target = sandbox.path("second name");
    fs::hard_link(&file, &target).unwrap();
    let (done, other) = (sandbox.path("done"), sandbox.path("file (deleted)"));
    let Some(mut mapper) = python(MAPPER, &[&file, &done, &other]) else {
        return;
    };
    wait_for(&mut mapper.0, &done);
    let Some(output) = overwrite_as_user(&sandbox, &target, SEES_PROCESSES) else {
        return;
    };
    assert_refused(&output, "");
    drop(mapper);
    // Nobody has it any more, and only its owner is told so by a lease.
    let output = overwrite_as_user(&sandbox, &target, SEES_PROCESSES).unwrap();
    assert_refused(&output, "no lease");
    chown(&target, Some(USER), Some(USER)).unwrap();
    assert_written(&overwrite_as_user(&sandbox, &target, "").unwrap());
}

/// A memfd of a user, who drops all descriptors of it but a path, and a mapping of root's.
const SHARED_MEMORY: &str = "
import ctypes, mmap, os, sys, time
libc = ctypes.CDLL(None, use_errno=True)
ready, go = os.pipe(), os.pipe()
child = os.fork()
if child == 0:
    os.setgroups([]); os.setgid(1000); os.setuid(1000)
    libc.prctl(4, 1, 0, 0, 0)
    memory = os.memfd_create('shared')
    os.truncate(memory, 32 << 20)
    os.dup2(memory, 50); os.close(memory)
    os.write(ready[1], b'x'); os.read(go[0], 1)
    path = os.open('/proc/self/fd/50', os.O_PATH)
    os.dup2(path, 51); os.close(50)
    os.write(ready[1], b'x')
    time.sleep(600)
os.read(ready[0], 1)
handle = os.pidfd_open(child)
file = libc.syscall(438, handle, 50, 0)
memory = mmap.mmap(file, 32 << 20)
os.close(file)
os.write(go[1], b'x'); os.read(ready[0], 1)
with open(sys.argv[1] + '.new', 'w') as done:
    done.write(str(child))
os.rename(sys.argv[1] + '.new', sys.argv[1])
try:
    time.sleep(600)
finally:
    os.kill(child, 9)
";

#[test]
fn shared_memory_that_another_user_has_mapped_is_refused() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let done = sandbox.path("done");
    let Some(mut mapper) = python(SHARED_MEMORY, &[&done]) else {
        return;
    };
    wait_for(&mut mapper.0, &done);
    let child = fs::read_to_string(&done).unwrap();
    let child = rustix::process::Pid::from_raw(child.parse().unwrap()).unwrap();
    let target = PathBuf::from(format!("/proc/{}/fd/51", child.as_raw_nonzero()));
    let output = overwrite_as_user(&sandbox, &target, "");
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
    if let Some(output) = output {
        assert_refused(&output, "no lease");
    }
}

/// A thread takes a descriptor table of its own (unshare(2), CLONE_FILES) and has the device open in it
/// alone.
const THREAD: &str = "
import ctypes, os, sys, threading, time
def hold():
    if ctypes.CDLL(None).unshare(0x400) != 0:
        os._exit(3)
    os.open(sys.argv[1], os.O_RDWR)
    open(sys.argv[2], 'w').close()
    time.sleep(600)
threading.Thread(target=hold).start()
time.sleep(600)
";

#[test]
fn device_open_in_a_thread_with_descriptors_of_its_own_is_refused() {
    let sandbox = GuardSandbox::new();
    let Some(device) = LoopDevice::attach(&sandbox.create_image("image"), &[]) else {
        return;
    };
    let done = sandbox.path("done");
    let Some(mut holder) = python(THREAD, &[device.path().as_ref(), &done]) else {
        return;
    };
    wait_for(&mut holder.0, &done);
    let expected = format!("process {} (", holder.0.id());
    assert_refused(&run_overwrite(device.path()), &expected);
    drop(holder);
    assert_written(&run_overwrite(device.path()));
}

/// Serves a FUSE file system, as it seems, from a file that it reads.
const SERVER: &str = "
import os, sys, time
image = os.open(sys.argv[1], os.O_RDONLY)
server = os.open('/dev/fuse', os.O_RDWR)
open(sys.argv[2], 'w').close()
time.sleep(600)
";

#[test]
fn file_or_device_that_a_server_of_a_file_system_reads_is_refused() {
    if File::open("/dev/fuse").is_err() {
        return skip(Requirement::Fuse, "no /dev/fuse");
    }
    let sandbox = GuardSandbox::new();
    let file = sandbox.create_image("file");
    let image = sandbox.create_image("image");
    let device = LoopDevice::attach(&image, &[]);
    let mut targets = vec![file];
    targets.extend(device.iter().map(|device| device.path().into()));
    for target in &targets {
        let done = sandbox.path("done");
        let _ = fs::remove_file(&done);
        let Some(mut server) = python(SERVER, &[target, &done]) else {
            return;
        };
        wait_for(&mut server.0, &done);
        assert_refused(&run_overwrite(target), "may serve a file system");
        drop(server);
        assert_written(&run_overwrite(target));
    }
}

#[test]
fn device_that_is_written_by_another_node_is_locked_at_its_usual_one() {
    if !is_root() {
        return;
    }
    let sandbox = GuardSandbox::new();
    let Some(device) = LoopDevice::attach(&sandbox.create_image("image"), &[]) else {
        return;
    };
    let node = node(&sandbox, &device, "node");
    let long = ["--duration", "60s", "--rate", "50"];
    let run = overwrite_command(node.as_ref(), &long)
        .stdout(Stdio::null())
        .spawn();
    let run = Background(run.unwrap());
    let operation = rustix::fs::FlockOperation::NonBlockingLockShared;
    for path in [node.as_path(), device.path().as_ref()] {
        let opened = File::open(path).unwrap();
        wait_until("it is locked", || {
            let locked = rustix::fs::flock(&opened, operation);
            rustix::fs::flock(&opened, rustix::fs::FlockOperation::Unlock).unwrap();
            locked.is_err()
        });
    }
    drop(run);
    let usual = File::open(device.path()).unwrap();
    wait_until("the lock has gone", || {
        rustix::fs::flock(&usual, operation).is_ok()
    });
    let before = test_content(&sandbox.path("image"));
    assert_refused(&run_overwrite(&node), "lock");
    assert!(test_content(&sandbox.path("image")) == before);
}
