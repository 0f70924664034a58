//! General statistics: means, confidence intervals, fits, segmentation.

pub mod anderson_darling;
pub mod confidence;
pub mod fits;
pub mod reduce;
pub mod robust;
pub mod segments;
pub mod student;
pub mod timeline;
