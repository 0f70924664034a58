//! Puts events together to requests.

use std::collections::HashMap;

use super::charge::Charge;
use super::flight::{Bio, Key, Open, adopt, new_request};
use super::operation::Kind;
use super::pending::Pending;
use super::request::Request;
use crate::probe::trace::event::{BlockEvent, Number, Step};

/// What has had no event for this long is given up: longer than any driver's time limit with
/// its retries.
const PATIENCE_NS: u64 = 600_000_000_000;
/// How often that is looked for.
const TIDY_EVERY_NS: u64 = 10_000_000_000;

/// What could not be put together.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gaps {
    /// Completions of requests whose issue was not seen: they were under way when the trace
    /// began, or events were lost.
    pub unseen: u64,
    /// Requests that were given up, because their completion was not seen.
    pub abandoned: u64,
}

/// Puts events together to requests: pure, and in bounded memory.
#[derive(Debug, Default)]
pub struct Matcher {
    drives: HashMap<Number, Number>,
    bios: Pending<Key, Bio>,
    open: Pending<Key, Open>,
    /// Where waiting requests end, and where those begin: what may be merged with what follows.
    ends: HashMap<Key, u64>,
    remapped: HashMap<(Number, u64), (Number, u64)>,
    charge: Charge,
    gaps: Gaps,
    tidied: u64,
}

impl Matcher {
    /// A matcher that knows of these partitions which drive they are part of. Events of bios name
    /// the partition, those of requests the drive, and the sectors of both count from the
    /// beginning of the drive.
    #[must_use]
    pub fn new(drives: HashMap<Number, Number>) -> Self {
        Self {
            drives,
            ..Self::default()
        }
    }

    /// Takes the next event, and hands over the request that it completes.
    pub fn feed(&mut self, event: &BlockEvent, mut done: impl FnMut(Request)) {
        match event.step {
            Step::Dirtied | Step::WritebackBegins | Step::WritebackEnds => self.charge.note(event),
            Step::Lost => {
                self.gaps.abandoned += self.open.len() as u64;
                self.forget();
            }
            Step::Resumed => self.forget(),
            Step::Remapped => self.remap(event),
            Step::Queued => self.queue(event),
            Step::Split => self.split(event),
            Step::Allocated => self.allocate(event),
            Step::BackMerged => self.merge_behind(event),
            Step::FrontMerged => self.merge_before(event),
            Step::RequestMerged => self.merge_request(event),
            Step::Inserted => self.insert(event),
            Step::Issued => self.issue(event),
            Step::Requeued => self.requeue(event),
            Step::Completed => {
                if let Some(request) = self.complete(event) {
                    done(request);
                }
            }
            Step::BioCompleted => {
                if let Some(request) = self.complete_bio(event) {
                    done(request);
                }
            }
        }
        if event.at.saturating_sub(self.tidied) > TIDY_EVERY_NS {
            self.tidy(event.at);
        }
    }

    /// What could not be put together so far.
    #[must_use]
    pub fn gaps(&self) -> Gaps {
        self.gaps
    }

