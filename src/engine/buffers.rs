//! The buffers of one lane: for each request in flight one to read into, one to write from.

use super::EngineError;
use super::area::Area;
use super::content::Content;
use super::plan::{Operation, Plan};

/// Buffers for `depth` requests in flight. Reads and writes of a mixed plan have buffers of their
/// own: what was read must not make up what is written.
#[derive(Debug)]
pub struct Buffers {
    area: Area,
    content: Content,
    /// Index of the first buffer to write from.
    writes_from: usize,
}

impl Buffers {
    /// For that many requests of the plan in flight.
    ///
    /// # Errors
    /// When there is no memory.
    pub fn new(plan: &Plan, depth: usize) -> Result<Self, EngineError> {
        let length = plan.block_size.largest() as usize;
        let (count, writes_from) = match plan.operation {
            Operation::Read => (depth, depth),
            Operation::Write => (depth, 0),
            Operation::Mixed { .. } => (2 * depth, depth),
        };
        let mut area = Area::new(count, length).map_err(|source| EngineError::Start {
            tried: format!("get memory for {count} buffers of {length} bytes"),
            source,
        })?;
        let mut content = Content::new(plan.data);
        for index in writes_from..count {
            content.fill(area.bytes(index));
        }
        Ok(Self {
            area,
            content,
            writes_from,
        })
    }

    /// The buffer of a slot, for a write with content that was never written before. The slot must
    /// have no request in flight.
    #[inline]
    pub fn prepare(&mut self, slot: usize, bytes: u32, writes: bool) -> usize {
        if !writes {
            return slot;
        }
        let index = self.writes_from + slot;
        self.content
            .refresh(&mut self.area.bytes(index)[..bytes as usize]);
        index
    }

    /// The memory.
    pub fn area(&mut self) -> &mut Area {
        &mut self.area
    }
}
