//! File systems without space, without inodes, and with space that a deleted file holds.

use super::{Draw, Load, MIB, Requirement, Staged, disk, own_directory};
use crate::file_system::LoopFileSystem;
use crate::process::wait_until;

/// An ext4 of its own on a file of that many bytes.
fn small_file_system(bytes: u64, options: &[&str]) -> Option<(tempfile::TempDir, LoopFileSystem)> {
    let directory = own_directory();
    let device = disk(directory.path(), bytes)?;
    let file_system = LoopFileSystem::on(device, "ext4", options, Requirement::Ext4)?;
    Some((directory, file_system))
}

fn is_full(file_system: &LoopFileSystem) -> bool {
    rustix::fs::statvfs(file_system.mount_point()).is_ok_and(|it| it.f_bavail == 0)
}

pub(in super::super) fn full_file_system(draw: &mut Draw) -> Option<Staged> {
    let (directory, file_system) = small_file_system(draw.number("mib", 64, 128) * MIB, &[])?;
    let place = file_system.mount_point().display().to_string();
    let load = Load::shell([format!(
        "dd if=/dev/zero of={place}/big bs=1M; while :; do echo x > {place}/more; sync {place}/more; sleep 0.2; done"
    )]);
    wait_until("it is full", || is_full(&file_system));
    let staged = Staged::new(load).on(place);
    Some(staged.holding(file_system).holding(directory))
}

pub(in super::super) fn no_inodes(draw: &mut Draw) -> Option<Staged> {
    let (directory, file_system) =
        small_file_system(draw.number("mib", 64, 128) * MIB, &["-N", "64"])?;
    let place = file_system.mount_point().display().to_string();
    let load = Load::shell([format!(
        "i=0; while : $((i += 1)); do echo x 2>&- > {place}/$i || sleep 0.1; done"
    )]);
    wait_until("it is full", || {
        let usage = rustix::fs::statvfs(file_system.mount_point());
        usage.is_ok_and(|it| it.f_ffree == 0)
    });
    let staged = Staged::new(load).on(place).says("inodes");
    Some(staged.holding(file_system).holding(directory))
}

pub(in super::super) fn deleted_file_that_holds_space(draw: &mut Draw) -> Option<Staged> {
    let (directory, file_system) = small_file_system(draw.number("mib", 64, 128) * MIB, &[])?;
    let place = file_system.mount_point().display().to_string();
    let load = Load::shell([
        format!(
            "exec perl -e 'open F, \">{place}/log\"; while (syswrite F, \"x\" x 65536) {{}} unlink \"{place}/log\"; sleep 600'"
        ),
        format!("while :; do echo x > {place}/more; sync {place}/more; sleep 0.2; done"),
    ]);
    wait_until("it is full and the file has no name", || {
        is_full(&file_system) && !file_system.file_path("log").exists()
    });
    let staged = Staged::new(load).on(place).causes(&[0]);
    let staged = staged.says("deleted").says("diskscope files");
    Some(staged.holding(file_system).holding(directory))
}