    /// Requests under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.open.len()
    }

    /// When the oldest of those under way that were seen to be queued was.
    #[must_use]
    pub fn oldest_queued(&self) -> Option<u64> {
        let requests = self.open.values();
        let requests = requests.filter_map(|open| open.request.times.queued);
        requests
            .chain(self.bios.values().map(|bio| bio.queued))
            .min()
    }

    fn drive(&self, device: Number) -> Number {
        self.drives.get(&device).copied().unwrap_or(device)
    }

    fn key(&self, event: &BlockEvent) -> Key {
        let kind = Kind::of(event.flags, event.sectors);
        // The kernel gives a flush no place: its sector is 0 in one event and -1 in the next.
        let sector = match kind {
            Kind::FlushCommand => 0,
            _ => event.sector,
        };
        (self.drive(event.device), kind, sector)
    }

    fn remap(&mut self, event: &BlockEvent) {
        let to = self.drive(event.device);
        // Where a partition is remapped and both names mean the drive, the partition is told.
        let from = (event.other_device, event.other_sector);
        self.remapped.insert((to, event.sector), from);
        // Seldom: what was remapped is queued next.
        if self.remapped.len() > 4096 {
            self.remapped.clear();
        }
    }

    fn queue(&mut self, event: &BlockEvent) {
        let key = self.key(event);
        let bio = Bio {
            sectors: u64::from(event.sectors),
            queued: event.at,
            event: *event,
            dirtied_by: match key.1 {
                Kind::On(super::Operation::Write) => self.charge.of(event.pid),
                _ => None,
            },
            from: self.remapped.remove(&(key.0, event.sector)),
            split: false,
        };
        self.bios.push(key, bio);
    }

    fn split(&mut self, event: &BlockEvent) {
        // The event does not tell the length; anything but a wanted flush has one.
        let kind = Kind::of(event.flags, 1);
        let drive = self.drive(event.device);
        let (first, second) = (event.sector, event.other_sector);
        let Some(mut bio) = self.bios.take((drive, kind, first), |_| true) else {
            return;
        };
        bio.split = true;
        let Some(length) = second.checked_sub(first).filter(|l| *l < bio.sectors) else {
            self.bios.push((drive, kind, first), bio);
            return;
        };
        let rest = Bio {
            sectors: bio.sectors - length,
            ..bio
        };
        bio.sectors = length;
        self.bios.push((drive, kind, first), bio);
        self.bios.push((drive, kind, second), rest);
    }

    fn take_bio(&mut self, key: Key, sectors: u32) -> Option<Bio> {
        let sectors = u64::from(sectors);
        self.bios
            .take(key, |bio| bio.sectors == sectors)
            .or_else(|| self.bios.take(key, |_| true))
    }

    fn allocate(&mut self, event: &BlockEvent) {
        let key = self.key(event);
        let mut open = new_request(key, event);
        open.request.times.allocated = Some(event.at);
        if let Some(bio) = self.take_bio(key, event.sectors) {
            adopt(&mut open.request, &bio);
        }
        self.push(key, open);
    }

    fn push(&mut self, key: Key, open: Open) {
        if open.sectors > 0 && !open.is_issued {
            self.ends.insert((key.0, key.1, open.end()), open.rest);
        }
        if !self.open.push(key, open) {
            self.gaps.abandoned += 1;
        }
    }

    /// Takes out the waiting request that ends at a sector.
    fn take_ending_at(&mut self, (drive, kind, end): Key) -> Option<(Key, Open)> {
        let begin = self.ends.remove(&(drive, kind, end))?;
        let key = (drive, kind, begin);
        let open = self
            .open
            .take(key, |open| !open.is_issued && open.end() == end)?;
        Some((key, open))
    }

    fn merge_behind(&mut self, event: &BlockEvent) {
        let key = self.key(event);
        let bio = self.take_bio(key, event.sectors);
        if let Some((at, mut open)) = self.take_ending_at(key) {
            open.join(event, bio.as_ref());
            self.push(at, open);
        }
    }

    fn merge_before(&mut self, event: &BlockEvent) {
        let key = self.key(event);
        let bio = self.take_bio(key, event.sectors);
        let behind = (key.0, key.1, event.sector + u64::from(event.sectors));
        if let Some(mut open) = self.open.take(behind, |open| !open.is_issued) {
            self.ends.remove(&(key.0, key.1, open.end()));
            open.join(event, bio.as_ref());
            open.rest = event.sector;
            open.request.sector = event.sector;
            self.push(key, open);
        }
    }

    /// The request of the event disappears in the one that ends where it begins.
    fn merge_request(&mut self, event: &BlockEvent) {
        let key = self.key(event);
        let Some(next) = self.open.take(key, |open| !open.is_issued) else {
            return;
        };
        self.ends.remove(&(key.0, key.1, next.end()));
        match self.take_ending_at(key) {
            Some((at, mut open)) => {
                open.join(event, None);
                open.request.merged += next.request.merged;
                self.push(at, open);
            }
            // The one before was not seen; this one will not be seen to complete.
            None => self.gaps.abandoned += 1,
        }
    }

    fn insert(&mut self, event: &BlockEvent) {
        let key = self.key(event);
        if let Some(open) = self.open.find(key, |open| !open.is_issued) {
            open.request.times.inserted.get_or_insert(event.at);
            open.last = event.at;
        }
    }

    fn issue(&mut self, event: &BlockEvent) {
        let key = self.key(event);
        let sectors = u64::from(event.sectors);
        let mut open = self
            .open
            .take(key, |open| !open.is_issued && open.sectors == sectors)
            .or_else(|| self.open.take(key, |open| !open.is_issued))
            .unwrap_or_else(|| self.unannounced(key, event));
        self.ends.remove(&(key.0, key.1, open.end()));
        open.sectors = sectors;
        open.is_issued = true;
        open.last = event.at;
        open.request.flags = event.flags;
        open.request.bytes = u64::from(event.bytes);
        open.request.times.issued = Some(event.at);
        self.push(key, open);
    }

    /// A request that was not seen to be allocated.
    fn unannounced(&mut self, key: Key, event: &BlockEvent) -> Open {
        let mut open = new_request(key, event);
        if let Some(bio) = self.take_bio(key, event.sectors) {
            adopt(&mut open.request, &bio);
        }
        open
    }

    fn requeue(&mut self, event: &BlockEvent) {
        let key = self.key(event);
        if let Some(mut open) = self.open.take(key, |open| open.is_issued) {
            open.is_issued = false;
            open.last = event.at;
            open.request.requeued += 1;
            open.request.times.issued = None;
            self.push(key, open);
        }
    }

    fn complete(&mut self, event: &BlockEvent) -> Option<Request> {
        let key = self.key(event);
        let sectors = u64::from(event.sectors);
        let taken = match key.1 {
            // It is served by another request and never issued itself.
            Kind::FlushWanted => self.open.take(key, |_| true),
            _ => self
                .open
                .take(key, |open| open.is_issued && open.sectors == sectors)
                .or_else(|| self.open.take(key, |open| open.is_issued)),
        };
        let Some(mut open) = taken else {
            // A write with a flush is told to be complete twice, the second time without sectors.
            if event.sectors > 0 {
                self.gaps.unseen += 1;
            }
            return None;
        };
        if event.error != 0 {
            open.request.error = event.error;
        }
        if sectors > 0 && sectors < open.sectors {
            open.rest += sectors;
            open.sectors -= sectors;
            open.last = event.at;
            let rest = (key.0, key.1, open.rest);
            self.push(rest, open);
            return None;
        }
        open.request.times.completed = event.at;
        Some(open.request)
    }

    /// A device that makes no requests: all that is known is when it began and when it ended.
    fn complete_bio(&mut self, event: &BlockEvent) -> Option<Request> {
        let key = self.key(event);
        let bio = self.take_bio(key, event.sectors)?;
        let mut covered = bio.sectors;
        // Cut in parts, and complete as a whole.
        while covered < u64::from(event.sectors) {
            match self
                .bios
                .take((key.0, key.1, key.2 + covered), |bio| bio.split)
            {
                Some(part) => covered += part.sectors.max(1),
                None => break,
            }
        }
        let mut open = new_request(key, event);
        adopt(&mut open.request, &bio);
        open.request.times.completed = event.at;
        open.request.error = event.error;
        Some(open.request)
    }

    /// Forgets what is under way: its next event may be among those not seen, and an event of a
    /// later request in the same place would be taken for it.
    fn forget(&mut self) {
        self.open = Pending::default();
        self.bios = Pending::default();
        self.ends.clear();
        self.remapped.clear();
        self.charge.lose();
    }

    /// Gives up what waits in vain.
    fn tidy(&mut self, now: u64) {
        self.tidied = now;
        let begin = now.saturating_sub(PATIENCE_NS);
        let before = self.open.len();
        self.open.retain(|open| open.last >= begin);
        self.gaps.abandoned += (before - self.open.len()) as u64;
        self.bios.retain(|bio| bio.queued >= begin);
        let open = &mut self.open;
        self.ends.retain(|(drive, kind, _), begin| {
            open.find((*drive, *kind, *begin), |_| true).is_some()
        });
    }
}

#[cfg(test)]
mod tests;
