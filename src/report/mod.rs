//! Documents and views as text, JSON and HTML. Measures nothing.

pub mod compare;
pub mod html;
pub mod text;
pub mod watch;
