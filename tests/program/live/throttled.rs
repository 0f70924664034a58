//! A process whose control group may read only so fast.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use diskscope::snapshot::view::{Bottleneck, Throttle};

use crate::control_group::TestCgroup;
use crate::live::live_sampler::{
    LiveSampler, MIB, RunningChild, WAIT_TIMEOUT, create_file, program_exists,
};
use crate::requirement::{Requirement, skip};

/// The number of the whole drive below a file.
fn drive_of(path: &Path) -> Option<(u32, u32)> {
    let number = fs::metadata(path).ok()?.dev();
    let (major, minor) = (rustix::fs::major(number), rustix::fs::minor(number));
    let own = PathBuf::from(format!("/sys/dev/block/{major}:{minor}"));
    let whole = if own.join("partition").exists() {
        fs::canonicalize(own).ok()?.parent()?.to_owned()
    } else {
        own
    };
    let text = fs::read_to_string(whole.join("dev")).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

#[test]
fn cgroup_limit_is_reported_as_throttle() {
    if !program_exists("dd") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = create_file(directory.path(), "source", 64);
    let Some(drive) = drive_of(&source) else {
        return skip(Requirement::Drive, "no drive below the temporary directory");
    };
    let Some(group) = TestCgroup::with_read_limit(drive, 4 * MIB) else {
        return;
    };
    let mut sampler = LiveSampler::start();
    let line = group.command(&format!(
        "exec dd if={} of=/dev/null bs=256K iflag=direct status=none",
        source.display()
    ));
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
