//! Settings of the system that the program changes: planted records, processes that change one setting at the
//! same time, and every way in which they end.
//!
//! Each test of the program has a `/run` of its own, in a mount namespace.

mod planted;
mod restored;
mod sandbox;
mod values;
