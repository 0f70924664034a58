//! The Live screen: the latest sample and the state of its view.

use std::sync::Arc;
use std::time::Duration;

use super::effect::Effect;
use super::error::OpenFilesError;
use super::keymap::KeyCommand;
use super::preferences::{DeviceColumnName, matches_pattern};
use super::process::ProcessOrder;
use super::replay::{Frame, ReplayTimeline};
use super::text::EditableText;
use super::viewport::{Viewport, step_cursor};
use crate::model::files::{DeletedView, FileView};
use crate::model::snapshot::{DeviceView, ProcessView};
use crate::model::{SampleHistory, Snapshot};
use crate::safe_text::SafeText;

mod pane;
pub mod tree;

pub use self::pane::LivePane;

/// Intervals that `+` and `-` step through, in milliseconds.
const INTERVALS_MS: [u64; 8] = [200, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];

/// The Live screen.
#[derive(Debug, Clone)]
pub struct LiveState {
    /// The latest sample; `None` until the first arrives.
    pub snapshot: Option<Arc<Snapshot>>,
    /// Throughput of each device over the last samples.
    pub history: SampleHistory,
    /// Time between two samples.
    pub interval: Duration,
    /// Whether sampling is paused.
    pub paused: bool,
    /// Whether idle devices are listed.
    pub show_idle: bool,
    /// Patterns of the devices that are left out.
    pub hidden_devices: Vec<String>,
    /// Columns of the devices; all if empty.
    pub shown_columns: Vec<DeviceColumnName>,
    /// Whether processes without I/O are listed.
    pub show_all: bool,
    /// Order of the processes.
    pub sort_order: ProcessOrder,
    /// Text that a process must contain.
    pub filter: EditableText,
    /// Whether the filter is being typed.
    pub is_editing_filter: bool,
    /// Position in the recording, where one is replayed.
    pub timeline: Option<ReplayTimeline>,
    /// Process and thread id of the selected process.
    pub selected_process_id: Option<(u32, u32)>,
    /// Name of the selected device.
    pub selected_device_name: Option<SafeText>,
    /// Whether movement keys select devices instead of processes.
    pub devices_focused: bool,
    /// Whether processes show totals since the first sample instead of rates.
    pub show_totals: bool,
    /// Whether processes are shown as a tree.
    pub show_tree: bool,
    /// Whether threads are listed too.
    pub show_threads: bool,
    /// The pane shown in place of the lists.
    pub pane: LivePane,
    /// Scroll position of the pane.
    pub viewport: Viewport,
    /// Whether this program has switched delay accounting on.
    pub accounting_enabled: bool,
}

impl LiveState {
    /// Creates the state before the first sample.
    #[must_use]
    pub fn new(interval: Duration) -> Self {
        Self {
            snapshot: None,
            history: SampleHistory::default(),
            interval,
            paused: false,
            show_idle: true,
            hidden_devices: Vec::new(),
            shown_columns: Vec::new(),
            show_all: false,
            sort_order: ProcessOrder::default(),
            filter: EditableText::default(),
            is_editing_filter: false,
            timeline: None,
            selected_process_id: None,
            selected_device_name: None,
            devices_focused: false,
            show_totals: false,
            show_tree: false,
            show_threads: false,
            pane: LivePane::Lists,
            viewport: Viewport::default(),
            accounting_enabled: false,
        }
    }

    /// Stores a new sample.
    pub fn set_snapshot(&mut self, mut snapshot: Arc<Snapshot>) -> Vec<Effect> {
        if !self.hidden_devices.is_empty() {
            let patterns = &self.hidden_devices;
            let is_hidden = |device: &DeviceView| {
                patterns
                    .iter()
                    .any(|pattern| matches_pattern(&device.name, pattern))
            };
            Arc::make_mut(&mut snapshot)
                .devices
                .retain(|device| !is_hidden(device));
        }
        self.history.record(&snapshot);
        self.snapshot = Some(snapshot);
        match (&self.pane, self.selected_process_id) {
            (LivePane::OpenFiles(_), Some((pid, _))) => vec![Effect::ListOpenFiles(pid)],
            _ => Vec::new(),
        }
    }

    /// Stores a snapshot of a recording.
    pub fn show_frame(&mut self, frame: Frame) {
        if let Some(timeline) = &mut self.timeline {
            timeline.frame_index = frame.index;
            timeline.is_playing = frame.is_playing;
        }
        if let Some(interval) = frame.snapshot.interval {
            self.interval = interval;
        }
        self.history = frame.history;
        self.snapshot = Some(frame.snapshot);
    }

