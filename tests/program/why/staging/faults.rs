//! Devices that fail.

use std::fs::File;

use super::{Draw, Load, MIB, Staged, disk, own_directory};

pub(in super::super) fn area_that_fails(draw: &mut Draw) -> Option<Staged> {
    let directory = own_directory();
    let device = disk(directory.path(), 64 * MIB)?;
    // Reads beyond the end of the file fail.
    let file = File::options().write(true).open(device.file()).unwrap();
    file.set_len(MIB).unwrap();
    let block = draw.number("block", 300, 16_000);
    let load = Load::shell([format!(
        "while :; do dd if={} of=/dev/null bs=4k count=1 skip={block} iflag=direct; sleep 0.5; done",
        device.path()
    )]);
    let staged = Staged::new(load).on(device.name());
    Some(staged.holding(device).holding(directory))
}
