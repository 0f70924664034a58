//! State of the Requests screen: the traced requests of one device.

use std::cell::Cell;
use std::cmp::Reverse;
use std::sync::Arc;

use crate::app::Effect;
use crate::app::live::LiveState;
use crate::app::text::EditableText;
use crate::app::viewport::step_cursor_by_page;
use crate::files::printable::printable_bytes;
use crate::files::safe_text::SafeText;
use crate::stats::sorting::SortList as _;
use crate::trace::requests::TracedRequest;
use crate::tui::keys::KeyCommand;
use crate::tui::screens::requests::view::RequestsView;

/// Why requests cannot be traced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceUnavailable {
    /// The error.
    pub reason: SafeText,
    /// What to do.
    pub advice: SafeText,
    /// Whether no device can be traced; otherwise another one may.
    pub concerns_all_devices: bool,
}

/// A request of the list, and its seek distance in bytes.
#[derive(Debug, Clone, Copy)]
pub struct ListedRequest<'a> {
    /// The request.
    pub request: &'a TracedRequest,
    /// Distance from the end of the request issued before; `None` where it is unknown.
    pub seek_bytes: Option<i64>,
}

/// What identifies a request while the list changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SelectedRequest {
    /// Major and minor number of the device.
    device: (u32, u32),
    sector: u64,
    completed: u64,
}

impl SelectedRequest {
    fn of(request: &TracedRequest) -> Self {
        Self {
            device: request.device,
            sector: request.sector,
            completed: request.timestamps.completed,
        }
    }
}

/// The order of the listed requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RequestOrder {
    /// The newest first.
    #[default]
    Newest,
    /// The longest total time (Q2C) first; unknown times last.
    Slowest,
}

/// The Requests screen.
#[derive(Debug, Clone, Default)]
pub struct RequestsState {
    /// The traced device.
    pub device: Option<SafeText>,
    /// The latest view; `None` until it arrives.
    pub view: Option<Arc<RequestsView>>,
    /// Why requests cannot be traced.
    pub unavailable: Option<TraceUnavailable>,
    /// Whether the display is frozen.
    pub is_held: bool,
    /// Text that a listed request must contain.
    pub filter: EditableText,
    /// Whether the filter is being typed.
    pub is_editing_filter: bool,
    /// The order of the list.
    pub order: RequestOrder,
    /// Whether the stages of the selected request are shown.
    pub shows_detail: bool,
    /// Visible lines of the list, as last drawn: what a page key moves.
    pub page_rows: Cell<Option<u16>>,
    /// The selected request; `None` selects the first of the list.
    selected: Option<SelectedRequest>,
}

impl RequestsState {
    /// Starts tracing when the screen is shown: the device of the last time, or else the busiest.
    pub fn start_following(&mut self, live: &LiveState) -> Vec<Effect> {
        let device = self.device.take().or_else(|| busiest_device(live));
        self.follow_device(device)
    }

    /// Stores a view, unless it belongs to the previous device.
    pub fn update_view(&mut self, view: Arc<RequestsView>) {
        if !self.is_held && self.device.as_ref() == Some(&view.device) {
            self.view = Some(view);
        }
    }

    /// Stores the requests of one snapshot of a recording, whichever device they belong to.
    pub fn show_frame(&mut self, view: Option<Arc<RequestsView>>) {
        self.device = view.as_ref().map(|view| view.device.clone());
        self.view = view;
    }

