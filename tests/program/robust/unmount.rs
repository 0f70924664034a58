//! A file system can be unmounted as soon as the program has ended.

use diskscope::engine::{self, AccessPattern, CancellationToken, EngineChoice, Plan};
use diskscope::roots::SysPaths;
use rustix::mount::UnmountFlags;

use crate::file_system::LoopFileSystem;
use crate::requirement::{Requirement, skip};
use crate::robust::sandbox::{RunSandbox, stderr};

const ROUNDS: usize = 20;
const IMAGE_BYTES: u64 = 3 << 30;

#[test]
fn file_system_can_be_unmounted_right_after_a_run() {
    let sandbox = RunSandbox::new();
    let Some(file_system) = LoopFileSystem::ext4(IMAGE_BYTES) else {
        return;
    };
    file_system.unmount().unwrap();
    let mount_point = file_system.mount_point().to_str().unwrap();
    let options = ["--scratch-size", "1MiB", "--requests", "200"];
    for engine in ["uring", "pread"] {
        let mut busy = Vec::new();
        for round in 0..ROUNDS {
            file_system.mount().unwrap();
            let words = [
                &["run", "random-read", mount_point, "--engine", engine][..],
                &options,
            ];
            let output = sandbox.command(&words.concat()).output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            if let Err(error) = file_system.unmount() {
                busy.push((round, error));
                // Only for the next round to begin; the round counts as failed.
                crate::robust::sandbox::wait_until("the unmount", || file_system.unmount().is_ok());
            }
        }
        assert!(
            busy.is_empty(),
            "{engine}: {} of {ROUNDS} busy: {busy:?}",
            busy.len()
        );
    }
}

/// In a process that goes on, as the interface does after a benchmark: what the kernel releases when
/// a process ends is not released by that.
#[test]
fn file_system_can_be_unmounted_after_execution() {
    let Some(file_system) = LoopFileSystem::ext4(IMAGE_BYTES) else {
        return;
    };
    file_system.unmount().unwrap();
    let file = file_system.file_path("file");
    let mut busy = Vec::new();
    for round in 0..ROUNDS {
        file_system.mount().unwrap();
        if round == 0 {
            std::fs::write(&file, vec![7; 1 << 20]).unwrap();
        }
        let name = file.to_str().unwrap();
        let opened = engine::open_target(&SysPaths::default(), name, EngineChoice::Uring, None);
        let opened = match opened {
            Ok(opened) => opened,
            Err(error) => return skip(Requirement::Kernel, error),
        };
        let mut plan = Plan::single_depth_reads(AccessPattern::Random, 4096, 0..1 << 20);
        plan.depth = 8;
        plan.limits.requests = Some(200);
        let outcome = opened
            .engine()
            .execute(&plan, &CancellationToken::default(), &mut |_| {});
        assert_eq!(outcome.unwrap().stats.requests(), 200);
        drop(opened);
        if let Err(error) = rustix::mount::unmount(file_system.mount_point(), UnmountFlags::empty())
        {
            busy.push((round, error));
            crate::robust::sandbox::wait_until("the unmount", || file_system.unmount().is_ok());
        }
    }
    // Other tests of this program start programs, which have its descriptors for a moment.
    assert!(busy.len() < 3, "{} of {ROUNDS} busy: {busy:?}", busy.len());
}
