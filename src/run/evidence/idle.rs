//! How processors of this machine idle, which is what a wake-up costs (kernel
//! Documentation/admin-guide/pm/cpuidle.rst, cpufreq.rst).

use crate::probe::text::read_file;
use crate::roots::SysPaths;
use crate::session::document::{HostRecord, ProcessorIdle};

/// What the kernel tells of the first processor, and the hypervisor, which wakes an idle one itself.
pub fn processor_idle(roots: &SysPaths, host: &HostRecord) -> ProcessorIdle {
    let cpu = roots.sys.join("devices/system/cpu");
    let word = |path: &str| {
        let text = String::from_utf8(read_file(&cpu.join(path))?).ok()?;
        let word = text.trim();
        (!word.is_empty() && word != "none").then(|| word.into())
    };
    ProcessorIdle {
        hypervisor: host.virtualization.clone(),
        idle_driver: word("cpuidle/current_driver"),
        governor: word("cpu0/cpufreq/scaling_governor"),
    }
}
