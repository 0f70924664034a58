//! Where all rooms meet: jobs, the terminal, the event loop, and the services behind it.

pub mod benchmark;
pub mod benchmark_thread;
mod compact_backend;
pub mod descriptors;
pub mod event_loop;
mod evidence;
pub mod input;
pub mod interface;
mod machine;
pub mod machine_services;
pub mod output;
pub mod overwrite_consent;
pub mod player;
pub mod processes;
mod request_follower;
pub mod requests;
pub mod sampler;
pub mod services;
pub mod session_archive;
pub mod signals;
pub mod supervisor;
pub mod targets;
pub mod terminal;
mod threads;

pub use event_loop::LoopEnd;
pub use interface::{InterfaceError, InterfaceOptions, replay, run};
