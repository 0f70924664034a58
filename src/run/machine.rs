//! The machine that a session is measured on, as the session file describes it.

use std::fs;
use std::path::Path;

use jiff::Zoned;

use crate::roots::SysPaths;
use crate::session::document::HostRecord;

/// A time as RFC 3339 with offset, to the second.
#[must_use]
pub fn rfc3339(time: &Zoned) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// Name, kernel, processors, memory and hypervisor of this machine.
#[must_use]
pub fn host_record(roots: &SysPaths) -> HostRecord {
    let names = rustix::system::uname();
    let text = |name: &std::ffi::CStr| {
        Some(name.to_string_lossy().into_owned()).filter(|name| !name.is_empty())
    };
    HostRecord {
        name: text(names.nodename()).map(Into::into),
        kernel: text(names.release()).map(Into::into),
        architecture: text(names.machine()).map(Into::into),
        processors: std::thread::available_parallelism()
            .ok()
            .and_then(|count| u32::try_from(count.get()).ok()),
        memory_bytes: Some(memory_bytes(&rustix::system::sysinfo())),
        virtualization: virtualization(roots).map(Into::into),
    }
}

fn memory_bytes(info: &rustix::system::Sysinfo) -> u64 {
    info.totalram.saturating_mul(u64::from(info.mem_unit))
}

/// The hypervisor's name where the firmware tables or the processor report one (systemd's
/// detect-virt looks in the same places).
fn virtualization(roots: &SysPaths) -> Option<String> {
    const VENDORS: [(&str, &str); 8] = [
        ("QEMU", "QEMU"),
        ("KVM", "KVM"),
        ("VMware", "VMware"),
        ("VirtualBox", "VirtualBox"),
        ("innotek", "VirtualBox"),
        ("Xen", "Xen"),
        ("Microsoft Corporation Virtual", "Hyper-V"),
        ("Amazon EC2", "Amazon EC2"),
    ];
    let read = |path: &Path| fs::read_to_string(path).unwrap_or_default();
    let dmi = roots.sys.join("class/dmi/id");
    let firmware = format!(
        "{} {}",
        read(&dmi.join("sys_vendor")).trim(),
        read(&dmi.join("product_name")).trim()
    );
    let named = VENDORS.iter().find(|(sign, _)| firmware.contains(sign));
    let text = fs::read(roots.proc.join("cpuinfo")).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let mut lines = text.lines();
    let flags = lines.find_map(|line| line.strip_prefix("flags")?.split_once(':'));
    let is_flagged = flags.is_some_and(|(_, flags)| flags.split(' ').any(|it| it == "hypervisor"));
    let flagged = is_flagged.then_some("a virtual machine");
    named.map(|(_, name)| *name).or(flagged).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypervisor_is_detected_from_dmi_or_cpu_flags() {
        let root = tempfile::tempdir().unwrap();
        let roots = SysPaths::under_root(root.path());
        assert_eq!(virtualization(&roots), None);
        fs::create_dir_all(&roots.proc).unwrap();
        // Empty, cut short, without flags (arm64), with bytes that are no text.
        for other in [
            &b""[..],
            b"\n",
            b"flags",
            b"processor : 0\nBogoMIPS : 50\n",
            b"\xff:\n",
        ] {
            fs::write(roots.proc.join("cpuinfo"), other).unwrap();
            assert_eq!(virtualization(&roots), None);
        }
        fs::write(
            roots.proc.join("cpuinfo"),
            "processor\t: 0\nflags\t\t: fpu hypervisor lm\n",
        )
        .unwrap();
        assert_eq!(virtualization(&roots).as_deref(), Some("a virtual machine"));
        let dmi = roots.sys.join("class/dmi/id");
        fs::create_dir_all(&dmi).unwrap();
        fs::write(dmi.join("sys_vendor"), "QEMU\n").unwrap();
        fs::write(dmi.join("product_name"), "Standard PC\n").unwrap();
        assert_eq!(virtualization(&roots).as_deref(), Some("QEMU"));
    }

    #[test]
    fn rfc3339_time_has_utc_offset() {
        let time: Zoned = "2026-01-02T03:04:05+01:00[+01:00]".parse().unwrap();
        assert_eq!(rfc3339(&time), "2026-01-02T03:04:05+01:00");
    }
}
