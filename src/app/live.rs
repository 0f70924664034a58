//! The Live screen: the latest sample, and how it is looked at.

use std::sync::Arc;
use std::time::Duration;

use super::action::Effect;
use super::keymap::Command;
use super::process::Order;
use super::replay::{Moment, Timeline};
use super::text::Text;
use super::viewport::{Viewport, step};
mod pane;
pub mod tree;

pub use pane::{Class, Deed, Pane, Signal, Victim};

use crate::model::files::{DeletedView, FileView};
use crate::model::live::{DeviceView, ProcessView};
use crate::model::{History, Live};
use crate::safe_text::SafeText;

/// Intervals that `+` and `-` step through, in milliseconds.
const INTERVALS_MS: [u64; 8] = [200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

/// The Live screen.
#[derive(Debug, Clone)]
pub struct LiveState {
    /// The latest sample; `None` until the first arrives.
    pub sample: Option<Arc<Live>>,
    /// Throughput of each device over the last samples.
    pub history: History,
    /// Time between two samples.
    pub interval: Duration,
    /// Whether sampling is paused.
    pub paused: bool,
    /// Whether devices that do nothing are listed.
    pub idle: bool,
    /// Whether processes that move nothing are listed.
    pub all: bool,
    /// Order of the processes.
    pub order: Order,
    /// Text that a process must contain.
    pub filter: Text,
    /// Whether the filter is being typed.
    pub filtering: bool,
    /// Of a recording, where in it the screen is.
    pub timeline: Option<Timeline>,
    /// Process and thread id of the selected process.
    pub selected: Option<(u32, u32)>,
    /// Name of the selected device.
    pub device: Option<SafeText>,
    /// Whether keys move through the devices rather than the processes.
    pub on_devices: bool,
    /// Whether processes show what they moved since they were seen first, rather than rates.
    pub totals: bool,
    /// Whether processes are listed below their parents.
    pub tree: bool,
    /// Whether threads are listed too.
    pub threads: bool,
    /// What stands in the place of the lists.
    pub pane: Pane,
    /// The part of the pane that is shown.
    pub viewport: Viewport,
    /// Whether delay accounting was switched on from here.
    pub accounting: bool,
}

impl LiveState {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self {
            sample: None,
            history: History::default(),
            interval,
            paused: false,
            idle: true,
            all: false,
            order: Order::default(),
            filter: Text::default(),
            filtering: false,
            timeline: None,
            selected: None,
            device: None,
            on_devices: false,
            totals: false,
            tree: false,
            threads: false,
            pane: Pane::Lists,
            viewport: Viewport::default(),
            accounting: false,
        }
    }

    /// Takes a new sample.
    pub fn sampled(&mut self, live: Arc<Live>) -> Vec<Effect> {
        self.history.record(&live);
        self.sample = Some(live);
        match (&self.pane, self.selected) {
            (Pane::Files(_), Some((pid, _))) => vec![Effect::ListFiles(pid)],
            _ => Vec::new(),
        }
    }

    /// Takes a view of a recording.
    pub fn recalled(&mut self, moment: Moment) {
        if let Some(timeline) = &mut self.timeline {
            timeline.position = moment.position;
            timeline.playing = moment.playing;
        }
        if let Some(interval) = moment.live.interval {
            self.interval = interval;
        }
        self.history = moment.history;
        self.sample = Some(moment.live);
    }

    /// The devices to list: all, or those that do something.
    #[must_use]
    pub fn devices(&self) -> Vec<&DeviceView> {
        let devices = self.sample.iter().flat_map(|sample| &sample.devices);
        devices
            .filter(|device| self.idle || !is_idle(device))
            .collect()
    }

    /// The processes to list: filtered, in order.
    #[must_use]
    pub fn processes(&self) -> Vec<&ProcessView> {
        let wanted = self.filter.as_string().to_lowercase();
        let processes = self.sample.iter().flat_map(|sample| &sample.processes);
        let mut listed: Vec<_> = processes
            .filter(|process| matches(process, &wanted))
            .collect();
        listed.sort_by(|left, right| self.order.compare(left, right, self.totals));
        if self.tree {
            listed = tree::by_parents(&listed);
        }
        listed
    }

    /// The selected process, while it is listed.
    #[must_use]
    pub fn process(&self) -> Option<&ProcessView> {
        let sample = self.sample.as_ref()?;
        let mut processes = sample.processes.iter();
        processes.find(|process| Some((process.pid, process.tid)) == self.selected)
    }

    /// The selected device, while it is there.
    #[must_use]
    pub fn selected_device(&self) -> Option<&DeviceView> {
        let (sample, name) = (self.sample.as_ref()?, self.device.as_ref()?);
        sample.devices.iter().find(|device| device.name == *name)
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        let travel = self.timeline.as_ref();
        if let Some(effects) = travel.and_then(|timeline| timeline.command(command)) {
            return effects;
        }
        match command {
            Command::Filter => self.filtering = true,
            Command::Accept if self.filtering => self.filtering = false,
            Command::Accept => self.open(),
            Command::Cancel => self.cancel(),
            Command::Switch => self.on_devices = !self.on_devices,
            Command::Totals => self.totals = !self.totals,
            Command::Tree => self.tree = !self.tree,
            Command::Threads => {
                self.threads = !self.threads;
                return vec![Effect::ShowThreads(self.threads)];
            }
            Command::Memory => self.show(Pane::Memory),
            Command::Deleted => {
                self.show(Pane::Deleted(None));
                return vec![Effect::ListDeleted];
            }
            Command::Files => return self.list_files(),
            Command::OfDevice => self.filter_by_device(),
            Command::Next => self.order.step(true),
            Command::Previous => self.order.step(false),
            Command::Reverse => self.order.descending = !self.order.descending,
            Command::Idle => self.idle = !self.idle,
            Command::All => {
                self.all = !self.all;
                return vec![Effect::ShowAll(self.all)];
            }
            Command::Pause => {
                self.paused = !self.paused;
                return vec![Effect::Pause(self.paused)];
            }
            Command::Slower => return self.step_interval(true),
            Command::Faster => return self.step_interval(false),
            movement if self.pane != Pane::Lists => self.viewport.scroll(movement),
            movement if self.on_devices => self.select_device(movement),
            movement => self.select(movement),
        }
        Vec::new()
    }

    /// Takes the list of what a process has open.
    pub fn listed_files(&mut self, pid: u32, files: Result<Vec<FileView>, String>) {
        let wanted = self.selected.is_some_and(|(own, _)| own == pid);
        if wanted && matches!(self.pane, Pane::Files(_)) {
            self.pane = Pane::Files(Some(files));
        }
    }

    /// Takes the list of deleted files.
    pub fn listed_deleted(&mut self, files: Vec<DeletedView>) {
        if matches!(self.pane, Pane::Deleted(_)) {
            self.pane = Pane::Deleted(Some(files));
        }
    }

    fn show(&mut self, pane: Pane) {
        self.pane = pane;
        self.viewport.reset();
    }

    /// Opens what is selected.
    fn open(&mut self) {
        if self.on_devices && self.device.is_some() {
            self.show(Pane::Device);
        } else if !self.on_devices && self.selected.is_some() {
            self.show(Pane::Process);
        }
    }

    /// Closes the pane; where there is none, forgets filter and selection.
    fn cancel(&mut self) {
        if self.filtering || self.pane == Pane::Lists {
            self.filtering = false;
            self.filter = Text::default();
            self.selected = None;
            self.device = None;
            self.on_devices = false;
        } else {
            self.pane = Pane::Lists;
        }
    }

    fn list_files(&mut self) -> Vec<Effect> {
        let Some((pid, _)) = self.selected else {
            return Vec::new();
        };
        self.show(Pane::Files(None));
        vec![Effect::ListFiles(pid)]
    }

    /// Lists only processes that work on the selected device.
    fn filter_by_device(&mut self) {
        if let Some(device) = &self.device {
            self.filter = Text::new(device);
            self.on_devices = false;
            self.pane = Pane::Lists;
        }
    }

    fn select_device(&mut self, movement: Command) {
        let names: Vec<SafeText> = self
            .devices()
            .iter()
            .map(|device| device.name.clone())
            .collect();
        let place = names
            .iter()
            .position(|name| Some(name) == self.device.as_ref());
        self.device = moved(movement, place, names.len()).map(|place| names[place].clone());
    }

    fn step_interval(&mut self, longer: bool) -> Vec<Effect> {
        let now = self.interval;
        let mut steps = INTERVALS_MS.into_iter().map(Duration::from_millis);
        let next = if longer {
            steps.find(|step| *step > now)
        } else {
            steps.rev().find(|step| *step < now)
        };
        let Some(interval) = next else {
            return Vec::new();
        };
        self.interval = interval;
        vec![Effect::SetInterval(interval)]
    }

    fn select(&mut self, movement: Command) {
        let ids: Vec<_> = self
            .processes()
            .iter()
            .map(|process| (process.pid, process.tid))
            .collect();
        let place = self
            .selected
            .and_then(|selected| ids.iter().position(|id| *id == selected));
        self.selected = moved(movement, place, ids.len()).map(|place| ids[place]);
    }
}

