//! Devices and files that the kernel exports to other machines: NVMe and SCSI targets, USB gadgets
//! (kernel Documentation/ABI/testing/configfs-*, Documentation/target/).

use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::guard::conflicts::exported_path::{configured_at, file_since};
use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::{is_absent, list_directory};
use crate::drive::medium::FileId;
use crate::roots::SysPaths;

/// One exported device or file.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::drive::guard) struct ExportedTarget {
    /// The exporter, such as `nvmet subsystem NAME`.
    pub exporter: String,
    /// The device or file; `None` if it cannot be found, or if its path may have been changed after
    /// the kernel opened it.
    pub exported_id: Option<FileId>,
}

/// All exports, as listed in configfs.
pub(in crate::drive::guard) fn list_exports(roots: &SysPaths) -> Vec<ExportedTarget> {
    let configfs = roots.sys.join("kernel/config");
    let mut exports = Vec::new();
    nvmet_exports(roots, &configfs.join("nvmet/subsystems"), &mut exports);
    scsi_target_exports(roots, &configfs.join("target/core"), &mut exports);
    mass_storage_gadget_exports(roots, &configfs.join("usb_gadget"), &mut exports);
    // The module is loaded but configfs is not mounted, so its exports are unknown.
    for (module, directory) in [("nvmet", "nvmet"), ("target_core_mod", "target")] {
        let loaded = roots.sys.join("module").join(module).exists();
        if loaded && fs::read_dir(configfs.join(directory)).is_err() {
            exports.push(ExportedTarget {
                exporter: format!("the kernel's {module} (configfs is not mounted)"),
                exported_id: None,
            });
        }
    }
    exports
}

/// Names in a directory. A directory that cannot be listed may export any device.
fn entries(directory: &Path, exports: &mut Vec<ExportedTarget>) -> Vec<String> {
    list_directory(directory).unwrap_or_else(|error| {
        let path = sanitized(&directory.to_string_lossy());
        exports.push(ExportedTarget {
            exporter: format!("the kernel ({path} cannot be read: {error})"),
            exported_id: None,
        });
        Vec::new()
    })
}

/// `SUBSYSTEM/namespaces/NUMBER/{enable,device_path}`
fn nvmet_exports(roots: &SysPaths, directory: &Path, exports: &mut Vec<ExportedTarget>) {
    for subsystem in entries(directory, exports) {
        let spaces = directory.join(&subsystem).join("namespaces");
        for space in entries(&spaces, exports) {
            let space = spaces.join(space);
            let off = fs::read_to_string(space.join("enable")).is_ok_and(|on| on.trim() == "0");
            if !off {
                let attributes = ["device_path", "enable"];
                let path = read_path(&space.join("device_path"));
                exports.push(ExportedTarget {
                    exporter: format!("nvmet subsystem {}", sanitized(&subsystem)),
                    exported_id: opened_file(roots, path, &space, &attributes),
                });
            }
        }
    }
}

/// `BACKEND/NAME/{info,udev_path}`
fn scsi_target_exports(roots: &SysPaths, directory: &Path, exports: &mut Vec<ExportedTarget>) {
    for backend in entries(directory, exports) {
        // `alua` is not a backend, and a memory backend exports nothing that an overwrite could
        // affect.
        if backend == "alua" || backend.starts_with("rd_mcp") {
            continue;
        }
        for name in entries(&directory.join(&backend), exports) {
            let store = directory.join(&backend).join(&name);
            // `hba_info` and `hba_mode`, which every backend has.
            if fs::symlink_metadata(&store).is_ok_and(|facts| facts.is_file()) {
                continue;
            }
            if matches!(store.join("info").try_exists(), Ok(false)) {
                continue;
            }
            let info = fs::read(store.join("info")).unwrap_or_default();
            let path =
                parse_scsi_target_info(&info).or_else(|| read_path(&store.join("udev_path")));
            // A backend that is not configured has neither path and exports nothing.
            let off = fs::read_to_string(store.join("enable")).is_ok_and(|on| on.trim() == "0");
            if !off {
                let attributes = ["control", "enable", "udev_path"];
                exports.push(ExportedTarget {
                    exporter: format!("SCSI target {}", sanitized(&format!("{backend}/{name}"))),
                    // `iblock` opens its device exclusively, so that opening it exclusively tells
                    // what is exported, wherever the path leads by now.
                    exported_id: match backend.starts_with("iblock_") {
                        true => file_identity(path),
                        false => opened_file(roots, path, &store, &attributes),
                    },
                });
            }
        }
    }
}

/// `GADGET/functions/mass_storage.NAME/lun.N/file`
fn mass_storage_gadget_exports(
    roots: &SysPaths,
    directory: &Path,
    exports: &mut Vec<ExportedTarget>,
) {
    for gadget in entries(directory, exports) {
        let functions = directory.join(&gadget).join("functions");
        for function in entries(&functions, exports) {
            let function = functions.join(function);
            for unit in entries(&function, exports) {
                let unit = function.join(unit);
                let file = unit.join("file");
                let path = read_path(&file);
                // None where nothing is served; what cannot be read may be anything.
                if path.is_some() || fs::read(&file).is_err_and(|error| !is_absent(&error)) {
                    exports.push(ExportedTarget {
                        exporter: format!("USB gadget {}", sanitized(&gadget)),
                        exported_id: opened_file(roots, path, &unit, &["file"]),
                    });
                }
            }
        }
    }
}

/// The path in `info` of a SCSI target: `TCM FILEIO ID: 0  File: /path  Size: ...`, or `UDEV PATH:
/// /dev/sdb  readonly: 0`.
#[must_use]
pub fn parse_scsi_target_info(info: &[u8]) -> Option<PathBuf> {
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

/// The path in a file with a single line.
fn read_path(file: &Path) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStringExt;
    let text = fs::read(file).ok()?;
    let path = text.split(|byte| *byte == b'\n').next()?;
    (!path.is_empty() && path != b"(null)")
        .then(|| PathBuf::from(std::ffi::OsString::from_vec(path.to_vec())))
}

/// What the kernel opened at that path when the export was set up, of which configfs has that
/// directory with these attributes.
fn opened_file(
    roots: &SysPaths,
    path: Option<PathBuf>,
    directory: &Path,
    attributes: &[&str],
) -> Option<FileId> {
    let mut paths = vec![directory.to_owned()];
    paths.extend(attributes.iter().map(|name| directory.join(name)));
    file_since(roots, &path?, configured_at(&paths)?)
}

fn file_identity(path: Option<PathBuf>) -> Option<FileId> {
    let facts = fs::metadata(path?).ok()?;
    Some(FileId::of_metadata(&facts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scsi_target_info_gives_backing_path() {
        let file = b"Status: ACTIVATED  Max Queue Depth: 128\n        TCM FILEIO ID: 0        File: /srv/disk one.img  Size: 1048576  Mode: O_DSYNC Async: 0\n";
        assert_eq!(
            parse_scsi_target_info(file),
            Some("/srv/disk one.img".into())
        );
        let device =
            b"Status: ACTIVATED\n        iBlock device: sdb  UDEV PATH: /dev/sdb  readonly: 0\n";
        assert_eq!(parse_scsi_target_info(device), Some("/dev/sdb".into()));
        assert_eq!(parse_scsi_target_info(b"Status: DEACTIVATED"), None);
    }
}
