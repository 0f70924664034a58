//! File systems whose files act on the kernel: a write changes a setting, ends processes or removes
//! a disk; a read consumes events of a trace or messages of a log.

use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{StatFs, fstatfs};

use crate::named_file::error::OutputError;

/// `f_type` of zonefs (Documentation/filesystems/zonefs.rst).
const ZONEFS_MAGIC: u64 = 0x5a4f_4653;

macro_rules! kernel_file_systems {
    ($($magic:literal $name:literal,)*) => {
        /// `f_type` (include/uapi/linux/magic.h and the sources of the file systems), and the name
        /// of such an output in errors.
        const KERNEL_FILE_SYSTEMS: &[(u64, &str)] = &[
            $(($magic, concat!("in ", $name, ", whose files act on the kernel")),)*
        ];
    };
}

kernel_file_systems! {
    0x0000_9fa0 "procfs",
    0x0000_9fa1 "openpromfs",
    0x0000_9fa2 "usbdevfs",
    0x0000_0187 "autofs",
    0x6265_6572 "sysfs",
    0x0027_e0eb "cgroup",
    0x6367_7270 "cgroup2",
    0x6462_6720 "debugfs",
    0x7472_6163 "tracefs",
    0x7363_6673 "securityfs",
    0x6265_6570 "configfs",
    0xde5e_81e4 "efivarfs",
    0x6165_676c "pstore",
    0xcafe_4a11 "bpf",
    0xf97c_ff8c "selinuxfs",
    0x4341_5d53 "smackfs",
    0x5a3c_69f0 "apparmorfs",
    0x1980_0202 "mqueue",
    0x9584_58f6 "hugetlbfs",
    0x4249_4e4d "binfmt_misc",
    0x6759_6969 "rpc_pipefs",
    0x6e66_7364 "nfsd",
    0x6e73_6673 "nsfs",
    0x5049_4446 "pidfs",
    0x6573_5543 "fusectl",
    0x0765_5821 "resctrl",
    0x6c6f_6f70 "binderfs",
    0xabba_1974 "xenfs",
    0x0a64_7361 "functionfs",
    0xaee7_1ee7 "gadgetfs",
    0x76a9_f425 "dlmfs",
    // Service processor, hypervisor, coprocessor, profiler and network adapter.
    0x6672_6f67 "ibmasmfs",
    0x0068_7970 "hypfs",
    0x23c9_b64e "spufs",
    0x6f70_726f "oprofilefs",
    0x0072_6a77 "ipathfs",
    // Each file is a zone of a disk.
    0x5a4f_4653 "zonefs",
}

/// Rejects files in such a file system, by a descriptor of the file or its directory.
///
/// # Errors
/// When it is such a file, or when the kernel does not report the type.
pub(super) fn refuse_kernel_file_system(path: &Path, file: impl AsFd) -> Result<(), OutputError> {
    match look(file) {
        Ok(None) => Ok(()),
        Ok(Some(what)) => Err(OutputError::unsuitable(path, what)),
        Err(error) => Err(OutputError::io("find the file system of", path, error)),
    }
}

/// Kind of a file that cannot be the target of a benchmark, because reading or writing it acts on
/// the kernel; by its descriptor. A zone of a disk (zonefs) can be a target.
///
/// # Errors
/// When the kernel does not report the type.
pub fn acts_on_kernel(file: impl AsFd) -> rustix::io::Result<Option<&'static str>> {
    let magic = file_system_magic(&fstatfs(file)?);
    Ok(file_system_name(magic).filter(|_| magic != ZONEFS_MAGIC))
}

/// Kind of a file in such a file system, by its descriptor; `None` for any other file.
///
/// # Errors
/// When the kernel does not report the type.
pub(super) fn look(file: impl AsFd) -> rustix::io::Result<Option<&'static str>> {
    Ok(file_system_name(file_system_magic(&fstatfs(file)?)))
}

fn file_system_name(magic: u64) -> Option<&'static str> {
    let known = KERNEL_FILE_SYSTEMS
        .iter()
        .find(|(known, _)| *known == magic);
    known.map(|(_, what)| *what)
}

/// `f_type`; its width and sign differ between processors.
#[allow(
    clippy::unnecessary_cast,
    reason = "the field's type differs between processors"
)]
pub(super) fn file_system_magic(facts: &StatFs) -> u64 {
    facts.f_type as u64 & 0xffff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_file_systems_are_recognised_by_magic_number() {
        for (magic, known) in [
            (0x726a77, "ipathfs"),
            (0x66726f67, "ibmasmfs"),
            (0x687970, "hypfs"),
            (0x23c9b64e, "spufs"),
            (0x6f70726f, "oprofilefs"),
            (0x9fa0, "procfs"),
        ] {
            assert!(file_system_name(magic).is_some_and(|name| name.contains(known)));
        }
        // ext4, tmpfs
        for magic in [0xef53, 0x01021994] {
            assert_eq!(file_system_name(magic), None);
        }
        for (index, (magic, what)) in KERNEL_FILE_SYSTEMS.iter().enumerate() {
            let others = &KERNEL_FILE_SYSTEMS[..index];
            assert!(others.iter().all(|(other, _)| other != magic), "{what}");
        }
    }
}
