//! Documents that are generated from the program: the tables of benchmarks, checks, keys and
//! fields. Each test compares one with the program, or writes it.

mod benchmarks_page;
mod checks_page;
mod columns_page;
mod commands_page;
mod fields;
mod keys_page;
mod safety_page;

/// Set to write the file anew instead of comparing it.
pub const BLESS_VARIABLE: &str = "DISKSCOPE_BLESS";
