//! Settings of the system that the program changes: planted records, processes that change one
//! setting at the same time and are killed in every order, and who may run the program at all.
//!
//! Each test has a `/run` of its own, in a mount namespace.

mod elevation;
mod ended;
mod planted;
mod race;
mod sandbox;
