//! What the diagnosis asks the kernel about tasks that wait: since when they sleep, the limits of control
//! groups that they reach, the servers and the locks that they wait for.

pub mod groups;
pub mod locks;
pub mod servers;
pub mod sleeps;
