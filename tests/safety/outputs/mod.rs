//! Outputs and inputs that the user names, and what the program keeps: nothing else is written.

mod inputs;
mod kinds;
mod limits;
mod ownership;
mod planted;
mod privacy;
mod sandbox;
