//! The free space below a medium while it is written, asked for several times a second: images,
//! snapshots and pools are found once, so that a look costs two system calls for each.

use std::fs::File;

use super::FreeSpace;
use super::image::{self, SparseImage};
use super::store::SpaceStore;
use crate::drive::space_limit::SpaceLimit;
use crate::roots::SysPaths;

/// The sparse images that a medium lies in, and the snapshots and pools that it needs space in, on
/// any level.
#[derive(Debug, Default)]
pub struct SpaceWatch {
    images: Vec<SparseImage>,
    stores: Vec<SpaceStore>,
}

impl SpaceWatch {
    /// For a file: the images that its file system lies in.
    pub(in crate::drive) fn of_file(roots: &SysPaths, file: &File) -> Self {
        match image::device_of_file(roots, file) {
            Some(number) => Self::of_device(roots, number),
            None => Self::default(),
        }
    }

    /// For a block device: the images that it lies in.
    pub(in crate::drive) fn of_device(roots: &SysPaths, number: (u32, u32)) -> Self {
        let mut devices = vec![number];
        let mut found = Self::default();
        let mut next = 0;
        while let Some(number) = devices.get(next).copied() {
            for image in image::sparse_images(roots, number) {
                let below = image::device_of_file(roots, &image.file);
                devices.extend(below.filter(|number| !devices.contains(number)));
                found.images.push(image);
            }
            for store in image::space_stores(roots, number) {
                if !found.stores.contains(&store) {
                    found.stores.push(store);
                }
            }
            next += 1;
        }
        found
    }

    /// Everything that has no usable space left: the file system of the file, if one is given, those
    /// of images with holes, snapshots and pools. Yields the bytes of the image that are not
    /// allocated, 0 for the file, and any number for snapshots and pools.
    pub(in crate::drive) fn exhausted(
        &self,
        roots: &SysPaths,
        file: Option<&File>,
        name: &str,
    ) -> Vec<(FreeSpace, u64)> {
        let own = file.and_then(|file| FreeSpace::of_file_system(roots, file, name).ok());
        let images = self.images.iter().filter_map(|image| {
            let holes = image.current_hole_bytes().filter(|holes| *holes > 0)?;
            let room = FreeSpace::of_file_system(roots, &image.file, &image.path).ok()?;
            let limit = room.limit.clone();
            let limit = limit.or_else(|| Some(SpaceLimit::Image(image.path.clone())));
            Some((FreeSpace { limit, ..room }, holes))
        });
        let stores = self.stores.iter();
        let stores = stores
            .filter_map(|store| FreeSpace::of_store(roots, store))
            .map(|(room, _)| (room, u64::MAX));
        own.map(|room| (room, 0))
            .into_iter()
            .chain(images)
            .chain(stores)
            .filter(|(room, _)| room.usable_bytes() == 0)
            .collect()
    }
}
