//! Transfers: every large file or block device that some process moves through, found by itself,
//! whatever the program.
//!
//! Three kinds of evidence, the best first: a position that advances (read, write, sendfile,
//! splice), a destination that grows beside a source of which nothing moves (one
//! copy_file_range(2) over the whole file, as cp, install and cat do), and a process that reads
//! much and has only one large file open.

use std::time::Duration;

use crate::probe::Sample;
use crate::probe::sample::FileKind;

use super::interval::Interval;
use super::live::TransferView;

mod dd;
pub mod ends;
pub mod estimate;
mod flow;
mod groups;
mod jobs;
mod limits;
mod pairing;
#[cfg(test)]
mod tests;
mod tracked;

use ends::Scene;
use flow::ProcessFlows;
use jobs::Jobs;
use pairing::Place;
use tracked::{Basis, End, Tracked};

/// A finished transfer is shown for this long.
const SHOWN_AFTERWARDS: Duration = Duration::from_secs(10);
/// A file left open in the middle (a pager) is no transfer any more.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(300);
/// A file that is only written to, at less than this, is a log rather than a transfer.
const LEAST_BYTES_PER_S: f64 = 1024.0 * 1024.0;

/// Finds transfers and follows them from sample to sample.
#[derive(Debug)]
pub struct Tracker {
    smallest: u64,
    transfers: Vec<Tracked>,
    jobs: Jobs,
}

impl Tracker {
    /// Takes note of files of at least `smallest` bytes.
    #[must_use]
    pub fn new(smallest: u64) -> Self {
        Self {
            smallest,
            transfers: Vec::new(),
            jobs: Jobs::default(),
        }
    }

    /// Takes note of a sample.
    pub fn update(&mut self, interval: &Interval<'_>) {
        let now = interval.now;
        self.jobs.update(now);
        for transfer in &mut self.transfers {
            transfer.observe(now);
        }
        if let Some(before) = interval.before {
            let all = flow::collect(interval);
            let found = Search {
                all: &all,
                before,
                now,
            };
            self.find_moving(&found);
            self.find_growing(&found);
            self.find_written(&found);
            self.find_unpositioned(&found);
            self.complete(&found);
        }
        self.transfers
            .retain(|transfer| match transfer.finished_for(now.at) {
                Some(time) => time < SHOWN_AFTERWARDS,
                None => transfer.still_for(now.at) < FORGOTTEN_AFTER,
            });
    }

    /// The transfers: jobs of several files, then single files; those that go on before those that
    /// have finished, the largest remainder first.
    #[must_use]
    pub fn views(&self, scene: &Scene<'_>) -> Vec<TransferView> {
        let at = scene.now.at;
        let mut order: Vec<&Tracked> = self.transfers.iter().collect();
        order
            .sort_by_key(|transfer| (!transfer.is_open(), std::cmp::Reverse(transfer.remaining())));
        let files: Vec<TransferView> = order
            .into_iter()
            .map(|transfer| {
                let mut view = transfer.view(at);
                ends::complete(&mut view, transfer, scene);
                view
            })
            .collect();
        let mut views = self.jobs.views(at);
        for job in &mut views {
            // The file of the moment waits for what the job waits for.
            if let Some(file) = files.iter().find(|file| file.pid == job.pid) {
                job.waits_for = file.waits_for;
                job.throttled = file.throttled.or(job.throttled);
            }
        }
        views.extend(files);
        views
    }

    /// Sources whose position advanced.
    fn find_moving(&mut self, search: &Search<'_>) {
        for place in search.places() {
            let (process, flow) = search.at(place);
            let inside = flow.file.size.is_some_and(|size| flow.file.position < size);
            if flow.advanced() == 0
                || !inside
                || !flow.can_be_source(self.smallest)
                || self.is_known(search, place)
            {
                continue;
            }
            let destination = pairing::destination(search.all, place);
            let source = End::new(process.process, flow.file);
            self.follow(search, Some((place, source)), destination, Basis::Position);
        }
    }

    /// Destinations that grow while no position does.
    fn find_growing(&mut self, search: &Search<'_>) {
        for place in search.places() {
            let (process, flow) = search.at(place);
            if !flow.grew_unpositioned() || self.is_known(search, place) {
                continue;
            }
            let source = pairing::unmoved_source(process, flow.file, self.smallest)
                .map(|flow| Place { flow, ..place });
            if let Some(source) = source.filter(|source| !self.is_known(search, *source)) {
                let end = End::new(process.process, search.at(source).1.file);
                self.follow(search, Some((source, end)), Some(place), Basis::Growth);
            }
        }
    }

