//! Files of the user and of the program: outputs, inputs, and the directory of the program's state.

pub mod destination;
pub mod error;
pub mod file_id;
pub mod input;
pub mod output;
pub mod path;
pub mod state;
pub mod terminal;
