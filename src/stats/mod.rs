//! Numbers in, numbers out.

pub mod anderson_darling;
pub mod bimodality;
pub mod circular;
pub mod concurrency;
pub mod confidence;
pub mod epoch_folding;
pub mod fits;
pub mod latency;
pub mod reduce;
pub mod response_model;
pub mod robust;
pub mod segments;
pub mod steady_state;
pub mod student;
pub mod threshold;
pub mod timeline;
pub mod uniform;
