//! The Live screen: the latest sample and the state of its view.

pub mod device_list;
mod name_pattern;
mod pane;
pub mod program_rows;
mod ranking;
pub mod tree;
pub mod unit_list;

use std::sync::Arc;
use std::time::Duration;

use self::device_list::{DeviceColumn, DeviceList, DeviceOrder, DeviceSelection};
use self::program_rows::ProgramRows;
use self::ranking::RowRanking;
use self::unit_list::UnitList;
use super::effect::Effect;
use super::error::OpenFilesError;
use super::process::{ProcessColumn, ProcessOrder};
use super::replay::{FoundItem, Frame, ReplayTimeline};
use super::text::{EditableText, TextInput};
use super::viewport::{DrawnColumns, Viewport, step_cursor};
use crate::files::safe_text::SafeText;
use crate::snapshot::files::{DeletedView, FileView};
use crate::snapshot::view::{
    DeviceView, ProcessView, TransferKey, TransferView, is_delay_accounting_notice,
};
use crate::snapshot::{SampleHistory, Snapshot};
use crate::stats::sorting::SortList as _;
use crate::tui::keys::KeyCommand;

pub use self::pane::{LiveList, LivePane};

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
    /// Whether all devices are listed: also idle loop devices and partitions of listed disks.
    pub show_idle: bool,
    /// Patterns of the devices that are not listed unless all are.
    pub hidden_devices: Vec<String>,
    /// Columns of the devices; all if empty.
    pub shown_columns: Vec<DeviceColumn>,
    /// Whether processes without I/O are listed.
    pub show_all: bool,
    /// Order of the processes.
    pub sort_order: ProcessOrder,
    /// Order of the devices.
    pub device_order: DeviceOrder,
    /// Columns of the processes that are drawn.
    pub process_columns: DrawnColumns,
    /// Columns of the devices that are drawn, as indices in the table of columns.
    pub device_columns: DrawnColumns,
    ranking: RowRanking<(u32, u32)>,
    /// Text that a process must contain.
    pub filter: EditableText,
    /// Text that a device must contain.
    pub device_filter: EditableText,
    /// Whether the filter is being typed.
    pub is_editing_filter: bool,
    /// Position in the recording, where one is replayed.
    pub timeline: Option<ReplayTimeline>,
    /// Process and thread id of the selected process.
    pub selected_process_id: Option<(u32, u32)>,
    /// Whether the user selected that process: otherwise the first line is selected in each sample.
    is_process_chosen: bool,
    /// Whether the user selected the device.
    is_device_chosen: bool,
    /// Name of the selected device.
    pub selected_device_name: Option<SafeText>,
    /// Key of the selected transfer.
    pub selected_transfer_key: Option<TransferKey>,
    /// The list in which movement keys select.
    pub focused_list: LiveList,
    /// Whether processes show totals since the first sample instead of rates.
    pub show_totals: bool,
    /// These totals by program.
    programs: ProgramRows,
    /// Whether processes are shown as a tree.
    pub show_tree: bool,
    /// Whether threads are listed too.
    pub show_threads: bool,
    /// The list of units, which has a pane of its own.
    pub units: UnitList,
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
            show_idle: false,
            hidden_devices: Vec::new(),
            shown_columns: Vec::new(),
            show_all: false,
            sort_order: ProcessOrder::default(),
            device_order: DeviceOrder::default(),
            process_columns: DrawnColumns::default(),
            device_columns: DrawnColumns::default(),
            ranking: RowRanking::default(),
            filter: EditableText::default(),
            device_filter: EditableText::default(),
            is_editing_filter: false,
            timeline: None,
            selected_process_id: None,
            is_process_chosen: false,
            is_device_chosen: false,
            selected_device_name: None,
            selected_transfer_key: None,
            focused_list: LiveList::default(),
            show_totals: false,
            programs: ProgramRows::default(),
            show_tree: false,
            show_threads: false,
            units: UnitList::default(),
            pane: LivePane::Lists,
            viewport: Viewport::default(),
            accounting_enabled: false,
        }
    }

    /// Stores a new sample.
    pub fn set_snapshot(&mut self, snapshot: Arc<Snapshot>) -> Vec<Effect> {
        self.history.record(&snapshot);
        self.programs.add(&snapshot);
        self.snapshot = Some(snapshot);
        self.rank_processes();
        self.select_listed();
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
        self.rank_processes();
        self.select_listed();
    }

    /// Selects what a search in a recording found, if it is listed.
    pub(super) fn select_found(&mut self, found: &FoundItem) {
        match found {
            FoundItem::Process { pid, command } => {
                let processes = self.visible_processes();
                let mut processes = processes.iter();
                let listed =
                    processes.find(|process| process.pid == *pid && process.command == *command);
                if let Some(id) = listed.map(|process| (process.pid, process.tid)) {
                    self.selected_process_id = Some(id);
                    self.is_process_chosen = true;
                    self.focused_list = LiveList::Processes;
                }
            }
            FoundItem::Device(name) => {
                let devices = self.device_list();
                if devices.rows.iter().any(|device| device.name == *name) {
                    self.selected_device_name = Some(name.clone());
                    self.is_device_chosen = true;
                    self.focused_list = LiveList::Devices;
                }
            }
        }
    }

    /// The devices to list, and what is folded.
    #[must_use]
    pub fn device_list(&self) -> DeviceList<'_> {
        let Some(sample) = &self.snapshot else {
            return DeviceList::default();
        };
        let filter = self.device_filter.as_string().to_lowercase();
        let order = self.visible_device_order();
        let selection = DeviceSelection {
            filter: &filter,
            all: self.show_idle,
            hidden: &self.hidden_devices,
        };
        DeviceList::new(sample, &self.history, order, selection)
    }

    /// The order of the devices; the default one while its column is hidden.
    #[must_use]
    pub fn visible_device_order(&self) -> DeviceOrder {
        let is_visible = |column: DeviceColumn| self.device_columns.contains(column.index());
        if self.device_order.column.is_none_or(is_visible) {
            self.device_order
        } else {
            DeviceOrder::default()
        }
    }

    /// The order of the processes; the default one while its column is hidden.
    #[must_use]
    pub fn visible_process_order(&self) -> ProcessOrder {
        let is_visible = |column: ProcessColumn| self.process_columns.contains(column.index());
        if self.sort_order.column.is_none_or(is_visible) {
            self.sort_order
        } else {
            ProcessOrder::default()
        }
    }

    /// Updates the places of the processes, with hysteresis where they are sorted by numbers.
    fn rank_processes(&mut self) {
        let order = self.visible_process_order();
        let processes = self.process_rows().iter();
        let rows: Option<Vec<_>> = processes
            .map(|process| {
                let value = order.number(process, self.show_totals)?;
                Some(((process.pid, process.tid), value))
            })
            .collect();
        let negligible = order.negligible_difference();
        self.ranking
            .update(&rows.unwrap_or_default(), order.descending, negligible);
    }

    /// Ranks the processes anew, after the order was changed.
    fn change_order(&mut self) {
        self.ranking.reset();
        self.rank_processes();
    }

    /// Selects the first line of a list in which the user selected none, or whose selected line is
    /// gone. A selection that followed its process down the list would scroll the busiest away.
    fn select_listed(&mut self) {
        if !self.pane.is_lists() {
            return;
        }
        let processes = self.visible_processes();
        let mut ids = processes.iter().map(|process| (process.pid, process.tid));
        let first = ids.clone().next();
        let is_listed = ids.any(|id| Some(id) == self.selected_process_id);
        if !(self.is_process_chosen && is_listed) {
            self.is_process_chosen = false;
            self.selected_process_id = first;
        }
        let devices = self.device_list();
        let mut names = devices.rows.iter().map(|device| &device.name);
        let first = names.clone().next();
        let is_listed = names.any(|name| Some(name) == self.selected_device_name.as_ref());
        if !(self.is_device_chosen && is_listed) {
            let first = first.cloned();
            self.is_device_chosen = false;
            self.selected_device_name = first;
        }
    }

    /// The processes; their programs while totals are shown, but of a recording, which has its own.
    fn process_rows(&self) -> &[ProcessView] {
        if self.show_totals && self.timeline.is_none() {
            return self.programs.rows();
        }
        self.snapshot
            .as_ref()
            .map_or(&[], |sample| &sample.processes)
    }

    /// The processes to list, filtered and sorted.
    #[must_use]
    pub fn visible_processes(&self) -> Vec<&ProcessView> {
        let filter = self.filter.as_string().to_lowercase();
        let processes = self.process_rows().iter();
        let mut listed: Vec<_> = processes
            .filter(|process| matches_filter(process, &filter))
            .collect();
        let order = self.visible_process_order();
        let rank = |process: &ProcessView| self.ranking.position(&(process.pid, process.tid));
        listed.sort_list_by(|left, right| {
            rank(left)
                .cmp(&rank(right))
                .then_with(|| order.compare(left, right, self.show_totals))
        });
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

    /// The selected transfer, while it is listed.
    #[must_use]
    pub fn selected_transfer(&self) -> Option<&TransferView> {
        let (sample, key) = (
            self.snapshot.as_ref()?,
            self.selected_transfer_key.as_ref()?,
        );
        sample.transfers.iter().find(|it| it.key() == *key)
    }

    /// The selected device, while it is there.
    #[must_use]
    pub fn selected_device(&self) -> Option<&DeviceView> {
        let (sample, name) = (self.snapshot.as_ref()?, self.selected_device_name.as_ref()?);
        sample.devices.iter().find(|device| device.name == *name)
    }

    /// Handles a key command of this screen.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        let (units_were_shown, mounts_were_shown) = (self.shows_units(), self.shows_mounts());
        let mut effects = self.dispatch(command);
        if units_were_shown != self.shows_units() {
            effects.push(Effect::ShowUnits(!units_were_shown));
        }
        if mounts_were_shown != self.shows_mounts() {
            effects.push(Effect::ShowMounts(!mounts_were_shown));
        }
        effects
    }

    /// Whether the list of units is shown.
    #[must_use]
    pub fn shows_units(&self) -> bool {
        matches!(self.pane, LivePane::Units)
    }

    fn shows_mounts(&self) -> bool {
        matches!(self.pane, LivePane::Mounts)
    }

    fn dispatch(&mut self, command: KeyCommand) -> Vec<Effect> {
        if self.shows_units() && self.handle_units(command) {
            return Vec::new();
        }
        match command {
            KeyCommand::ShowUnits => self.show_pane(LivePane::Units),
            KeyCommand::ShowMounts => self.show_pane(LivePane::Mounts),
            KeyCommand::EditFilter => self.is_editing_filter = true,
            KeyCommand::Accept if self.is_editing_filter => self.is_editing_filter = false,
            KeyCommand::Accept => self.open_selected(),
            KeyCommand::Cancel => self.close_pane(),
            KeyCommand::SwitchList => self.focus_next_list(),
            KeyCommand::ToggleTotals => {
                self.show_totals = !self.show_totals;
                self.change_order();
            }
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
            KeyCommand::Next => self.step_sort_column(true),
            KeyCommand::Previous => self.step_sort_column(false),
            KeyCommand::ReverseSort => self.reverse_order(),
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
            movement => match self.focused_list {
                LiveList::Devices => self.select_device(movement),
                LiveList::Transfers => self.select_transfer(movement),
                LiveList::Processes => self.select_process(movement),
            },
        }
        Vec::new()
    }

    /// Handles a command in the list of units; `false` for commands that mean the same elsewhere.
    fn handle_units(&mut self, command: KeyCommand) -> bool {
        let snapshot = self.snapshot.as_deref();
        match command {
            KeyCommand::Accept if !self.is_editing_filter => {
                // The path contains the names of the slices that the unit is in.
                if let Some(unit) = self.units.selected(snapshot) {
                    self.filter = EditableText::new(&unit.path);
                    self.focused_list = LiveList::Processes;
                    self.pane = LivePane::Lists;
                    self.select_listed();
                }
                true
            }
            KeyCommand::Cancel if self.is_editing_filter || !self.units.filter.is_empty() => {
                self.is_editing_filter = false;
                self.units.filter = EditableText::default();
                true
            }
            command => self.units.handle_command(command, snapshot),
        }
    }

    /// Whether the kernel counts the delays of processes already.
    #[must_use]
    pub fn is_accounting_on(&self) -> bool {
        let off = |notice: &SafeText| is_delay_accounting_notice(notice);
        let mut samples = self.snapshot.iter();
        samples.any(|sample| !sample.notices.iter().any(off))
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
        self.is_process_chosen |= self.focused_list == LiveList::Processes;
        self.is_device_chosen |= self.focused_list == LiveList::Devices;
        match self.focused_list {
            LiveList::Devices if self.selected_device_name.is_some() => {
                self.show_pane(LivePane::Device);
            }
            LiveList::Transfers if self.selected_transfer_key.is_some() => {
                self.show_pane(LivePane::Transfer);
            }
            LiveList::Processes if self.selected_process_id.is_some() => {
                self.show_pane(LivePane::Process);
            }
            _ => {}
        }
    }

    /// Closes the pane; if none is open, clears filter and selection.
    fn close_pane(&mut self) {
        if self.is_editing_filter || self.pane.is_lists() {
            self.is_editing_filter = false;
            self.filter = EditableText::default();
            self.device_filter = EditableText::default();
            self.is_process_chosen = false;
            self.is_device_chosen = false;
            self.selected_transfer_key = None;
            self.focused_list = LiveList::Processes;
            self.select_listed();
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
            self.focused_list = LiveList::Processes;
            self.pane = LivePane::Lists;
        }
    }

    fn select_device(&mut self, movement: KeyCommand) {
        let names: Vec<SafeText> = self
            .device_list()
            .rows
            .iter()
            .map(|device| device.name.clone())
            .collect();
        let index = names
            .iter()
            .position(|name| Some(name) == self.selected_device_name.as_ref());
        self.is_device_chosen = true;
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

    /// Focuses the next list; without transfers there are two.
    fn focus_next_list(&mut self) {
        let has_transfers = self
            .snapshot
            .as_ref()
            .is_some_and(|sample| !sample.transfers.is_empty());
        self.focused_list = match self.focused_list {
            LiveList::Processes => LiveList::Devices,
            LiveList::Devices if has_transfers => LiveList::Transfers,
            LiveList::Devices | LiveList::Transfers => LiveList::Processes,
        };
        if self.focused_list == LiveList::Transfers && self.selected_transfer().is_none() {
            self.select_transfer(KeyCommand::GoToFirst);
        }
    }

    fn select_transfer(&mut self, movement: KeyCommand) {
        let transfers = self.snapshot.iter().flat_map(|sample| &sample.transfers);
        let keys: Vec<TransferKey> = transfers.map(TransferView::key).collect();
        let index = keys
            .iter()
            .position(|key| Some(key) == self.selected_transfer_key.as_ref());
        self.selected_transfer_key =
            moved_index(movement, index, keys.len()).map(|index| keys[index].clone());
    }

    /// The filter of the focused list.
    #[must_use]
    pub fn focused_filter(&self) -> &EditableText {
        match self.focused_list {
            _ if self.shows_units() => &self.units.filter,
            LiveList::Devices => &self.device_filter,
            _ => &self.filter,
        }
    }

    /// Applies input to the filter of the focused list.
    pub fn type_filter(&mut self, input: TextInput) {
        match self.focused_list {
            _ if self.shows_units() => self.units.filter.apply_input(input),
            LiveList::Devices => self.device_filter.apply_input(input),
            _ => self.filter.apply_input(input),
        }
        self.select_listed();
    }

    fn step_sort_column(&mut self, forward: bool) {
        if self.focused_list == LiveList::Devices {
            let columns = &self.device_columns;
            let is_visible = |column: DeviceColumn| columns.contains(column.index());
            self.device_order.step_column(forward, is_visible);
        } else {
            let columns = &self.process_columns;
            let is_visible = |column: ProcessColumn| columns.contains(column.index());
            self.sort_order.step_column(forward, is_visible);
            self.change_order();
        }
    }

    fn reverse_order(&mut self) {
        if self.focused_list == LiveList::Devices {
            self.device_order.reversed = !self.device_order.reversed;
        } else {
            self.sort_order.descending = !self.sort_order.descending;
            self.change_order();
        }
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
        self.is_process_chosen = true;
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

fn matches_filter(process: &ProcessView, filter: &str) -> bool {
    filter.is_empty()
        || process.command.to_lowercase().contains(filter)
        || process.pid.to_string().starts_with(filter)
        || process
            .device_names()
            .any(|device| device.to_lowercase() == filter)
        || process
            .user
            .as_ref()
            .is_some_and(|user| user.to_lowercase().contains(filter))
        || [&process.unit, &process.unit_path]
            .into_iter()
            .flatten()
            .any(|unit| unit.to_lowercase().contains(filter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::ViewBuilder;

    fn sample(rates: &[(u32, f64)]) -> Arc<Snapshot> {
        let mut sample = ViewBuilder::default().update(Arc::default());
        sample.processes = rates
            .iter()
            .map(|(pid, rate)| ProcessView {
                pid: *pid,
                tid: *pid,
                read_bytes_per_s: Some(*rate),
                ..ProcessView::default()
            })
            .collect();
        Arc::new(sample)
    }

    #[test]
    fn first_process_is_selected_until_the_user_selects_one() {
        let mut live = LiveState::new(Duration::from_secs(1));
        live.set_snapshot(sample(&[(1, 9e6), (2, 1e6)]));
        assert_eq!(live.selected_process_id, Some((1, 1)));
        for _ in 0..9 {
            live.set_snapshot(sample(&[(1, 1e6), (2, 1e6), (3, 99e6)]));
        }
        assert_eq!(live.selected_process_id, Some((3, 3)), "the first line");
        live.handle_command(KeyCommand::Down);
        let chosen = live.selected_process_id;
        live.set_snapshot(sample(&[(1, 1e6), (2, 1e6), (3, 99e6), (4, 999e6)]));
        assert_eq!(live.selected_process_id, chosen);
        live.set_snapshot(sample(&[(4, 999e6)]));
        assert_eq!(live.selected_process_id, Some((4, 4)));
    }

    #[test]
    fn totals_list_programs_with_their_ended_processes() {
        let process = |pid, command: &str, read| ProcessView {
            pid,
            tid: pid,
            command: command.into(),
            read_accumulated_bytes: Some(read),
            write_accumulated_bytes: Some(0),
            ..ProcessView::default()
        };
        let with = |processes| {
            let mut sample = ViewBuilder::default().update(Arc::default());
            sample.processes = processes;
            Arc::new(sample)
        };
        let mut live = LiveState::new(Duration::from_secs(1));
        live.set_snapshot(with(vec![process(7, "cat /a", 2_000_000_000)]));
        live.set_snapshot(with(vec![
            process(8, "cat /b", 5),
            process(9, "dd if=x", 7),
        ]));
        let listed = |live: &LiveState| -> Vec<(String, Option<u64>)> {
            let rows = live.visible_processes().into_iter();
            rows.map(|row| (row.command.to_string(), row.read_accumulated_bytes))
                .collect()
        };
        assert_eq!(listed(&live).len(), 2);
        live.handle_command(KeyCommand::ToggleTotals);
        let expected = [
            ("cat (2 processes)".to_owned(), Some(2_000_000_005)),
            ("dd if=x".to_owned(), Some(7)),
        ];
        assert_eq!(listed(&live), expected);
    }

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
    fn transfer_is_selected_by_its_file_and_shown_in_its_pane() {
        let transfer = |pid, source: &str| TransferView {
            pid: Some(pid),
            source: Some(source.into()),
            ..TransferView::default()
        };
        let with = |transfers| {
            let mut snapshot = ViewBuilder::default().update(Arc::default());
            snapshot.transfers = transfers;
            Arc::new(snapshot)
        };
        let mut live = LiveState::new(Duration::from_secs(1));
        live.set_snapshot(with(vec![transfer(7, "/a"), transfer(8, "/b")]));
        live.handle_command(KeyCommand::SwitchList);
        assert_eq!(live.focused_list, LiveList::Devices);
        live.handle_command(KeyCommand::SwitchList);
        live.handle_command(KeyCommand::Down);
        // The other order in the next sample.
        live.set_snapshot(with(vec![transfer(8, "/b"), transfer(7, "/a")]));
        assert_eq!(live.selected_transfer().and_then(|it| it.pid), Some(8));
        live.handle_command(KeyCommand::Accept);
        assert!(matches!(live.pane, LivePane::Transfer));
        live.set_snapshot(with(Vec::new()));
        assert!(live.selected_transfer().is_none());
        live.handle_command(KeyCommand::Cancel);
        live.handle_command(KeyCommand::SwitchList);
        assert_eq!(live.focused_list, LiveList::Processes);
    }
}
