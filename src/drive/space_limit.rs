//! What limits the free space of a file.

/// What leaves less space than a file system reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SpaceLimit {
    /// A memory limit, by its name: the file system, or a device that it is on, is in memory.
    Memory(String),
    /// The limit of the memory of a device, by the name of the device.
    MemoryDevice(String),
    /// A quota, by whose it is.
    Quota(String),
    /// The file system of an image, by the path of the image.
    Image(String),
    /// A snapshot or a pool of device-mapper, by what it is and its name.
    Store(String),
}
