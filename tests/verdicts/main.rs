//! Verdicts provoked for real, by the program as it is called: loop devices with and without direct
//! I/O, files with holes, another process on the same device, busy processors, simulated drives
//! whose caches fill up. And absent on a clean run. What needs root or loop devices says so and
//! passes over; temperature, links and partitions are tested on literal trees in the library.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod place;
mod real;
mod shared;
mod simulated;
