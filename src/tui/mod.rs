//! The terminal interface: event loop, input, terminal, and the threads that serve it.

mod backend;
pub mod benchmark_thread;
pub mod demo;
pub mod demo_content;
mod diagnosis_watch;
pub mod event_loop;
mod file_follower;
pub mod input;
pub mod interface;
pub mod keys;
pub mod machine_services;
pub mod player;
pub mod processes;
mod request_follower;
pub mod sampler;
pub mod screens;
pub mod services;
pub mod session_archive;
pub mod signals;
pub mod targets;
pub mod terminal;
pub mod terminal_kind;
pub mod terminal_output;
pub mod theme;
mod threads;
pub mod widgets;

pub use self::event_loop::LoopEnd;
pub use self::interface::{InterfaceError, InterfaceOptions, demo, replay, run};