    /// The devices to list: all, or those that are not idle.
    #[must_use]
    pub fn visible_devices(&self) -> Vec<&DeviceView> {
        let devices = self.snapshot.iter().flat_map(|sample| &sample.devices);
        devices
            .filter(|device| self.show_idle || !is_idle(device))
            .collect()
    }

    /// The processes to list, filtered and sorted.
    #[must_use]
    pub fn visible_processes(&self) -> Vec<&ProcessView> {
        let filter = self.filter.as_string().to_lowercase();
        let processes = self.snapshot.iter().flat_map(|sample| &sample.processes);
        let mut listed: Vec<_> = processes
            .filter(|process| matches_filter(process, &filter))
            .collect();
        listed.sort_by(|left, right| self.sort_order.compare(left, right, self.show_totals));
        if self.show_tree {
            listed = tree::in_tree_order(&listed);
        }
        listed
    }

    /// The selected process, while it is listed.
    #[must_use]
    pub fn selected_process(&self) -> Option<&ProcessView> {
        let sample = self.snapshot.as_ref()?;
        let mut processes = sample.processes.iter();
        processes.find(|process| Some((process.pid, process.tid)) == self.selected_process_id)
    }

    /// The selected device, while it is there.
    #[must_use]
    pub fn selected_device(&self) -> Option<&DeviceView> {
        let (sample, name) = (self.snapshot.as_ref()?, self.selected_device_name.as_ref()?);
        sample.devices.iter().find(|device| device.name == *name)
    }

    /// Handles a key command of this screen.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        let timeline = self.timeline.as_ref();
        if let Some(effects) = timeline.and_then(|timeline| timeline.handle_command(command)) {
            return effects;
        }
        match command {
            KeyCommand::EditFilter => self.is_editing_filter = true,
            KeyCommand::Accept if self.is_editing_filter => self.is_editing_filter = false,
            KeyCommand::Accept => self.open_selected(),
            KeyCommand::Cancel => self.close_pane(),
            KeyCommand::SwitchList => self.devices_focused = !self.devices_focused,
            KeyCommand::ToggleTotals => self.show_totals = !self.show_totals,
            KeyCommand::ToggleTree => self.show_tree = !self.show_tree,
            KeyCommand::ToggleThreads => {
                self.show_threads = !self.show_threads;
                return vec![Effect::ShowThreads(self.show_threads)];
            }
            KeyCommand::ShowMemory => self.show_pane(LivePane::Memory),
            KeyCommand::ShowDeletedFiles => {
                self.show_pane(LivePane::DeletedFiles(None));
                return vec![Effect::ListDeletedFiles];
            }
            KeyCommand::ShowOpenFiles => return self.list_open_files(),
            KeyCommand::FilterByDevice => self.filter_by_device(),
            KeyCommand::Next => self.sort_order.step_column(true),
            KeyCommand::Previous => self.sort_order.step_column(false),
            KeyCommand::ReverseSort => self.sort_order.descending = !self.sort_order.descending,
            KeyCommand::ToggleIdleDevices => self.show_idle = !self.show_idle,
            KeyCommand::ToggleAllProcesses => {
                self.show_all = !self.show_all;
                return vec![Effect::ShowAllProcesses(self.show_all)];
            }
            KeyCommand::TogglePause => {
                self.paused = !self.paused;
                return vec![Effect::SetPaused(self.paused)];
            }
            KeyCommand::LongerInterval => return self.step_interval(true),
            KeyCommand::ShorterInterval => return self.step_interval(false),
            movement if !self.pane.is_lists() => self.viewport.scroll(movement),
            movement if self.devices_focused => self.select_device(movement),
            movement => self.select_process(movement),
        }
        Vec::new()
    }

    /// Stores the open files of a process.
    pub fn set_open_files(&mut self, pid: u32, files: Result<Vec<FileView>, Arc<OpenFilesError>>) {
        let is_selected = self.selected_process_id.is_some_and(|(own, _)| own == pid);
        if is_selected && matches!(self.pane, LivePane::OpenFiles(_)) {
            self.pane = LivePane::OpenFiles(Some(files));
        }
    }

    /// Stores the list of deleted files.
    pub fn set_deleted_files(&mut self, files: Vec<DeletedView>) {
        if matches!(self.pane, LivePane::DeletedFiles(_)) {
            self.pane = LivePane::DeletedFiles(Some(files));
        }
    }

    fn show_pane(&mut self, pane: LivePane) {
        self.pane = pane;
        self.viewport.reset();
    }

    /// Opens the pane of the selection.
    fn open_selected(&mut self) {
        if self.devices_focused && self.selected_device_name.is_some() {
            self.show_pane(LivePane::Device);
        } else if !self.devices_focused && self.selected_process_id.is_some() {
            self.show_pane(LivePane::Process);
        }
    }

    /// Closes the pane; if none is open, clears filter and selection.
    fn close_pane(&mut self) {
        if self.is_editing_filter || self.pane.is_lists() {
            self.is_editing_filter = false;
            self.filter = EditableText::default();
            self.selected_process_id = None;
            self.selected_device_name = None;
            self.devices_focused = false;
        } else {
            self.pane = LivePane::Lists;
        }
    }

    fn list_open_files(&mut self) -> Vec<Effect> {
        let is_alive = |process: &&ProcessView| !process.exited;
        let Some(pid) = self
            .selected_process()
            .filter(is_alive)
            .map(|process| process.pid)
        else {
            return Vec::new();
        };
        self.show_pane(LivePane::OpenFiles(None));
        vec![Effect::ListOpenFiles(pid)]
    }

    /// Lists only processes that use the selected device.
    fn filter_by_device(&mut self) {
        if let Some(device) = &self.selected_device_name {
            self.filter = EditableText::new(device);
            self.devices_focused = false;
            self.pane = LivePane::Lists;
        }
    }

    fn select_device(&mut self, movement: KeyCommand) {
        let names: Vec<SafeText> = self
            .visible_devices()
            .iter()
            .map(|device| device.name.clone())
            .collect();
        let index = names
            .iter()
            .position(|name| Some(name) == self.selected_device_name.as_ref());
        self.selected_device_name =
            moved_index(movement, index, names.len()).map(|index| names[index].clone());
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

    fn select_process(&mut self, movement: KeyCommand) {
        let ids: Vec<_> = self
            .visible_processes()
            .iter()
            .map(|process| (process.pid, process.tid))
            .collect();
        let index = self
            .selected_process_id
            .and_then(|selected| ids.iter().position(|id| *id == selected));
        self.selected_process_id = moved_index(movement, index, ids.len()).map(|index| ids[index]);
    }
}

