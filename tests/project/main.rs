//! The project itself: layers and cycles of the sources, generated documents, pictures.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod architecture;
mod documents;
mod pictures;
