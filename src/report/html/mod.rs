//! Sessions as one self-contained HTML file: no scripts, and no external fonts or images. The page
//! follows the reader's preference for a light or dark colour scheme and can be printed.
//!
//! `maud` builds the markup and escapes all text in it.

mod charts;
mod compare;
mod page;
mod parts;
mod plot;
mod presentation;
mod run;
#[cfg(test)]
mod tests;
mod timestamp;
mod title;

pub use self::page::html_page;
pub use self::presentation::PresentationLookup;
