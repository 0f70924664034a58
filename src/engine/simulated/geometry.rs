//! Geometry of a simulated hard disk: zones, cylinders, heads, tracks, skew.

use super::hdd_settings::HardDiskSettings;

/// Bytes of a sector of the simulated medium.
pub const SECTOR_BYTES: u64 = 512;

/// A zone: cylinders with the same number of sectors per track.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingZone {
    /// First sector.
    pub first_sector: u64,
    /// First cylinder.
    pub first_cylinder: u32,
    /// Number of cylinders.
    pub cylinders: u32,
    /// Sectors per track.
    pub sectors_per_track: u32,
}

/// Physical location of a sector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SectorLocation {
    /// Cylinder; 0 is the outermost.
    pub cylinder: u32,
    /// Surface.
    pub head: u32,
    /// Sectors from here to the end of the track, this one included.
    pub sectors_to_track_end: u32,
    /// Sectors of the track.
    pub sectors_per_track: u32,
    /// Angle at which the sector begins, in revolutions, 0 to 1.
    pub angle: f64,
}

/// The geometry of a simulated medium.
#[derive(Debug, Clone)]
pub struct DiskGeometry {
    zones: Vec<RecordingZone>,
    heads: u32,
    /// Offset of a track's start from that of the preceding track, in revolutions: on the same
    /// cylinder, and across a cylinder change.
    head_skew: f64,
    cylinder_skew: f64,
    sectors: u64,
}

impl DiskGeometry {
    /// Builds the geometry: zones from the outside in, with evenly falling sectors per track.
    pub fn new(disk: &HardDiskSettings) -> Self {
        let tracks = f64::from(disk.cylinders) * f64::from(disk.heads);
        let mean = (disk.capacity / SECTOR_BYTES) as f64 / tracks;
        let outer = mean * 2.0 / (1.0 + disk.inner_ratio);
        let inner = outer * disk.inner_ratio;
        let (mut first_sector, mut first_cylinder) = (0, 0);
        let mut zones = Vec::with_capacity(disk.zones as usize);
        for zone in 0..disk.zones {
            let cylinders =
                disk.cylinders / disk.zones + u32::from(zone < disk.cylinders % disk.zones);
            let inwards = match disk.zones {
                1 => 0.5,
                several => f64::from(zone) / f64::from(several - 1),
            };
            let sectors_per_track = ((outer + (inner - outer) * inwards).round() as u32).max(1);
            zones.push(RecordingZone {
                first_sector,
                first_cylinder,
                cylinders,
                sectors_per_track,
            });
            first_sector +=
                u64::from(cylinders) * u64::from(disk.heads) * u64::from(sectors_per_track);
            first_cylinder += cylinders;
        }
        // A whole number of 4 KiB blocks, as on real drives.
        Self {
            zones,
            heads: disk.heads,
            head_skew: disk.skew(disk.head_switch),
            cylinder_skew: disk.skew(disk.track_to_track),
            sectors: first_sector / 8 * 8,
        }
    }

    /// Number of sectors of the medium.
    pub fn sectors(&self) -> u64 {
        self.sectors
    }

    /// Zones, the outermost first.
    pub fn zones(&self) -> &[RecordingZone] {
        &self.zones
    }

    /// Physical location of a sector.
    pub fn locate(&self, sector: u64) -> SectorLocation {
        let index = self
            .zones
            .partition_point(|zone| zone.first_sector <= sector);
        let zone = &self.zones[index.max(1) - 1];
        let within = sector - zone.first_sector;
        let per_track = u64::from(zone.sectors_per_track);
        let (track, on_track) = (within / per_track, within % per_track);
        let heads = u64::from(self.heads);
        let cylinder = zone.first_cylinder + (track / heads) as u32;
        let head = (track % heads) as u32;
        let angle = self.track_start_angle(cylinder, head) + on_track as f64 / per_track as f64;
        SectorLocation {
            cylinder,
            head,
            sectors_to_track_end: zone.sectors_per_track - on_track as u32,
            sectors_per_track: zone.sectors_per_track,
            angle: angle.fract(),
        }
    }

    /// Angle at which a track begins, in revolutions.
    fn track_start_angle(&self, cylinder: u32, head: u32) -> f64 {
        let per_cylinder = f64::from(self.heads - 1) * self.head_skew + self.cylinder_skew;
        (f64::from(head) * self.head_skew + f64::from(cylinder) * per_cylinder).fract()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Skews of an eighth and a quarter of a revolution.
    fn geometry() -> DiskGeometry {
        let disk = HardDiskSettings {
            capacity: 1_000_000 * SECTOR_BYTES,
            rpm: 60.0,
            heads: 2,
            cylinders: 1000,
            zones: 3,
            head_switch: 0.121e9,
            track_to_track: 0.246e9,
            ..HardDiskSettings::default()
        };
        DiskGeometry::new(&disk)
    }

    #[test]
    fn disk_geometry_first_tracks_match_literal_values() {
        let geometry = geometry();
        let outer = geometry.zones()[0].sectors_per_track;
        assert_eq!((outer, geometry.zones()[2].sectors_per_track), (667, 333));
        let first = geometry.locate(0);
        assert_eq!(
            (first.cylinder, first.head, first.sectors_to_track_end),
            (0, 0, 667)
        );
        let second = geometry.locate(667);
        assert_eq!((second.cylinder, second.head, second.angle), (0, 1, 0.125));
        let third = geometry.locate(2 * 667);
        assert_eq!((third.cylinder, third.head, third.angle), (1, 0, 0.375));
    }

    proptest! {
        #[test]
        fn disk_geometry_adjacent_sectors_are_adjacent(sector in 0..999_000_u64) {
            let geometry = geometry();
            let (here, next) = (geometry.locate(sector), geometry.locate(sector + 1));
            if here.sectors_to_track_end > 1 {
                prop_assert_eq!((here.cylinder, here.head), (next.cylinder, next.head));
                prop_assert_eq!(here.sectors_to_track_end, next.sectors_to_track_end + 1);
            } else {
                prop_assert_eq!(next.sectors_to_track_end, next.sectors_per_track);
                prop_assert!(next.cylinder - here.cylinder + next.head.abs_diff(here.head) > 0);
            }
        }
    }
}
