//! Devices and files that the kernel serves to others: NVMe and SCSI targets, USB gadgets
//! (kernel Documentation/ABI/testing/configfs-*, Documentation/target/).

use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::identity::{entries, harmless};
use crate::drive::target::FileId;
use crate::roots::Roots;

/// One thing that is served.
#[derive(Debug)]
pub(super) struct Export {
    /// By what, such as `nvmet subsystem NAME`.
    pub by: String,
    /// The device or file; `None` where it cannot be found.
    pub what: Option<FileId>,
}

/// All that the kernel serves, as configfs tells.
pub(super) fn list(roots: &Roots) -> Vec<Export> {
    let configfs = roots.sys.join("kernel/config");
    let mut exports = Vec::new();
    nvme(&configfs.join("nvmet/subsystems"), &mut exports);
    scsi(&configfs.join("target/core"), &mut exports);
    gadgets(&configfs.join("usb_gadget"), &mut exports);
    // Loaded, but what it serves is not shown: configfs is not mounted here.
    for (module, directory) in [("nvmet", "nvmet"), ("target_core_mod", "target")] {
        let loaded = roots.sys.join("module").join(module).exists();
        if loaded && fs::read_dir(configfs.join(directory)).is_err() {
            exports.push(Export {
                by: format!("the kernel's {module} (configfs is not mounted)"),
                what: None,
            });
        }
    }
    exports
}

/// `SUBSYSTEM/namespaces/NUMBER/{enable,device_path}`
fn nvme(directory: &Path, exports: &mut Vec<Export>) {
    for subsystem in entries(directory) {
        let spaces = directory.join(&subsystem).join("namespaces");
        for space in entries(&spaces) {
            let space = spaces.join(space);
            let off = fs::read_to_string(space.join("enable")).is_ok_and(|on| on.trim() == "0");
            if !off {
                exports.push(Export {
                    by: format!("nvmet subsystem {}", harmless(&subsystem)),
                    what: identity(path_in(&space.join("device_path"))),
                });
            }
        }
    }
}

/// `BACKEND/NAME/{info,udev_path}`
fn scsi(directory: &Path, exports: &mut Vec<Export>) {
    for backend in entries(directory) {
        // `alua` is no backend, and memory serves nothing that we could overwrite.
        if backend == "alua" || backend.starts_with("rd_mcp") {
            continue;
        }
        for name in entries(&directory.join(&backend)) {
            let store = directory.join(&backend).join(&name);
            if !store.join("info").exists() {
                continue;
            }
            let info = fs::read(store.join("info")).unwrap_or_default();
            let path = file_of_info(&info).or_else(|| path_in(&store.join("udev_path")));
            // One that is not set up has neither.
            let off = fs::read_to_string(store.join("enable")).is_ok_and(|on| on.trim() == "0");
            if !off {
                exports.push(Export {
                    by: format!("SCSI target {}", harmless(&format!("{backend}/{name}"))),
                    what: identity(path),
                });
            }
        }
    }
}

/// `GADGET/functions/mass_storage.NAME/lun.N/file`
fn gadgets(directory: &Path, exports: &mut Vec<Export>) {
    for gadget in entries(directory) {
        let functions = directory.join(&gadget).join("functions");
        for function in entries(&functions) {
            let function = functions.join(function);
            for unit in entries(&function) {
                if let Some(path) = path_in(&function.join(unit).join("file")) {
                    exports.push(Export {
                        by: format!("USB gadget {}", harmless(&gadget)),
                        what: identity(Some(path)),
                    });
                }
            }
        }
    }
}

/// The path that a SCSI target's `info` names: `TCM FILEIO ID: 0  File: /path  Size: ...`, or
/// `UDEV PATH: /dev/sdb  readonly: 0`.
#[must_use]
pub fn file_of_info(info: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let text = |mark: &[u8], end: &[u8]| {
        let from = info.windows(mark.len()).position(|at| at == mark)? + mark.len();
        let rest = &info[from..];
        let to = rest.windows(end.len()).position(|at| at == end)?;
        let path = rest[..to].trim_ascii();
        (!path.is_empty()).then(|| PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())))
    };
    text(b"File: ", b"  Size:").or_else(|| text(b"UDEV PATH: ", b"  readonly:"))
}

/// The path in a file of one line.
fn path_in(file: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let text = fs::read(file).ok()?;
    let path = text.split(|byte| *byte == b'\n').next()?;
    (!path.is_empty() && path != b"(null)")
        .then(|| PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())))
}

fn identity(path: Option<PathBuf>) -> Option<FileId> {
    let facts = fs::metadata(path?).ok()?;
    Some(FileId::of(&facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn info_of_a_scsi_target_names_its_file_or_device() {
        let file = b"Status: ACTIVATED  Max Queue Depth: 128\n        TCM FILEIO ID: 0        File: /srv/disk one.img  Size: 1048576  Mode: O_DSYNC Async: 0\n";
        assert_eq!(file_of_info(file), Some("/srv/disk one.img".into()));
        let device =
            b"Status: ACTIVATED\n        iBlock device: sdb  UDEV PATH: /dev/sdb  readonly: 0\n";
        assert_eq!(file_of_info(device), Some("/dev/sdb".into()));
        assert_eq!(file_of_info(b"Status: DEACTIVATED"), None);
    }
}
