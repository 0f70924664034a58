//! Devices and files that the kernel exports to other machines, and devices that it writes to
//! without a file system: NVMe and SCSI targets, SCST, USB gadgets, Xen, RNBD, heartbeats of OCFS2, the client of
//! pNFS (kernel
//! Documentation/ABI/testing/configfs-*, Documentation/ABI/testing/sysfs-class-rnbd-server,
//! Documentation/target/).

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::drive::guard::conflicts::exported_path::{configured_at, file_since};
use crate::drive::guard::conflicts::same_disk::ServedIdentity;
use crate::drive::guard::conflicts::use_conflict::{ExportSource, UnresolvedUse, UseConflict};
use crate::drive::identity::sanitized;
use crate::drive::identity::sysfs::{is_absent, list_directory, read_device_number};
use crate::drive::medium::FileId;
use crate::foreign_tree::ForeignTree;
use crate::roots::SysPaths;

/// Kernel modules, and their directory in configfs.
const MODULES: [(&str, &str); 4] = [
    ("nvmet", "nvmet"),
    ("target_core_mod", "target"),
    ("libcomposite", "usb_gadget"),
    ("ocfs2_nodemanager", "cluster"),
];

/// One exported device or file, or a list of such that cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::drive::guard) enum ExportedTarget {
    /// A device or file.
    Listed {
        /// The exporter, such as `nvmet subsystem NAME`.
        exporter: String,
        /// What it does with the device.
        purpose: ExportPurpose,
        /// Where it was configured.
        source: ExportSource,
        /// The device or file; `None` if it cannot be found, or if its path may have been changed
        /// after the kernel opened it.
        exported_id: Option<FileId>,
        /// As what disk a client sees it, if the exporter tells.
        served_as: Option<ServedDisk>,
    },
    /// What this part of the kernel exports is unknown.
    Unlisted {
        /// The part of the kernel.
        exporter: String,
        /// Reason of the failure.
        reason: String,
    },
    /// Which block devices this part of the kernel uses is unknown; it uses no files.
    UnlistedDevices {
        /// The part of the kernel.
        user: &'static str,
        /// Why.
        reason: &'static str,
    },
}

/// What an exporter serves as a disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::drive::guard) struct ServedDisk {
    /// How the disk is known at a client, which may be this machine itself.
    pub(super) identity: ServedIdentity,
    /// Whether the exporter holds the device exclusively.
    pub(super) is_held: bool,
}

/// What the kernel does with a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::drive::guard) enum ExportPurpose {
    /// Other machines, virtual machines or devices access it.
    Export,
    /// It writes to the device by itself.
    Write,
}

impl ExportedTarget {
    /// The device or file; `None` if unknown.
    pub(super) fn exported_id(&self) -> Option<FileId> {
        match self {
            Self::Listed { exported_id, .. } => *exported_id,
            Self::Unlisted { .. } | Self::UnlistedDevices { .. } => None,
        }
    }

    /// As what disk a client sees it.
    pub(super) fn served_as(&self) -> Option<&ServedDisk> {
        match self {
            Self::Listed { served_as, .. } => served_as.as_ref(),
            Self::Unlisted { .. } | Self::UnlistedDevices { .. } => None,
        }
    }

    /// The exporter, and the path by which the file or device was configured.
    pub(super) fn exporter_and_path(&self) -> Option<(&str, Option<&Path>)> {
        match self {
            Self::Listed {
                exporter, source, ..
            } => Some((exporter, source.path.as_deref())),
            Self::Unlisted { .. } | Self::UnlistedDevices { .. } => None,
        }
    }

    /// Whether it can be a file or device of that kind.
    pub(super) fn can_be(&self, id: FileId) -> bool {
        matches!(id, FileId::Device(..)) || !matches!(self, Self::UnlistedDevices { .. })
    }