    /// The requests to list: filtered and in order.
    #[must_use]
    pub fn visible_requests(&self) -> Vec<ListedRequest<'_>> {
        let filter = self.filter.as_string().to_lowercase();
        let views = self.view.iter();
        let pairs = views.flat_map(|view| view.latest_requests.iter().zip(&view.seek_distances));
        let mut listed: Vec<ListedRequest<'_>> = pairs
            .filter(|(request, _)| filter.is_empty() || matches_filter(request, &filter))
            .map(|(request, seek_bytes)| ListedRequest {
                request,
                seek_bytes: *seek_bytes,
            })
            .collect();
        if self.order == RequestOrder::Slowest {
            listed.sort_list_by_key(|listed| Reverse(listed.request.timestamps.stages().q2c));
        }
        listed
    }

    /// The index of the selected request in this list; 0 where it is no longer listed.
    #[must_use]
    pub fn selected_index(&self, listed: &[ListedRequest<'_>]) -> usize {
        let found = self.selected.and_then(|key| {
            let mut keys = listed
                .iter()
                .map(|listed| SelectedRequest::of(listed.request));
            keys.position(|listed| listed == key)
        });
        found.unwrap_or(0)
    }

    fn move_selection(&mut self, movement: KeyCommand) {
        let listed = self.visible_requests();
        // One line stays visible.
        let page = self
            .page_rows
            .get()
            .map(|rows| usize::from(rows).saturating_sub(1).max(1));
        let before = self.selected_index(&listed);
        let index = step_cursor_by_page(before, listed.len(), movement, page);
        // The first line follows the newest request.
        let selected = listed.get(index).filter(|_| index > 0);
        self.selected = selected.map(|listed| SelectedRequest::of(listed.request));
    }

    /// Shows the stages of the selected request; the display is frozen, so that it stays listed.
    fn open_detail(&mut self) {
        let listed = self.visible_requests();
        let Some(selected) = listed.get(self.selected_index(&listed)) else {
            return;
        };
        let key = SelectedRequest::of(selected.request);
        self.selected = Some(key);
        self.shows_detail = true;
        self.is_held = true;
    }

    /// Handles a key command of this screen.
    pub fn handle_command(&mut self, command: KeyCommand, live: &LiveState) -> Vec<Effect> {
        match command {
            KeyCommand::Next => return self.step_device(live, 1),
            KeyCommand::Previous => return self.step_device(live, -1),
            KeyCommand::ReloadList => return self.start_following(live),
            KeyCommand::TogglePause => self.is_held = !self.is_held,
            KeyCommand::EditFilter => self.is_editing_filter = true,
            KeyCommand::Accept if self.is_editing_filter => self.is_editing_filter = false,
            KeyCommand::Accept => self.open_detail(),
            KeyCommand::SortByTotal => {
                self.order = match self.order {
                    RequestOrder::Newest => RequestOrder::Slowest,
                    RequestOrder::Slowest => RequestOrder::Newest,
                };
                self.selected = None;
            }
            KeyCommand::Cancel if self.shows_detail && !self.is_editing_filter => {
                self.shows_detail = false;
                self.is_held = false;
            }
            KeyCommand::Cancel => {
                self.is_editing_filter = false;
                self.filter = EditableText::default();
                self.selected = None;
            }
            movement => self.move_selection(movement),
        }
        Vec::new()
    }

    fn follow_device(&mut self, device: Option<SafeText>) -> Vec<Effect> {
        self.device.clone_from(&device);
        self.view = None;
        self.unavailable = None;
        self.is_held = false;
        self.shows_detail = false;
        self.selected = None;
        vec![Effect::FollowRequests(device)]
    }

    fn step_device(&mut self, live: &LiveState, by: isize) -> Vec<Effect> {
        let names = whole_devices(live);
        if names.is_empty() {
            return Vec::new();
        }
        let index = self
            .device
            .as_ref()
            .and_then(|device| names.iter().position(|name| name == device));
        let next = match index {
            Some(index) => (index as isize + by).rem_euclid(names.len() as isize) as usize,
            None => 0,
        };
        self.follow_device(names.get(next).cloned())
    }
}

/// Devices that are not partitions of another one.
fn whole_devices(live: &LiveState) -> Vec<SafeText> {
    let all = live.snapshot.iter().flat_map(|sample| &sample.devices);
    all.filter(|device| device.parent.is_none())
        .map(|device| device.name.clone())
        .collect()
}

