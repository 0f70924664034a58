//! Verdicts provoked for real, by the program as it is called: loop devices with and without direct
//! I/O, files with holes, another process on the same device, busy processors, simulated drives
//! whose caches fill up. And absent on a clean run. What needs root or loop devices says so and
//! skips; what needs another drive (temperature, links, partitions, other virtual disks) is in
//! `tests/guest/verdicts.sh`, to be run in a virtual machine, and on literal trees in the library.

mod of_tests;
mod paused;
mod provoked;
mod real;
mod sandbox;
mod shared;
mod simulated;
mod situations;