    /// Destinations whose source is not a file, such as `/dev/zero` or a socket.
    fn find_written(&mut self, search: &Search<'_>) {
        for place in search.places() {
            let (_, flow) = search.at(place);
            let large = matches!(flow.file.kind, FileKind::Block(_))
                || flow.file.size.is_some_and(|size| size >= self.smallest);
            let rate = flow.advanced().max(flow.grown()) as f64 / search.seconds();
            if !large
                || !flow.is_written()
                || rate < LEAST_BYTES_PER_S
                || self.is_known(search, place)
            {
                continue;
            }
            let basis = if flow.advanced() > 0 {
                Basis::Position
            } else {
                Basis::Growth
            };
            self.follow(search, None, Some(place), basis);
        }
    }

    /// The only large file of a process that reads much without moving a position.
    fn find_unpositioned(&mut self, search: &Search<'_>) {
        for (index, process) in search.all.iter().enumerate() {
            let reads = process.moved.is_some_and(|(io, elapsed)| {
                io.read.max(io.asked_read) as f64 >= LEAST_BYTES_PER_S * elapsed.as_secs_f64()
            });
            let busy_elsewhere = || {
                self.transfers.iter().any(|transfer| {
                    let ends = [&transfer.source, &transfer.destination];
                    transfer.is_open()
                        && ends
                            .into_iter()
                            .flatten()
                            .any(|end| end.is_of(process.process))
                })
            };
            if !reads || busy_elsewhere() {
                continue;
            }
            let mut large = (0..process.flows.len())
                .filter(|flow| process.flows[*flow].can_be_source(self.smallest));
            let (Some(flow), None) = (large.next(), large.next()) else {
                continue;
            };
            let file = process.flows[flow].file;
            // At its end and not moving: it was read before, and what is read now is not it.
            if process.flows[flow].earlier.is_some() && Some(file.position) < file.size {
                let place = Place {
                    process: index,
                    flow,
                };
                let source = End::new(process.process, file);
                self.follow(search, Some((place, source)), None, Basis::Counters);
            }
        }
    }

    /// Sources whose destination was not known yet.
    fn complete(&mut self, search: &Search<'_>) {
        for place in search.places() {
            let (process, flow) = search.at(place);
            let Some(index) = self.transfers.iter().position(|transfer| {
                transfer.is_open()
                    && transfer.destination.is_none()
                    && transfer
                        .source
                        .as_ref()
                        .is_some_and(|source| source.is(process.process, flow.file))
            }) else {
                continue;
            };
            if let Some(found) = pairing::destination(search.all, place) {
                let end = self.claim(search, found);
                self.transfers[index].destination = Some(end);
                self.transfers.retain(|transfer| !is_orphan(transfer));
            }
        }
    }

    /// Begins to follow a transfer; the sample before is its first observation.
    fn follow(
        &mut self,
        search: &Search<'_>,
        source: Option<(Place, End)>,
        destination: Option<Place>,
        basis: Basis,
    ) {
        let Some(leader) = source.as_ref().map(|(place, _)| *place).or(destination) else {
            return;
        };
        let process = search.at(leader).0.process;
        let destination = destination.map(|place| self.claim(search, place));
        self.transfers.retain(|transfer| !is_orphan(transfer));
        let source = source.map(|(_, end)| end);
        let mut transfer = Tracked::new(process, source, destination, basis);
        transfer.observe_first(search.before);
        transfer.observe(search.now);
        self.transfers.push(transfer);
    }

    /// Takes a destination away from the transfer that knew no source for it.
    fn claim(&mut self, search: &Search<'_>, place: Place) -> End {
        let (process, flow) = search.at(place);
        for transfer in &mut self.transfers {
            let same = |end: &End| end.is(process.process, flow.file);
            if transfer.source.is_none() && transfer.destination.as_ref().is_some_and(same) {
                transfer.destination = None;
            }
        }
        End::new(process.process, flow.file)
    }

    fn is_known(&self, search: &Search<'_>, place: Place) -> bool {
        let (process, flow) = search.at(place);
        self.transfers
            .iter()
            .any(|transfer| transfer.is_open() && transfer.involves(process.process, flow))
    }
}

/// Whether both its ends were taken away.
fn is_orphan(transfer: &Tracked) -> bool {
    transfer.source.is_none() && transfer.destination.is_none()
}

/// Two samples and what happened to open files between them.
struct Search<'s> {
    all: &'s [ProcessFlows<'s>],
    before: &'s Sample,
    now: &'s Sample,
}

impl<'s> Search<'s> {
    fn places(&self) -> impl Iterator<Item = Place> + use<'s> {
        let all = self.all;
        (0..all.len()).flat_map(|process| {
            (0..all[process].flows.len()).map(move |flow| Place { process, flow })
        })
    }

    fn at(&self, place: Place) -> (&'s ProcessFlows<'s>, &'s flow::Flow<'s>) {
        let process = &self.all[place.process];
        (process, &process.flows[place.flow])
    }

    fn seconds(&self) -> f64 {
        self.now
            .at
            .saturating_sub(self.before.at)
            .as_secs_f64()
            .max(f64::MIN_POSITIVE)
    }
}
