//! The Requests screen: the single requests of one device, and how they are looked at.

use std::sync::Arc;

use super::action::Effect;
use super::keymap::Command;
use super::live::LiveState;
use super::text::Text;
use super::viewport::Viewport;
use crate::model::requests::{Request, RequestsView};
use crate::printable::printable;
use crate::safe_text::SafeText;

/// The Requests screen.
#[derive(Debug, Clone, Default)]
pub struct RequestsState {
    /// The device that is followed.
    pub device: Option<SafeText>,
    /// The latest of it; `None` until it arrives.
    pub view: Option<Arc<RequestsView>>,
    /// Why requests cannot be followed, and what to do.
    pub refused: Option<[SafeText; 2]>,
    /// Whether the screen is held.
    pub held: bool,
    /// Text that a listed request must contain.
    pub filter: Text,
    /// Whether the filter is being typed.
    pub filtering: bool,
    /// The part of the list that is shown.
    pub viewport: Viewport,
}

impl RequestsState {
    /// The screen comes to the front: follows the device of the last time, or else the busiest.
    pub fn begin(&mut self, live: &LiveState) -> Vec<Effect> {
        let device = self.device.take().or_else(|| busiest(live));
        self.follow(device)
    }

    /// Takes a view, unless it is of the device before.
    pub fn seen(&mut self, view: Arc<RequestsView>) {
        if !self.held && self.device.as_ref() == Some(&view.device) {
            self.view = Some(view);
        }
    }

    /// Takes what a recording knows of a moment, whichever device it is about.
    pub fn recalled(&mut self, view: Option<Arc<RequestsView>>) {
        self.device = view.as_ref().map(|view| view.device.clone());
        self.view = view;
    }

    /// The requests to list: filtered, the newest first.
    #[must_use]
    pub fn listed(&self) -> Vec<&Request> {
        let wanted = self.filter.as_string().to_lowercase();
        self.view
            .iter()
            .flat_map(|view| &view.latest)
            .filter(|request| wanted.is_empty() || matches(request, &wanted))
            .collect()
    }

    /// Obeys a command of this screen.
    pub fn command(&mut self, command: Command, live: &LiveState) -> Vec<Effect> {
        match command {
            Command::Next => return self.step(live, 1),
            Command::Previous => return self.step(live, -1),
            Command::Reload => return self.begin(live),
            Command::Pause => self.held = !self.held,
            Command::Filter => self.filtering = true,
            Command::Accept => self.filtering = false,
            Command::Cancel => {
                self.filtering = false;
                self.filter = Text::default();
                self.viewport.reset();
            }
            movement => self.viewport.scroll(movement),
        }
        Vec::new()
    }

    fn follow(&mut self, device: Option<SafeText>) -> Vec<Effect> {
        self.device.clone_from(&device);
        self.view = None;
        self.refused = None;
        self.held = false;
        self.viewport.reset();
        vec![Effect::Follow(device)]
    }

    fn step(&mut self, live: &LiveState, by: isize) -> Vec<Effect> {
        let names = devices(live);
        if names.is_empty() {
            return Vec::new();
        }
        let place = self
            .device
            .as_ref()
            .and_then(|device| names.iter().position(|name| name == device));
        let next = match place {
            Some(place) => (place as isize + by).rem_euclid(names.len() as isize) as usize,
            None => 0,
        };
        self.follow(names.get(next).cloned())
    }
}

/// Devices that are no part of another one.
fn devices(live: &LiveState) -> Vec<SafeText> {
    let all = live.sample.iter().flat_map(|sample| &sample.devices);
    all.filter(|device| device.parent.is_none())
        .map(|device| device.name.clone())
        .collect()
}

fn busiest(live: &LiveState) -> Option<SafeText> {
    let rate = |name: &SafeText| {
        let all = live.sample.iter().flat_map(|sample| &sample.devices);
        all.filter(|device| device.name == *name)
            .filter_map(|device| Some(device.read_bytes_per_s? + device.write_bytes_per_s?))
            .sum::<f64>()
    };
    // The first of several that are equally busy.
    devices(live)
        .into_iter()
        .rev()
        .max_by(|left, right| rate(left).total_cmp(&rate(right)))
}