    /// The use of a device or file of that name.
    pub(super) fn conflict(&self, name: &str) -> UseConflict {
        let device = name.to_owned();
        match self {
            Self::Listed {
                exporter: by,
                purpose: ExportPurpose::Write,
                ..
            } => UseConflict::WrittenByKernel {
                device,
                by: by.clone(),
            },
            Self::Listed { exporter: by, .. } | Self::Unlisted { exporter: by, .. } => {
                UseConflict::Exported {
                    device,
                    by: by.clone(),
                }
            }
            Self::UnlistedDevices { user, .. } => UseConflict::WrittenByKernel {
                device,
                by: (*user).to_owned(),
            },
        }
    }

    /// The question whether it is a use.
    pub(super) fn question(&self) -> UnresolvedUse {
        match self {
            Self::Listed {
                exporter, source, ..
            } => UnresolvedUse::Export {
                by: exporter.clone(),
                source: source.clone(),
            },
            Self::Unlisted { exporter, reason } => UnresolvedUse::UnlistedExports {
                by: exporter.clone(),
                reason: reason.clone(),
            },
            Self::UnlistedDevices { user, reason } => UnresolvedUse::UnlistedExports {
                by: (*user).to_owned(),
                reason: (*reason).to_owned(),
            },
        }
    }
}

/// All exports, as listed in configfs and sysfs.
pub(in crate::drive::guard) fn list_exports(roots: &SysPaths) -> Vec<ExportedTarget> {
    let mut list = ExportList {
        roots,
        exports: Vec::new(),
    };
    let configfs = roots.sys.join("kernel/config");
    list.nvmet(&configfs.join("nvmet/subsystems"));
    list.scsi_targets(&configfs.join("target/core"));
    list.scst_devices(&roots.sys.join("kernel/scst_tgt/devices"));
    list.mass_storage_gadgets(&configfs.join("usb_gadget"));
    list.ocfs2_heartbeats(&configfs.join("cluster"));
    list.legacy_gadgets(&roots.sys.join("class/udc"));
    list.xen_backends(&roots.sys.join("bus/xen-backend/devices"));
    list.rnbd(&roots.sys.join("class/rnbd-server/ctl/devices"));
    list.pnfs_client(&roots.sys.join("module/blocklayoutdriver"));
    // The module is loaded but configfs is not mounted, so its exports are unknown.
    for (module, directory) in MODULES {
        let loaded = roots.sys.join("module").join(module).exists();
        if loaded && fs::read_dir(configfs.join(directory)).is_err() {
            list.exports.push(ExportedTarget::Unlisted {
                exporter: format!("the kernel's {module}"),
                reason: "configfs is not mounted".to_owned(),
            });
        }
    }
    list.exports
}

/// Collects exports.
struct ExportList<'a> {
    roots: &'a SysPaths,
    exports: Vec<ExportedTarget>,
}

