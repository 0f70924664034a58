//! A process whose control group may read only so fast.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use diskscope::model::snapshot::{Bottleneck, Throttle};

use crate::live::live_sampler::{
    LiveSampler, MIB, RunningChild, WAIT_TIMEOUT, create_file, program_exists,
};
use crate::requirement::{Requirement, skip};

/// A group of the first version's blkio controller; gone when this is dropped.
struct TestCgroup(PathBuf);

impl TestCgroup {
    /// Reads at most `bytes` a second from the drive that `path` lies on; `None` where there is no
    /// such controller, no right to it, or no drive.
    fn with_write_limit(path: &Path, bytes: u64) -> Option<Self> {
        let number = drive_of(path)?;
        let name = format!("diskscope-test-{}", std::process::id());
        let directory = Path::new("/sys/fs/cgroup/blkio").join(name);
        fs::create_dir(&directory).ok()?;
        let group = Self(directory);
        let limit = group.0.join("blkio.throttle.read_bps_device");
        fs::write(limit, format!("{number} {bytes}")).ok()?;
        Some(group)
    }
}

impl Drop for TestCgroup {
    fn drop(&mut self) {
        // The kernel takes a moment to see that its last process has ended.
        let deadline = Instant::now() + Duration::from_secs(5);
        while fs::remove_dir(&self.0).is_err() && Instant::now() < deadline {
            std::thread::yield_now();
        }
    }
}

/// `major:minor` of the whole drive below a file.
fn drive_of(path: &Path) -> Option<String> {
    let number = fs::metadata(path).ok()?.dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let own = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let whole = if own.join("partition").exists() {
        fs::canonicalize(own).ok()?.parent()?.to_owned()
    } else {
        own
    };
    Some(
        fs::read_to_string(whole.join("dev"))
            .ok()?
            .trim()
            .to_owned(),
    )
}

#[test]
fn cgroup_limit_is_reported_as_throttle() {
    if !program_exists("dd") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 64);
    let Some(group) = TestCgroup::with_write_limit(&source, 4 * MIB) else {
        skip(
            Requirement::Cgroup,
            "needs root and the blkio controller of the first cgroup version",
        );
        return;
    };
    let mut sampler = LiveSampler::start();
    let tasks = group.0.join("cgroup.procs");
    let line = format!(
        "echo $$ > {} && exec dd if={} of=/dev/null bs=256K iflag=direct status=none",
        tasks.display(),
        source.display()
    );
    let mut dd = RunningChild(
        Command::new("sh")
            .args(["-c", &line])
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let deadline = Instant::now() + WAIT_TIMEOUT;
    let mut last = None;
    while Instant::now() < deadline {
        if dd.0.try_wait().unwrap().is_some() {
            skip(
                Requirement::Cgroup,
                "this file system has no direct I/O, or nothing is limited here",
            );
            return;
        }
        last = sampler.transfer_of(dd.0.id()).or(last);
        if let Some(transfer) = &last
            && transfer.throttle == Some(Throttle::ControlGroup)
        {
            assert_eq!(transfer.bottleneck, Some(Bottleneck::Source));
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("it was not said: {last:?}");
}
