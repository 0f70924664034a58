//! I/O of control groups: counters, pressure and limits of each, and the unit that it belongs to
//! as people know it (service, container, login session).

pub mod container;
pub mod counters;
mod hierarchies;
pub mod limits;
mod reader;
pub mod unit;

pub use self::counters::DeviceIo;
pub(crate) use self::hierarchies::IoHierarchies;
pub use self::reader::ControlGroupReader;
pub(crate) use self::unit::UnitNames;
