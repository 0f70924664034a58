//! The interface as its user meets it: every screen, and the loop behind them.

#[path = "../../pictures/canned.rs"]
mod canned;
mod comparison;
mod consent;
mod driven;
mod form;
mod panes;
mod questions;
mod screens;
mod scrolling;
mod why;
