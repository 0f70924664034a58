//! The library on literal input: kernels, recorded drives, simulated drives, damaged files, screens.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod interface;
mod kernels;
mod mechanics;
mod mechanics_coverage;
#[path = "../support/overlay.rs"]
mod overlay;
mod parsers;
#[path = "../support/mod.rs"]
mod support;
mod traces;
