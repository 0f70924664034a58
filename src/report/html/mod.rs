//! Sessions as one self-contained HTML file: no scripts, and no external fonts or images. The page
//! follows the reader's preference for a light or dark colour scheme and can be printed.
//!
//! `maud` builds the markup and escapes all text in it.

mod page;
mod plot;
mod render;
#[cfg(test)]
mod tests;
mod title;

pub use self::page::html_page;
