//! Benchmark parameters as data, from which the launcher's form, the command line, the forecast and
//! the JSON are made.

mod handle;
pub(crate) mod keyword;
mod kind;
mod set;
mod value;

pub use self::handle::{AnyParameter, DATA_WORDS, Parameter, ParameterType};
pub use self::keyword::Keyword;
pub use self::kind::{ParameterError, ParameterKind};
pub use self::set::ParameterSet;
pub use self::value::{ParameterValue, SizeRange, WindowPosition};
