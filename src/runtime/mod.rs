//! Where all rooms meet: the terminal, the loop, and the services behind the interface.

pub mod event_loop;
pub mod input;
pub mod sampler;
pub mod services;
pub mod signals;
pub mod terminal;