impl ExportList<'_> {
    /// Names in a directory. A directory that cannot be listed may export any device.
    fn entries(&mut self, directory: &Path) -> Vec<String> {
        list_directory(directory).unwrap_or_else(|error| {
            let path = sanitized(&directory.to_string_lossy());
            self.exports.push(ExportedTarget::Unlisted {
                exporter: "the kernel".to_owned(),
                reason: format!("{path} cannot be read: {error}"),
            });
            Vec::new()
        })
    }

    fn add(
        &mut self,
        exporter: String,
        purpose: ExportPurpose,
        source: ExportSource,
        exported_id: Option<FileId>,
    ) {
        self.exports.push(ExportedTarget::Listed {
            exporter,
            purpose,
            source,
            exported_id,
            served_as: None,
        });
    }

    fn add_served(
        &mut self,
        exporter: String,
        source: ExportSource,
        exported_id: Option<FileId>,
        served_as: ServedDisk,
    ) {
        self.exports.push(ExportedTarget::Listed {
            exporter,
            purpose: ExportPurpose::Export,
            source,
            exported_id,
            served_as: Some(served_as),
        });
    }

    /// `SUBSYSTEM/namespaces/NUMBER/{enable,device_path}`, and `SUBSYSTEM/passthru/` with the same
    /// attributes for all namespaces of an NVMe controller.
    fn nvmet(&mut self, directory: &Path) {
        for subsystem in self.entries(directory) {
            let exporter = format!("nvmet subsystem {}", sanitized(&subsystem));
            let spaces = directory.join(&subsystem).join("namespaces");
            for space in self.entries(&spaces) {
                let space = spaces.join(space);
                if is_off(&space) {
                    continue;
                }
                let path = read_path(&space.join("device_path"));
                let source = export_source(&space, path.clone(), "enable");
                let id = opened_file(self.roots, path, &space, &["device_path", "enable"]);
                let word = |name| fs::read_to_string(space.join(name)).unwrap_or_default();
                let (uuid, nguid) = (word("device_uuid"), word("device_nguid"));
                let served = ServedDisk {
                    identity: ServedIdentity::of_nvme_namespace(&uuid, &nguid),
                    is_held: false,
                };
                self.add_served(exporter.clone(), source, id, served);
            }
            let controller = directory.join(&subsystem).join("passthru");
            if controller.join("device_path").exists() && !is_off(&controller) {
                let path = read_path(&controller.join("device_path"));
                let source = export_source(&controller, path.clone(), "enable");
                let namespaces = path.and_then(|path| controller_namespaces(self.roots, &path));
                let ids = match namespaces {
                    Some(ids) => ids.into_iter().map(Some).collect(),
                    None => vec![None],
                };
                for id in ids {
                    self.add(exporter.clone(), ExportPurpose::Export, source.clone(), id);
                }
            }
        }
    }

    /// `BACKEND/NAME/{info,udev_path}`
    fn scsi_targets(&mut self, directory: &Path) {
        for backend in self.entries(directory) {
            // `alua` is not a backend, and a memory backend exports nothing that an overwrite could
            // affect.
            if backend == "alua" || backend.starts_with("rd_mcp") {
                continue;
            }
            for name in self.entries(&directory.join(&backend)) {
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
                if is_off(&store) {
                    continue;
                }
                let attributes = ["control", "enable", "udev_path"];
                let exporter = format!("SCSI target {}", sanitized(&format!("{backend}/{name}")));
                let source = export_source(&store, path.clone(), "enable");
                // `iblock` opens its device exclusively, so that opening it exclusively tells what
                // is exported, wherever the path leads by now.
                let id = match backend.starts_with("iblock_") {
                    true => path.as_deref().and_then(file_identity),
                    false => opened_file(self.roots, path, &store, &attributes),
                };
                let serial = fs::read_to_string(store.join("wwn/vpd_unit_serial"));
                let served = ServedDisk {
                    identity: ServedIdentity::of_scsi_target(&serial.unwrap_or_default()),
                    is_held: backend.starts_with("iblock_"),
                };
                self.add_served(exporter, source, id, served);
            }
        }
    }

    /// `DEVICE/filename` of SCST (scst/README: "sysfs"): the path, and a line `[key]`; `none` for a CD drive
    /// without a medium. sysfs does not keep the time at which the path was configured. A SCSI device has
    /// a `handler` once commands are passed on to it.
    fn scst_devices(&mut self, directory: &Path) {
        for name in self.entries(directory) {
            let device = directory.join(&name);
            let exporter = format!("SCST device {}", sanitized(&name));
            if fs::symlink_metadata(device.join("handler")).is_ok() {
                for disk in self.entries(&device.join("scsi_device/device/block")) {
                    let id = self.named_device(&disk);
                    let source = source_without_time(device.clone(), Some(disk));
                    self.add(exporter.clone(), ExportPurpose::Export, source, id);
                }
            }
            let path = served_file(&device.join("filename"));
            if let Some(path) = path.filter(|path| path.as_deref() != Some(Path::new("none"))) {
                let id = path.as_deref().and_then(file_identity);
                let source = source_without_time(device, path);
                self.add(exporter, ExportPurpose::Export, source, id);
            }
        }
    }

    /// `GADGET/functions/mass_storage.NAME/lun.N/file`
    fn mass_storage_gadgets(&mut self, directory: &Path) {
        for gadget in self.entries(directory) {
            let functions = directory.join(&gadget).join("functions");
            for function in self.entries(&functions) {
                let function = functions.join(function);
                for unit in self.entries(&function) {
                    let unit = function.join(unit);
                    if let Some(path) = served_file(&unit.join("file")) {
                        let exporter = format!("USB gadget {}", sanitized(&gadget));
                        let source = export_source(&unit, path.clone(), "file");
                        let id = opened_file(self.roots, path, &unit, &["file"]);
                        self.add(exporter, ExportPurpose::Export, source, id);
                    }
                }
            }
        }
    }

    /// `CONTROLLER/device/gadget.N/lunN/file` of `g_mass_storage` and other modules that do without
    /// configfs. The kernel shows the path that the open file has now.
    fn legacy_gadgets(&mut self, directory: &Path) {
        for controller in self.entries(directory) {
            let device = directory.join(&controller).join("device");
            for gadget in self.entries(&device) {
                if !gadget.starts_with("gadget") {
                    continue;
                }
                for unit in self.entries(&device.join(&gadget)) {
                    let unit = device.join(&gadget).join(unit);
                    if let Some(path) = served_file(&unit.join("file")) {
                        let exporter = format!("USB gadget of {}", sanitized(&controller));
                        let id = path.as_deref().and_then(file_identity);
                        let source = source_without_time(unit, path);
                        self.add(exporter, ExportPurpose::Export, source, id);
                    }
                }
            }
        }
    }

    /// `CLUSTER/heartbeat/REGION/dev`: the name of a block device, once the heartbeat has begun.
    fn ocfs2_heartbeats(&mut self, directory: &Path) {
        for cluster in self.entries(directory) {
            let heartbeat = directory.join(&cluster).join("heartbeat");
            for region in self.entries(&heartbeat) {
                let place = heartbeat.join(&region);
                let exporter = format!("OCFS2 heartbeat region {}", sanitized(&region));
                match fs::read_to_string(place.join("dev")) {
                    Ok(text) if text.trim().is_empty() => {}
                    // An attribute, or a region that is just going.
                    Err(error) if is_absent(&error) => {}
                    name => {
                        let name = name.ok().map(|text| text.trim().to_owned());
                        let id = name.as_deref().and_then(|name| self.named_device(name));
                        let source = source_without_time(place, name);
                        self.add(exporter, ExportPurpose::Write, source, id);
                    }
                }
            }
        }
    }

    /// The module that accesses the disks of an NFS server itself, in any mount namespace. It opens them without
    /// `O_EXCL` and lists them nowhere (fs/nfs/blocklayout/dev.c, `bl_parse_simple` and `bl_open_path`). Each mount with
    /// such layouts counts as a use of the module (fs/nfs/pnfs.c, `find_pnfs_driver`).
    fn pnfs_client(&mut self, module: &Path) {
        let is_used = match fs::read_to_string(module.join("refcnt")) {
            Ok(count) => count.trim() != "0",
            Err(error) => !is_absent(&error),
        };
        if is_used {
            self.exports.push(ExportedTarget::UnlistedDevices {
                user: "the NFS client with block or SCSI layouts (pNFS)",
                reason: "the kernel lists no disks of it",
            });
        }
    }

    /// `DEVICE/physical_device`: the number, in hexadecimal, of what a virtual machine of Xen has as
    /// its disk.
    fn xen_backends(&mut self, directory: &Path) {
        for device in self.entries(directory) {
            let place = directory.join(&device);
            let number = match fs::read_to_string(place.join("physical_device")) {
                Err(error) if is_absent(&error) => continue,
                number => number.ok().map(|text| text.trim().to_owned()),
            };
            let id = number.as_deref().and_then(parse_hexadecimal_number);
            // Not connected yet.
            if id == Some((0, 0)) {
                continue;
            }
            let id = id.map(|(major, minor)| FileId::Device(major, minor));
            let exporter = format!("Xen backend {}", sanitized(&device));
            let source = source_without_time(place, number);
            self.add(exporter, ExportPurpose::Export, source, id);
        }
    }

    /// `DEVICE/block_dev`, a link to the whole disk of what is exported; `DEVICE` is its name.
    fn rnbd(&mut self, directory: &Path) {
        for name in self.entries(directory) {
            let place = directory.join(&name);
            let disk = fs::read_link(place.join("block_dev")).ok();
            let disk = disk.as_deref().and_then(Path::file_name);
            let id = self
                .named_device(&name)
                .or_else(|| self.named_device(disk?.to_str()?));
            let exporter = format!("RNBD server, device {}", sanitized(&name));
            let source = source_without_time(place, Some(name));
            self.add(exporter, ExportPurpose::Export, source, id);
        }
    }

    /// The block device of that name in sysfs.
    fn named_device(&self, name: &str) -> Option<FileId> {
        if name.contains('/') {
            return self.named_device(&name.replace('/', "!"));
        }
        device_number(&self.roots.sys.join("class/block").join(name))
    }
}

