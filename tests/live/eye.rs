//! The sampler and the model together, and files and processes to look at.

use crate::requirement::{Requirement, skip};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use diskscope::model::live::TransferView;
use diskscope::model::{Live, Modeler};
use diskscope::probe::Collector;
use diskscope::roots::Roots;

pub const MIB: u64 = 1 << 20;
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A child that does not outlive the test.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Looks at this machine.
pub struct Eye {
    collector: Collector,
    modeler: Modeler,
}

impl Eye {
    pub fn open() -> Self {
        let mut eye = Self {
            collector: Collector::new(Roots::default()),
            modeler: Modeler::default(),
        };
        eye.look();
        eye
    }

    pub fn look(&mut self) -> Live {
        self.modeler.update(Arc::new(self.collector.collect()))
    }

    pub fn transfer(&mut self, pid: u32) -> Option<TransferView> {
        let live = self.look();
        live.transfers
            .into_iter()
            .find(|transfer| transfer.pid == pid)
    }
}

/// A real file, not one with holes.
pub fn file_of(directory: &Path, name: &str, mib: u64) -> PathBuf {
    let path = directory.join(name);
    let mut file = File::create(&path).unwrap();
    let block: Vec<u8> = (0..MIB as u32)
        .map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    for _ in 0..mib {
        file.write_all(&block).unwrap();
    }
    path
}

pub fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok();
    if !found {
        skip(Requirement::Program, format!("{program} is not installed"));
    }
    found
}

pub fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}
