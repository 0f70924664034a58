//! Texts about open files.

/// What is said of a deleted file that is the scratch file of a benchmark.
pub const SCRATCH_FILE_NOTE: &str = "scratch file of a running benchmark, freed when that ends";