fn busiest_device(live: &LiveState) -> Option<SafeText> {
    let rate = |name: &SafeText| {
        let all = live.snapshot.iter().flat_map(|sample| &sample.devices);
        all.filter(|device| device.name == *name)
            .filter_map(|device| Some(device.read_bytes_per_s? + device.write_bytes_per_s?))
            .sum::<f64>()
    };
    // The first of several equally busy devices.
    whole_devices(live)
        .into_iter()
        .rev()
        .max_by(|left, right| rate(left).total_cmp(&rate(right)))
}

fn matches_filter(request: &TracedRequest, filter: &str) -> bool {
    let by = request.charged_actor();
    by.is_some_and(|actor| {
        actor.pid.to_string().starts_with(filter)
            || printable_bytes(actor.name.as_bytes())
                .to_lowercase()
                .contains(filter)
    }) || request.operation.name().contains(filter)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::snapshot::ViewBuilder;
    use crate::snapshot::view::DeviceView;
    use crate::tui::screens::ScreenState as _;

    fn live_with_rates(rates: &[(&str, Option<&str>, f64)]) -> LiveState {
        let mut sample = ViewBuilder::default().update(Arc::default());
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
        live.set_snapshot(Arc::new(sample));
        live
    }

    fn followed_device(effects: &[Effect]) -> Option<&str> {
        match effects {
            [Effect::FollowRequests(device)] => device.as_deref(),
            _ => None,
        }
    }

    #[test]
    fn requests_screen_follows_busiest_drive_first_and_cycles() {
        let live = live_with_rates(&[
            ("sda", None, 1.0),
            ("sda1", Some("sda"), 9.0),
            ("sdb", None, 5.0),
        ]);
        let mut requests = RequestsState::default();
        assert_eq!(
            followed_device(&requests.start_following(&live)),
            Some("sdb")
        );
        let effects = requests.handle_command(KeyCommand::Next, &live);
        assert_eq!(followed_device(&effects), Some("sda"));
        let effects = requests.handle_command(KeyCommand::Previous, &live);
        assert_eq!(followed_device(&effects), Some("sdb"));
        // Returning to the screen continues with the same device.
        assert_eq!(
            followed_device(&requests.start_following(&live)),
            Some("sdb")
        );
    }

    #[test]
    fn requests_screen_ignores_views_of_previous_device() {
        let mut requests = RequestsState {
            device: Some("sdb".into()),
            ..RequestsState::default()
        };
        let of = |device| {
            Arc::new(crate::tui::screens::requests::view::RequestAggregator::new(device, 0).view(1))
        };
        requests.update_view(of("sda"));
        assert!(requests.view.is_none());
        requests.update_view(of("sdb"));
        assert!(requests.view.is_some());
    }

    fn traced(sector: u64, completed: u64) -> TracedRequest {
        use crate::trace::requests::RequestTimestamps;
        TracedRequest {
            sector,
            timestamps: RequestTimestamps {
                queued: Some(completed.saturating_sub(sector)),
                completed,
                ..RequestTimestamps::default()
            },
            ..TracedRequest::block_read()
        }
    }

    #[test]
    fn selected_request_stays_selected_while_new_ones_arrive() {
        use crate::tui::screens::requests::view::RequestAggregator;
        let live = live_with_rates(&[("sda", None, 1.0)]);
        let mut requests = RequestsState {
            device: Some("sda".into()),
            ..RequestsState::default()
        };
        let mut board = RequestAggregator::new("sda", 0);
        board.add_requests(&[traced(10, 100), traced(30, 200), traced(20, 300)]);
        requests.update_view(Arc::new(board.view(300)));
        let selected = |requests: &RequestsState| {
            let listed = requests.visible_requests();
            listed[requests.selected_index(&listed)].request.sector
        };
        assert_eq!(selected(&requests), 20, "the newest");
        requests.handle_command(KeyCommand::Down, &live);
        assert_eq!(selected(&requests), 30);
        board.add_requests(&[traced(5, 400)]);
        requests.update_view(Arc::new(board.view(400)));
        assert_eq!(selected(&requests), 30);
        requests.handle_command(KeyCommand::GoToFirst, &live);
        assert_eq!(selected(&requests), 5);
        requests.handle_command(KeyCommand::SortByTotal, &live);
        let order: Vec<u64> = requests
            .visible_requests()
            .iter()
            .map(|listed| listed.request.sector)
            .collect();
        assert_eq!(order, [30, 20, 10, 5]);
        // The stages are read in peace; Esc resumes the display.
        requests.handle_command(KeyCommand::Accept, &live);
        assert!(requests.shows_detail && requests.is_held);
        requests.handle_command(KeyCommand::Cancel, &live);
        assert!(!requests.shows_detail && !requests.is_held);
    }

    #[test]
    fn requests_screen_in_replay_shows_recorded_view_without_tracing() {
        use crate::app::key::KeyPress;
        use crate::app::replay::{Frame, ReplayTimeline};
        use crate::app::{AppEvent, AppState, Message, Screen, Seek, update};
        let replay = |has_requests| {
            let timeline = ReplayTimeline::new("day".into(), Arc::default(), None);
            let timeline = ReplayTimeline {
                has_requests,
                ..timeline
            };
            AppState::for_replay(timeline, Duration::from_secs(1))
        };
        let press =
            |state: &mut AppState, letter| update(state, AppEvent::Key(KeyPress::char(letter)));
        let mut without = replay(false);
        assert!(press(&mut without, '3').is_empty());
        assert_eq!(without.screen, Screen::Live);
        assert!(without.status_message.is_some());

        let mut with = replay(true);
        let view = crate::tui::screens::requests::view::RequestAggregator::new("sda", 0).view(1);
        let frame = Frame {
            diagnosis: None,
            index: 0,
            snapshot: Arc::new(ViewBuilder::default().update(Arc::default())),
            requests: Some(Arc::new(view)),
            history: crate::snapshot::SampleHistory::default(),
            is_playing: false,
        };
        update(
            &mut with,
            AppEvent::Message(Message::Frame(Box::new(frame))),
        );
        assert!(press(&mut with, '3').is_empty());
        assert_eq!(with.screen, Screen::Requests);
        assert_eq!(with.requests.device.as_deref(), Some("sda"));
        assert!(
            press(&mut with, 'r').is_empty(),
            "there is nothing to follow"
        );
        assert!(with.requests.view.is_some());
        let effects = press(&mut with, '.');
        assert!(matches!(effects[..], [Effect::Seek(Seek::Forward(1))]));
        assert!(press(&mut with, '1').is_empty());
    }

    #[test]
    fn screen_without_requests_offers_only_keys_that_start_a_trace() {
        let live = live_with_rates(&[("sda", None, 1.0)]);
        let mut requests = RequestsState::default();
        let commands = [
            KeyCommand::ReloadList,
            KeyCommand::Next,
            KeyCommand::Accept,
            KeyCommand::Cancel,
        ];
        let offers = |requests: &RequestsState| commands.map(|it| requests.offers(it, &live));
        assert_eq!(offers(&requests), [true, true, false, false]);
        for (all, expected) in [
            (true, [true, false, false, false]),
            (false, [true, true, false, false]),
        ] {
            requests.unavailable = Some(TraceUnavailable {
                reason: "no tracefs".into(),
                advice: "mount it".into(),
                concerns_all_devices: all,
            });
            assert_eq!(offers(&requests), expected);
        }
        let mut board = crate::tui::screens::requests::view::RequestAggregator::new("sda", 0);
        requests.view = Some(Arc::new(board.view(1)));
        assert_eq!(offers(&requests), [true, true, true, false]);
    }

    #[test]
    fn requests_are_traced_only_while_requests_screen_is_shown() {
        use crate::app::key::KeyPress;
        use crate::app::{AppEvent, AppState, update};
        let mut state = AppState::new(Duration::from_secs(1));
        state.live = live_with_rates(&[("sda", None, 1.0)]);
        let mut press = |letter| update(&mut state, AppEvent::Key(KeyPress::char(letter)));
        assert_eq!(followed_device(&press('3')), Some("sda"));
        assert!(press('3').is_empty(), "already there");
        assert!(matches!(press('1')[..], [Effect::FollowRequests(None)]));
        assert!(press('1').is_empty());
    }
}
