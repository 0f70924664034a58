//! What many tests share: parameters, plans, figures and words.

mod figures;
mod options;
mod plans;
mod words;

pub use figures::*;
pub use options::*;
pub use plans::*;
pub use words::*;
