//! Devices and files that the kernel exports to other machines or virtual machines without claiming them: NVMe
//! targets (nvmet), SCSI targets (LIO), SCST, Xen (kernel Documentation/ABI/testing/configfs-*,
//! Documentation/target/, scst/README).

use std::fs;
use std::path::{Path, PathBuf};

use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::{list_directory, read_line};
use crate::drive::medium::FileId;
use crate::roots::SysPaths;

/// Kernel modules, and their directories in configfs.
const MODULES: [(&str, &str); 2] = [("nvmet", "nvmet"), ("target_core_mod", "target")];

/// One exported device or file.
#[derive(Debug)]
pub(super) struct Export {
    /// The exporter, such as `nvmet subsystem NAME`.
    pub(super) by: String,
    /// What it exports.
    pub(super) target: FileId,
}

/// All exports.
#[derive(Debug, Default)]
pub(super) struct Exports {
    /// Those that are known.
    pub(super) exports: Vec<Export>,
    /// Exporters whose configuration cannot be seen, or whose device or file cannot be found.
    pub(super) unknown: Vec<String>,
}

/// Lists what the kernel exports.
pub(super) fn list_exports(roots: &SysPaths) -> Exports {
    let mut list = Exports::default();
    let configfs = roots.sys.join("kernel/config");
    list.add_nvmet(&configfs.join("nvmet/subsystems"));
    list.add_scsi_targets(&configfs.join("target/core"));
    list.add_scst(&roots.sys.join("kernel/scst_tgt/devices"));
    list.add_xen(&roots.sys.join("bus/xen-backend/devices"));
    for (module, directory) in MODULES {
        let is_loaded = roots.sys.join("module").join(module).exists();
        if is_loaded && fs::read_dir(configfs.join(directory)).is_err() {
            list.unknown.push(format!("the kernel's {module}"));
        }
    }
    list
}

impl Exports {
    /// `SUBSYSTEM/namespaces/NUMBER/{enable,device_path}`.
    fn add_nvmet(&mut self, directory: &Path) {
        for subsystem in self.entries(directory) {
            let by = format!("nvmet subsystem {}", sanitized(&subsystem));
            let namespaces = directory.join(&subsystem).join("namespaces");
            for namespace in self.entries(&namespaces) {
                let namespace = namespaces.join(namespace);
                if read_line(&namespace.join("enable")).as_deref() != Some("0") {
                    self.add_path(&by, read_path(&namespace.join("device_path")));
                }
            }
        }
    }

    /// `fileio_N/NAME/{info,enable,udev_path}`; the other backends claim their devices, or export memory.
    fn add_scsi_targets(&mut self, directory: &Path) {
        for backend in self.entries(directory) {
            if !backend.starts_with("fileio_") {
                continue;
            }
            for name in self.entries(&directory.join(&backend)) {
                let store = directory.join(&backend).join(&name);
                let is_on = read_line(&store.join("enable")).as_deref() == Some("1");
                if store.is_dir() && is_on {
                    let by = format!("SCSI target {}", sanitized(&format!("{backend}/{name}")));
                    let info = fs::read_to_string(store.join("info")).unwrap_or_default();
                    self.add_path(&by, path_in_info(&info));
                }
            }
        }
    }

    /// `DEVICE/filename`: a path, then a line `[key]`.
    fn add_scst(&mut self, directory: &Path) {
        for name in self.entries(directory) {
            let file = directory.join(&name).join("filename");
            if file.exists() {
                let path = fs::read_to_string(&file).unwrap_or_default();
                let path = path.lines().next().map(PathBuf::from);
                self.add_path(&format!("SCST device {}", sanitized(&name)), path);
            }
        }
    }

    /// `DEVICE/physical_device`: major and minor number, hexadecimal.
    fn add_xen(&mut self, directory: &Path) {
        for name in self.entries(directory) {
            let Some(text) = read_line(&directory.join(&name).join("physical_device")) else {
                continue;
            };
            let by = format!("Xen {}", sanitized(&name));
            match parse_hexadecimal_number(&text) {
                Some((major, minor)) => self.exports.push(Export {
                    by,
                    target: FileId::Device(major, minor),
                }),
                None => self.unknown.push(by),
            }
        }
    }

    /// Adds what a configured path leads to. The kernel opened it when it was configured: what cannot be found any
    /// more may be anything.
    fn add_path(&mut self, by: &str, path: Option<PathBuf>) {
        let absolute = path.filter(|path| path.is_absolute());
        let found = absolute.and_then(|path| fs::metadata(path).ok());
        match found {
            Some(facts) => self.exports.push(Export {
                by: by.to_owned(),
                target: FileId::of_metadata(&facts),
            }),
            None => self.unknown.push(by.to_owned()),
        }
    }

    /// Names in a directory; one that cannot be listed may export anything.
    fn entries(&mut self, directory: &Path) -> Vec<String> {
        list_directory(directory).unwrap_or_else(|_| {
            self.unknown.push(sanitized(&directory.to_string_lossy()));
            Vec::new()
        })
    }
}

fn read_path(attribute: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(attribute).ok()?;
    Some(PathBuf::from(text.trim_end_matches('\n')))
}

/// The path in the `info` of a fileio backend: `... File: PATH  Size: ...`.
fn path_in_info(info: &str) -> Option<PathBuf> {
    let (_, rest) = info.split_once("File: ")?;
    let (path, _) = rest.split_once("  Size: ")?;
    Some(PathBuf::from(path))
}

fn parse_hexadecimal_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    let number = |digits| u32::from_str_radix(digits, 16).ok();
    number(major).zip(number(minor))
}
