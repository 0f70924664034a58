//! Mechanics of hard disks, derived from request timing only.

pub mod analysis;
pub mod full_stroke;
pub mod geometry;
pub mod rotation;
pub mod seek_curve;
pub mod track_to_track;