/// Whether an export is switched off; unknown counts as switched on.
fn is_off(directory: &Path) -> bool {
    fs::read_to_string(directory.join("enable")).is_ok_and(|on| on.trim() == "0")
}

/// The path in an attribute of what is served: `None` where nothing is, `Some(None)` where it cannot be
/// read.
#[expect(clippy::option_option, reason = "unknown differs from none")]
fn served_file(attribute: &Path) -> Option<Option<PathBuf>> {
    match read_path(attribute) {
        Some(path) => Some(Some(path)),
        None => fs::read(attribute)
            .is_err_and(|error| !is_absent(&error))
            .then_some(None),
    }
}

/// Where an export was configured. `switch`: the attribute that is written to begin it.
fn export_source(directory: &Path, path: Option<PathBuf>, switch: &str) -> ExportSource {
    let facts = fs::metadata(directory.join(switch)).ok();
    let enabled_at = facts.map(|facts| {
        let nanoseconds = u32::try_from(facts.mtime_nsec()).unwrap_or_default();
        (facts.mtime(), nanoseconds)
    });
    ExportSource {
        directory: directory.to_owned(),
        path,
        enabled_at,
    }
}

/// The same where no attribute begins it: the kernel names the device, or the file that it has open now.
fn source_without_time(directory: PathBuf, path: Option<impl Into<PathBuf>>) -> ExportSource {
    ExportSource {
        directory,
        path: path.map(Into::into),
        enabled_at: None,
    }
}

