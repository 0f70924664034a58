//! The angle of a sector.

/// Angle of one sector.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SectorAngle {
    /// Sector of 512 bytes, counted from the beginning of the medium.
    pub sector: f64,
    /// Angle at which the sector ends, 0 to 1; all samples of a set share the same origin.
    pub angle: f64,
}