fn matches(request: &Request, wanted: &str) -> bool {
    let by = request.charged();
    by.is_some_and(|actor| {
        actor.pid.to_string().starts_with(wanted)
            || printable(actor.name.bytes())
                .to_lowercase()
                .contains(wanted)
    }) || request.operation.word().contains(wanted)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::model::Modeler;
    use crate::model::live::DeviceView;

    fn live(rates: &[(&str, Option<&str>, f64)]) -> LiveState {
        let mut sample = Modeler::default().update(Arc::default());
        sample.devices = rates
            .iter()
            .map(|(name, parent, rate)| DeviceView {
                name: (*name).into(),
                parent: parent.map(str::to_owned).map(Into::into),
                read_bytes_per_s: Some(*rate),
                write_bytes_per_s: Some(0.0),
                ..DeviceView::default()
            })
            .collect();
        let mut live = LiveState::new(Duration::from_secs(1));
        live.sampled(Arc::new(sample));
        live
    }

    fn followed(effects: &[Effect]) -> Option<&str> {
        match effects {
            [Effect::Follow(device)] => device.as_deref(),
            _ => None,
        }
    }

    #[test]
    fn the_busiest_drive_is_followed_first_and_the_arrows_go_round() {
        let live = live(&[
            ("sda", None, 1.0),
            ("sda1", Some("sda"), 9.0),
            ("sdb", None, 5.0),
        ]);
        let mut requests = RequestsState::default();
        assert_eq!(followed(&requests.begin(&live)), Some("sdb"));
        let effects = requests.command(Command::Next, &live);
        assert_eq!(followed(&effects), Some("sda"));
        let effects = requests.command(Command::Previous, &live);
        assert_eq!(followed(&effects), Some("sdb"));
        // Coming back goes on with the same device.
        assert_eq!(followed(&requests.begin(&live)), Some("sdb"));
    }

    #[test]
    fn views_of_the_device_before_are_passed_over() {
        let mut requests = RequestsState {
            device: Some("sdb".into()),
            ..RequestsState::default()
        };
        let of = |device| Arc::new(crate::model::requests::Board::new(device, 0).view(1));
        requests.seen(of("sda"));
        assert!(requests.view.is_none());
        requests.seen(of("sdb"));
        assert!(requests.view.is_some());
    }

    #[test]
    fn a_recording_shows_what_it_has_and_follows_nothing() {
        use crate::app::key::Key;
        use crate::app::replay::{Moment, Timeline, Travel};
        use crate::app::{Action, News, Screen, State, update};
        let replay = |has_requests| {
            let timeline = Timeline::new("day".into(), Arc::default(), None);
            let timeline = Timeline {
                has_requests,
                ..timeline
            };
            State::replaying(timeline, Duration::from_secs(1))
        };
        let press = |state: &mut State, letter| update(state, Action::Key(Key::char(letter)));
        let mut without = replay(false);
        assert!(press(&mut without, '3').is_empty());
        assert_eq!(without.screen, Screen::Live);
        assert!(without.message.is_some());

        let mut with = replay(true);
        let view = crate::model::requests::Board::new("sda", 0).view(1);
        let moment = Moment {
            position: 0,
            live: Arc::new(Modeler::default().update(Arc::default())),
            requests: Some(Arc::new(view)),
            history: crate::model::History::default(),
            playing: false,
        };
        update(&mut with, Action::News(News::Moment(Box::new(moment))));
        assert!(press(&mut with, '3').is_empty());
        assert_eq!(with.screen, Screen::Requests);
        assert_eq!(with.requests.device.as_deref(), Some("sda"));
        assert!(
            press(&mut with, 'r').is_empty(),
            "there is nothing to follow"
        );
        assert!(with.requests.view.is_some());
        let effects = press(&mut with, '.');
        assert!(matches!(effects[..], [Effect::Travel(Travel::Step(1))]));
        assert!(press(&mut with, '1').is_empty());
    }

    #[test]
    fn nothing_is_followed_while_another_screen_is_in_front() {
        use crate::app::key::Key;
        use crate::app::{Action, State, update};
        let mut state = State::new(Duration::from_secs(1));
        state.live = live(&[("sda", None, 1.0)]);
        let mut press = |letter| update(&mut state, Action::Key(Key::char(letter)));
        assert_eq!(followed(&press('3')), Some("sda"));
        assert!(press('3').is_empty(), "already there");
        assert!(matches!(press('1')[..], [Effect::Follow(None)]));
        assert!(press('1').is_empty());
    }
}
