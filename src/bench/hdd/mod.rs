//! Mechanics of hard disks, derived from request timing only.

pub mod analysis;
mod full_stroke;
mod geometry;
mod mechanics;
mod rotation;
mod seek_curve;
mod track_to_track;

pub use self::full_stroke::FULL_STROKE;
pub use self::geometry::GEOMETRY;
pub use self::mechanics::MechanicsBenchmark;
pub use self::rotation::ROTATION;
pub use self::seek_curve::SEEK_CURVE;
pub use self::track_to_track::TRACK_TO_TRACK;