/// The index in a list of `count` lines after a movement; `None` when the list is empty.
fn moved_index(movement: KeyCommand, index: Option<usize>, count: usize) -> Option<usize> {
    let last = count.checked_sub(1)?;
    Some(match index {
        None if movement == KeyCommand::GoToLast => last,
        None => 0,
        Some(index) => step_cursor(index, count, movement),
    })
}

/// Whether a device is known to be idle; a device with unknown rates is not idle.
fn is_idle(device: &DeviceView) -> bool {
    device.read_ios_per_s == Some(0.0)
        && device.write_ios_per_s == Some(0.0)
        && device.in_flight.unwrap_or(0) == 0
}

fn matches_filter(process: &ProcessView, filter: &str) -> bool {
    filter.is_empty()
        || process.command.to_lowercase().contains(filter)
        || process.pid.to_string().starts_with(filter)
        || process
            .devices
            .iter()
            .any(|device| device.to_lowercase() == filter)
        || process
            .user
            .as_ref()
            .is_some_and(|user| user.to_lowercase().contains(filter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_interval_steps_stay_within_limits() {
        let mut live = LiveState::new(Duration::from_secs(1));
        live.handle_command(KeyCommand::ShorterInterval);
        assert_eq!(live.interval, Duration::from_millis(500));
        live.handle_command(KeyCommand::ShorterInterval);
        assert!(live.handle_command(KeyCommand::ShorterInterval).is_empty());
        live.interval = Duration::from_millis(700);
        let effects = live.handle_command(KeyCommand::LongerInterval);
        assert!(matches!(effects[..], [Effect::SetInterval(interval)] if interval.as_secs() == 1));
    }

    #[test]
    fn device_with_unknown_rates_is_not_idle() {
        let mut device = DeviceView::default();
        assert!(!is_idle(&device));
        device.read_ios_per_s = Some(0.0);
        device.write_ios_per_s = Some(0.0);
        assert!(is_idle(&device));
        device.in_flight = Some(1);
        assert!(!is_idle(&device));
    }
}
