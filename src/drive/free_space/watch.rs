//! The free space below a medium while it is written, asked for several times a second: the images
//! are found once and kept open, so that a look costs two system calls for each.

use std::fs::File;

use super::FreeSpace;
use super::image::{self, SparseImage};
use crate::drive::space_limit::SpaceLimit;
use crate::roots::SysPaths;

/// The sparse images that a medium lies in, on any level.
#[derive(Debug)]
pub struct SpaceWatch {
    images: Vec<SparseImage>,
}

impl SpaceWatch {
    /// For a file: the images that its file system lies in.
    pub(in crate::drive) fn of_file(roots: &SysPaths, file: &File) -> Self {
        match image::device_of_file(roots, file) {
            Some(number) => Self::of_device(roots, number),
            None => Self { images: Vec::new() },
        }
    }

    /// For a block device: the images that it lies in.
    pub(in crate::drive) fn of_device(roots: &SysPaths, number: (u32, u32)) -> Self {
        let mut devices = vec![number];
        let mut images = Vec::new();
        let mut next = 0;
        while let Some(number) = devices.get(next).copied() {
            for image in image::sparse_images(roots, number) {
                let below = image::device_of_file(roots, &image.file);
                devices.extend(below.filter(|number| !devices.contains(number)));
                images.push(image);
            }
            next += 1;
        }
        Self { images }
    }

    /// Every file system that has no usable space left: that of the file, if one is given, and those
    /// of images with holes. Yields the bytes of the image that are not allocated, 0 for the file.
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
        own.map(|room| (room, 0))
            .into_iter()
            .chain(images)
            .filter(|(room, _)| room.usable_bytes() == 0)
            .collect()
    }
}
