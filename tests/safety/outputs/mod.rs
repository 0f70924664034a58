//! Where results and states go: what is replaced and what is refused, who owns it, and who may read it. And what a
//! command reads.

mod inputs;
mod kinds;
mod ownership;
mod planted;
mod privacy;
mod sandbox;
