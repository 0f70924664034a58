//! The buffers of one worker: for each request in flight one for reads, one for writes.

use super::EngineError;
use super::aligned_buffer::AlignedBuffer;
use super::data_pattern::DataPattern;
use super::plan::{IoOperation, Plan};

/// Buffers for `depth` requests in flight. Reads and writes of a mixed plan have separate buffers,
/// so that data that was read does not become data that is written.
#[derive(Debug)]
pub struct RequestBuffers {
    memory: AlignedBuffer,
    data_pattern: DataPattern,
    /// Index of the first write buffer.
    first_write_buffer: usize,
}

impl RequestBuffers {
    /// Allocates buffers for `depth` requests of the plan.
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
                tried: format!("allocate memory for {count} buffers of {length} bytes"),
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

    /// The buffer of a slot, filled with new data for a write. The slot must have no request in
    /// flight.
    #[inline(always)]
    pub fn prepare_buffer(&mut self, slot: usize, bytes: u32, writes: bool) -> usize {
        if !writes {
            return slot;
        }
        let index = self.first_write_buffer + slot;
        self.data_pattern
            .rewrite_random_words(&mut self.memory.buffer_mut(index)[..bytes as usize]);
        index
    }

    /// The underlying memory.
    pub fn area(&mut self) -> &mut AlignedBuffer {
        &mut self.memory
    }
}
