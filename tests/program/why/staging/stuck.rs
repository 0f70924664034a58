//! What does not go on until somebody intervenes.

use std::io::{BufRead as _, BufReader, Lines};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::super::situation::Held;
use super::{Draw, Load, MIB, Requirement, Staged, direct_reader};
use crate::file_system::LoopFileSystem;
use crate::loop_device::LoopDevice;
use crate::process::wait_until;
use crate::slow_disk::SlowDisk;

/// What the server's process says before the place of its mount.
const MOUNTED: &str = "mounted on ";
/// Set for the server's process.
const SERVES: &str = "DISKSCOPE_TEST_SERVES";

/// A FUSE server in a process of its own, which can be stopped.
struct Server {
    process: Child,
    /// What it prints, which it could not do without.
    output: Lines<BufReader<ChildStdout>>,
    directory: PathBuf,
}

impl Server {
    fn start() -> Option<Self> {
        // This program again, with the test below.
        let module = module_path!().split_once("::").unwrap().1;
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "--nocapture"])
            .arg(format!("{module}::serve_until_the_input_ends"))
            .env(SERVES, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
        let directory = lines.find_map(|line| {
            let line = line.unwrap();
            let (_, place) = line.split_once(MOUNTED)?;
            Some(PathBuf::from(place))
        });
        let Some(directory) = directory else {
            let _ = process.wait();
            return None;
        };
        Some(Self {
            process,
            output: lines,
            directory,
        })
    }

    fn file(&self) -> PathBuf {
        self.directory.join("disk")
    }

    fn signal(&self, signal: Signal) {
        let _ = kill_process(Pid::from_child(&self.process), signal);
    }

    fn stop(&self) -> String {
        self.signal(Signal::STOP);
        self.process.id().to_string()
    }
}

impl Held for Server {
    fn release(&self) {
        self.signal(Signal::CONT);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.signal(Signal::CONT);
        drop(self.process.stdin.take());
        self.output.by_ref().for_each(drop);
        let _ = self.process.wait();
    }
}

#[test]
#[ignore = "the process of a server, which other tests start"]
fn serve_until_the_input_ends() {
    if std::env::var_os(SERVES).is_none() {
        return;
    }
    let Some(slow) = SlowDisk::mount() else {
        return;
    };
    println!("\n{MOUNTED}{}", slow.directory().display());
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
}

pub(in super::super) fn stopped_fuse_server(draw: &mut Draw) -> Option<Staged> {
    let server = Server::start()?;
    let file = server.file();
    let block = draw.number("pages", 1, 16) * 4;
    let reader = format!("exec dd if={} of=/dev/null bs={block}k", file.display());
    // It has the file open when the server stops, and reads later.
    let load = Load::shell([format!(
        "exec 9<{}; sleep 0.5 9<&-; {reader}",
        file.display()
    )]);
    let opened = format!("/proc/{}/fd/9", load.pids()[0]);
    wait_until("it is open", || Path::new(&opened).exists());
    let pid = server.stop();
    let directory = server.directory.display().to_string();
    let staged = Staged::new(load).waits(&[0]).on(directory);
    let staged = staged.says(format!("kill -CONT {pid}"));
    Some(staged.holding(server))
}

pub(in super::super) fn loop_device_over_a_stopped_fuse_server(draw: &mut Draw) -> Option<Staged> {
    let server = Server::start()?;
    let device = LoopDevice::attach(&server.file(), &["--direct-io=on"])?;
    let pid = server.stop();
    let load = Load::shell([direct_reader(
        device.path(),
        "4k",
        draw.number("skip", 0, 9000),
    )]);
    let staged = Staged::new(load).waits(&[0]).on(device.name());
    let staged = staged.says(format!("kill -CONT {pid}"));
    Some(staged.holding(device).holding(server))
}

/// A frozen file system, thawed when this is dropped.
struct Frozen(LoopFileSystem);

fn fsfreeze(option: &str, place: &Path) -> bool {
    let done = Command::new("fsfreeze").arg(option).arg(place).status();
    done.is_ok_and(|it| it.success())
}

impl Held for Frozen {
    fn release(&self) {
        assert!(fsfreeze("--unfreeze", self.0.mount_point()));
    }
}

pub(in super::super) fn frozen_file_system(draw: &mut Draw) -> Option<Staged> {
    let file_system = LoopFileSystem::ext4(draw.number("mib", 64, 256) * MIB)?;
    let place = file_system.mount_point().display().to_string();
    if !fsfreeze("--freeze", file_system.mount_point()) {
        crate::requirement::skip(Requirement::Program, "fsfreeze failed");
        return None;
    }
    let load = Load::shell([format!(
        "exec dd if=/dev/zero of={place}/file bs=4k count=1"
    )]);
    let staged = Staged::new(load).waits(&[0]).on(&place);
    let staged = staged.says(format!("fsfreeze --unfreeze {place}"));
    Some(staged.holding(Frozen(file_system)))
}