/// The number of the device with that directory in sysfs.
fn device_number(directory: &Path) -> Option<FileId> {
    let (major, minor) = read_device_number(directory)?;
    Some(FileId::Device(major, minor))
}

fn parse_hexadecimal_number(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once(':')?;
    let number = |digits| u32::from_str_radix(digits, 16).ok();
    Some((number(major)?, number(minor)?))
}

/// The block devices of the NVMe controller with that node, if it is the kernel's: `/dev/nvme0`.
fn controller_namespaces(roots: &SysPaths, node: &Path) -> Option<Vec<FileId>> {
    let controller = node.strip_prefix(&roots.dev).ok()?.to_str()?;
    let directory = roots.sys.join("class/nvme").join(controller);
    if controller.is_empty() || controller.contains('/') || !directory.is_dir() {
        return None;
    }
    let mut found = Vec::new();
    for name in list_directory(&directory).ok()? {
        let Some(instance) = name.strip_prefix("nvme") else {
            continue;
        };
        // `nvme0c1n2` is one path to `nvme0n2`.
        let whole = match (instance.find('c'), instance.find('n')) {
            (Some(path), Some(space)) if path < space => {
                format!("nvme{}{}", &instance[..path], &instance[space..])
            }
            _ => name.clone(),
        };
        let block = roots.sys.join("class/block");
        for id in [&name, &whole].map(|name| device_number(&block.join(name))) {
            if let Some(id) = id.filter(|id| !found.contains(id)) {
                found.push(id);
            }
        }
    }
    Some(found)
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

fn file_identity(path: &Path) -> Option<FileId> {
    let found = ForeignTree::own().find(path).ok()?;
    let status = found.status();
    let ((major, minor), inode) = status.identity();
    Some(match status.block_device() {
        Some((major, minor)) => FileId::Device(major, minor),
        None => FileId::Inode(rustix::fs::makedev(major, minor), inode),
    })
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
