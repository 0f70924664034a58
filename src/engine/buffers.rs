//! The buffers of one lane: for each request in flight one to read into, one to write from.

use super::EngineError;
use super::aligned_buffer::AlignedBuffer;
use super::data_pattern::DataPattern;
use super::plan::{IoOperation, Plan};

/// Buffers for `depth` requests in flight. Reads and writes of a mixed plan have buffers of their
/// own: what was read must not make up what is written.
#[derive(Debug)]
pub struct RequestBuffers {
    memory: AlignedBuffer,
    data_pattern: DataPattern,
    /// Index of the first buffer to write from.
    first_write_buffer: usize,
}

impl RequestBuffers {
    /// For that many requests of the plan in flight.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(plan: &Plan, depth: usize) -> Result<Self, EngineError> {
        let length = plan.block_size.max_bytes() as usize;
        let (count, writes_from) = match plan.operation {
            IoOperation::Read => (depth, depth),
            IoOperation::Write => (depth, 0),
            IoOperation::Mixed { .. } => (2 * depth, depth),
        };
        let mut area =
            AlignedBuffer::new(count, length).map_err(|source| EngineError::EngineStart {
                tried: format!("get memory for {count} buffers of {length} bytes"),
                source,
            })?;
        let mut content = DataPattern::new(plan.data_kind);
        for index in writes_from..count {
            content.fill(area.buffer_mut(index));
        }
        Ok(Self {
            memory: area,
            data_pattern: content,
            first_write_buffer: writes_from,
        })
    }

    /// The buffer of a slot, for a write with content that was never written before. The slot must
    /// have no request in flight.
    #[inline]
    pub fn prepare_buffer(&mut self, slot: usize, bytes: u32, writes: bool) -> usize {
        if !writes {
            return slot;
        }
        let index = self.first_write_buffer + slot;
        self.data_pattern
            .rewrite_random_words(&mut self.memory.buffer_mut(index)[..bytes as usize]);
        index
    }

    /// The memory.
    pub fn area(&mut self) -> &mut AlignedBuffer {
        &mut self.memory
    }
}
