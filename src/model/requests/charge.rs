//! Whom to charge with what a thread of the kernel writes back.
//!
//! The kernel does not keep who made a page dirty. It tells when a file without dirty pages gets
//! some, and by whom; and between the beginning and the end of a file's writeback everything that
//! the writing thread hands to the block layer belongs to that file (`writeback_mark_inode_dirty`,
//! `writeback_single_inode_start` and `writeback_single_inode` in the kernel's
//! include/trace/events/writeback.h). So a file's writes are charged to whoever was the first to
//! make it dirty again after it had been clean.

use std::collections::HashMap;

use super::request::Actor;
use crate::probe::trace::event::{BlockEvent, FileKey, Step};

/// Files that are remembered. When there are more, half of them go, the longest unseen first.
const FILES: usize = 16_384;

/// Remembers who made which file dirty, and which thread writes back which file.
#[derive(Debug, Default)]
pub(super) struct Charge {
    dirtied: HashMap<FileKey, (u64, Actor)>,
    writing: HashMap<u32, FileKey>,
}

impl Charge {
    /// Takes note of an event of a file.
    pub(super) fn note(&mut self, event: &BlockEvent) {
        match event.step {
            Step::Dirtied => {
                let actor = Actor {
                    pid: event.pid,
                    name: event.name,
                };
                self.dirtied.insert(event.file, (event.at, actor));
                if self.dirtied.len() > FILES {
                    self.forget_half();
                }
            }
            Step::WritebackBegins => {
                self.writing.insert(event.pid, event.file);
            }
            Step::WritebackEnds => {
                self.writing.remove(&event.pid);
            }
            _ => {}
        }
    }

    /// Whom to charge with what this thread hands over; `None` when that is the thread itself.
    pub(super) fn of(&self, pid: u32) -> Option<Actor> {
        let file = self.writing.get(&pid)?;
        let (_, actor) = self.dirtied.get(file)?;
        (actor.pid != pid).then_some(*actor)
    }

    /// After lost events nobody knows who writes back what.
    pub(super) fn lose(&mut self) {
        self.writing.clear();
    }

    fn forget_half(&mut self) {
        let mut times: Vec<u64> = self.dirtied.values().map(|(at, _)| *at).collect();
        let middle = times.len() / 2;
        let (_, middle, _) = times.select_nth_unstable(middle);
        let middle = *middle;
        self.dirtied.retain(|_, (at, _)| *at > middle);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::trace::event::{Name, Word};

    fn event(step: Step, at: u64, pid: u32, inode: u64) -> BlockEvent {
        BlockEvent {
            pid,
            name: Name::of(b"dd"),
            file: FileKey {
                backing: Word::of(b"8:0"),
                inode,
            },
            ..BlockEvent::new(step, at)
        }
    }

    #[test]
    fn what_is_written_back_is_charged_to_who_made_it_dirty() {
        let mut charge = Charge::default();
        charge.note(&event(Step::Dirtied, 1, 100, 7));
        assert_eq!(charge.of(5), None);
        charge.note(&event(Step::WritebackBegins, 2, 5, 7));
        assert_eq!(charge.of(5).unwrap().pid, 100);
        assert_eq!(charge.of(6), None);
        charge.note(&event(Step::WritebackEnds, 3, 5, 7));
        assert_eq!(charge.of(5), None);
        charge.note(&event(Step::WritebackBegins, 4, 5, 8));
        assert_eq!(charge.of(5), None, "nobody was seen to make it dirty");
    }

    #[test]
    fn it_remembers_a_bounded_number_of_files() {
        let mut charge = Charge::default();
        for inode in 0..3 * FILES as u64 {
            charge.note(&event(Step::Dirtied, inode, 100, inode));
        }
        assert!(charge.dirtied.len() <= FILES);
        charge.note(&event(Step::WritebackBegins, 9, 5, 3 * FILES as u64 - 1));
        assert!(charge.of(5).is_some());
    }
}
