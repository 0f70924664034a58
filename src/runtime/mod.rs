//! Where all rooms meet: jobs, the terminal, the event loop.

pub mod benchmark;
mod kernel_view;
mod machine;
pub mod requests;
mod stages;
