//! Where all rooms meet: jobs, the terminal, the event loop, and the services behind it.

pub mod archive;
pub mod benchmark;
pub mod descriptors;
pub mod event_loop;
mod follower;
pub mod input;
pub mod interface;
pub mod jobs;
mod lean;
mod machine;
pub mod machine_services;
pub mod output;
pub mod overwrite;
pub mod player;
pub mod processes;
pub mod requests;
pub mod sampler;
pub mod services;
pub mod signals;
pub mod supervisor;
mod surroundings;
pub mod targets;
pub mod terminal;
mod threads;

pub use event_loop::Ending;
pub use interface::{InterfaceError, Options, replay, run};
