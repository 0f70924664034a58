//! What may go wrong around a run, done for real: the program is killed, the file system is full,
//! the drive goes away, the clock is stepped. What needs root or FUSE says so in one line where it
//! cannot be tried.

mod cancel;
mod clock;
mod full;
mod kill;
mod outputs;
mod sandbox;
mod signals;
mod unmount;
