//! The Live screen: the latest sample, and how it is looked at.

use std::sync::Arc;
use std::time::Duration;

use super::action::Effect;
use super::keymap::Command;
use super::process::Order;
use super::replay::{Moment, Timeline};
use super::text::Text;
use crate::model::live::{DeviceView, ProcessView};
use crate::model::{History, Live};

/// Intervals that `+` and `-` step through, in milliseconds.
const INTERVALS_MS: [u64; 8] = [200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];
/// Lines that a page key moves.
const PAGE: usize = 10;

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
        }
    }

    /// Takes a new sample.
    pub fn sampled(&mut self, live: Arc<Live>) {
        self.history.record(&live);
        self.sample = Some(live);
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
        listed.sort_by(|left, right| self.order.compare(left, right));
        listed
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command) -> Vec<Effect> {
        let travel = self.timeline.as_ref();
        if let Some(effects) = travel.and_then(|timeline| timeline.command(command)) {
            return effects;
        }
        match command {
            Command::Filter => self.filtering = true,
            Command::Accept => self.filtering = false,
            Command::Cancel => {
                self.filtering = false;
                self.filter = Text::default();
                self.selected = None;
            }
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
            movement => self.select(movement),
        }
        Vec::new()
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
        let Some(last) = ids.len().checked_sub(1) else {
            self.selected = None;
            return;
        };
        let place = self
            .selected
            .and_then(|selected| ids.iter().position(|id| *id == selected));
        let next = match (movement, place) {
            (Command::First, _) => 0,
            (Command::Last, _) => last,
            (Command::Down, Some(place)) => (place + 1).min(last),
            (Command::Up, Some(place)) => place.saturating_sub(1),
            (Command::PageDown, Some(place)) => (place + PAGE).min(last),
            (Command::PageUp, Some(place)) => place.saturating_sub(PAGE),
            (Command::Down | Command::Up | Command::PageDown | Command::PageUp, None) => 0,
            _ => return,
        };
        self.selected = Some(ids[next]);
    }
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
