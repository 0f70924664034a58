//! Statistics of any numbers: means, intervals, fits, segments.

pub mod anderson_darling;
pub mod confidence;
pub mod fits;
pub mod reduce;
pub mod robust;
pub mod segments;
pub mod student;
pub mod timeline;