/// The place in a list of `count` that a movement leads to; `None` when the list is empty.
fn moved(movement: Command, place: Option<usize>, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    Some(match place {
        None if movement == Command::Last => last,
        None => 0,
        Some(place) => step(place, count, movement),
    })
}

/// Whether a device is known to do nothing; what is unknown is not idle.
fn is_idle(device: &DeviceView) -> bool {
    device.read_ios_per_s == Some(0.0)
        && device.write_ios_per_s == Some(0.0)
        && device.in_flight.unwrap_or(0) == 0
}

fn matches(process: &ProcessView, wanted: &str) -> bool {
    wanted.is_empty()
        || process.command.to_lowercase().contains(wanted)
        || process.pid.to_string().starts_with(wanted)
        || process
            .devices
            .iter()
            .any(|device| device.to_lowercase() == wanted)
        || process
            .user
            .as_ref()
            .is_some_and(|user| user.to_lowercase().contains(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_steps_between_its_ends() {
        let mut live = LiveState::new(Duration::from_secs(1));
        live.command(Command::Faster);
        assert_eq!(live.interval, Duration::from_millis(500));
        live.command(Command::Faster);
        assert!(live.command(Command::Faster).is_empty());
        live.interval = Duration::from_millis(700);
        let effects = live.command(Command::Slower);
        assert!(matches!(effects[..], [Effect::SetInterval(interval)] if interval.as_secs() == 1));
    }

    #[test]
    fn an_unknown_device_is_not_idle() {
        let mut device = DeviceView::default();
        assert!(!is_idle(&device));
        device.read_ios_per_s = Some(0.0);
        device.write_ios_per_s = Some(0.0);
        assert!(is_idle(&device));
        device.in_flight = Some(1);
        assert!(!is_idle(&device));
    }
}
