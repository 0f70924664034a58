//! The pane of hot files: which files the requests belong to. Files are traced only while it is shown.

use std::sync::Arc;

use super::effect::Effect;
use super::live::{LivePane, LiveState};
use super::viewport::step_cursor;
use crate::files::safe_text::SafeText;
use crate::trace::hot_files::view::{HotFileView, HotFilesView};
use crate::tui::keys::KeyCommand;
use crate::tui::screens::requests::TraceUnavailable;

/// The files that are listed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HotFilesScope {
    /// All.
    Everything,
    /// Those that a process reads or writes.
    Process {
        /// Process id.
        pid: u32,
        /// Its program.
        command: SafeText,
    },
    /// Those on a device.
    Device {
        /// Its name.
        name: SafeText,
        /// The device, and the partitions and volumes on it.
        volumes: Vec<SafeText>,
    },
}

impl HotFilesScope {
    /// What the Live screen shows: a process, a device, or everything.
    #[must_use]
    pub fn of_live(live: &LiveState) -> Self {
        match &live.pane {
            LivePane::Process => {
                live.selected_process()
                    .map_or(Self::Everything, |process| Self::Process {
                        pid: process.pid,
                        command: process.command.clone(),
                    })
            }
            LivePane::Device => Self::of_device(live, live.selected_device_name.as_ref()),
            _ => Self::Everything,
        }
    }

    /// A device, if one is named.
    #[must_use]
    pub fn of_device(live: &LiveState, name: Option<&SafeText>) -> Self {
        let Some(name) = name else {
            return Self::Everything;
        };
        let mut volumes = vec![name.clone()];
        let devices = live.snapshot.iter().flat_map(|sample| &sample.devices);
        let devices: Vec<_> = devices.collect();
        let mut next = 0;
        while let Some(below) = volumes.get(next).cloned() {
            next += 1;
            let above = devices.iter().filter(|device| {
                device.parent.as_ref() == Some(&below) || device.underlying.contains(&below)
            });
            let new: Vec<SafeText> = above
                .map(|device| device.name.clone())
                .filter(|name| !volumes.contains(name))
                .collect();
            volumes.extend(new);
        }
        Self::Device {
            name: name.clone(),
            volumes,
        }
    }

    fn includes_file(&self, file: &HotFileView) -> bool {
        match self {
            Self::Everything => true,
            Self::Process { pid, .. } => file.who.iter().any(|user| user.process.pid == *pid),
            Self::Device { volumes, .. } => volumes.contains(&file.file.device),
        }
    }
}

/// State of the pane.
#[derive(Debug, Clone, Default)]
pub struct HotFilesState {
    /// What is listed; `None` while the pane is not shown.
    pub scope: Option<HotFilesScope>,
    /// The files since the start of the trace; `None` until the first view arrives.
    pub view: Option<Arc<HotFilesView>>,
    /// Why files cannot be traced.
    pub unavailable: Option<TraceUnavailable>,
    selected: usize,
}

impl HotFilesState {
    /// Whether the pane is shown.
    #[must_use]
    pub fn is_shown(&self) -> bool {
        self.scope.is_some()
    }

    /// Shows the pane and starts the trace.
    pub fn open(&mut self, scope: HotFilesScope) -> Vec<Effect> {
        *self = Self {
            scope: Some(scope),
            ..Self::default()
        };
        vec![Effect::TraceFiles(true)]
    }

    /// Hides the pane and ends the trace, if it is shown.
    pub fn close(&mut self) -> Vec<Effect> {
        if !self.is_shown() {
            return Vec::new();
        }
        *self = Self::default();
        vec![Effect::TraceFiles(false)]
    }

    /// Stores what the trace found, or why there is none.
    pub fn set_view(&mut self, result: Result<Arc<HotFilesView>, TraceUnavailable>) {
        match result {
            _ if !self.is_shown() => {}
            Ok(view) => self.view = Some(view),
            Err(unavailable) => self.unavailable = Some(unavailable),
        }
    }

    /// The files to list, those with most bytes first.
    #[must_use]
    pub fn files(&self) -> Vec<&HotFileView> {
        let files = self.view.iter().flat_map(|view| &view.files);
        let scope = self.scope.as_ref();
        files
            .filter(|file| scope.is_none_or(|scope| scope.includes_file(file)))
            .collect()
    }

    /// Index of the selected line of a list of this length.
    #[must_use]
    pub fn selected_index(&self, count: usize) -> Option<usize> {
        Some(self.selected.min(count.checked_sub(1)?))
    }

    /// Handles a key command of the pane.
    pub fn handle_command(&mut self, command: KeyCommand) -> Vec<Effect> {
        match command {
            KeyCommand::Cancel => return self.close(),
            KeyCommand::ReloadList => {
                let scope = self.scope.clone().unwrap_or(HotFilesScope::Everything);
                return self.open(scope);
            }
            movement => {
                self.selected = step_cursor(self.selected, self.files().len(), movement);
            }
        }
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::app::key::KeyPress;
    use crate::app::{AppEvent, AppState, Message, Screen, update};
    use crate::snapshot::ViewBuilder;
    use crate::snapshot::view::DeviceView;
    use crate::trace::hot_files::view::{FileNameView, FileUserView, ProcessView};

    fn file(device: &str, pid: u32) -> HotFileView {
        let process = ProcessView {
            pid,
            command: "dd".into(),
            unit: None,
        };
        HotFileView {
            file: FileNameView {
                path: Some("/srv/a".into()),
                deleted: false,
                device: device.into(),
                mount_point: "/srv".into(),
                inode: 12,
            },
            read_bytes: 4096,
            written_bytes: 0,
            read_ios: 1,
            write_ios: 0,
            p50_ns: None,
            p99_ns: None,
            who: vec![FileUserView {
                process,
                bytes: 4096,
            }],
            via: None,
        }
    }

    fn state() -> AppState {
        let mut sample = ViewBuilder::default().update(Arc::default());
        let device = |name: &str, parent: Option<&str>, underlying: &[&str]| DeviceView {
            name: name.into(),
            parent: parent.map(Into::into),
            underlying: underlying.iter().map(|name| (*name).into()).collect(),
            ..DeviceView::default()
        };
        sample.devices = vec![
            device("dm-0", None, &["sda2"]),
            device("sda", None, &[]),
            device("sda2", Some("sda"), &[]),
            device("sdb", None, &[]),
        ];
        let mut state = AppState::new(Duration::from_secs(1));
        state.live.set_snapshot(Arc::new(sample));
        state
    }

    #[test]
    fn files_are_traced_only_while_their_pane_is_shown() {
        let mut state = state();
        let mut press = |letter| update(&mut state, AppEvent::Key(KeyPress::char(letter)));
        assert!(matches!(press('F')[..], [Effect::TraceFiles(true)]));
        assert!(matches!(press('r')[..], [Effect::TraceFiles(true)]), "anew");
        assert!(matches!(press('4').last(), Some(Effect::TraceFiles(false))));
        assert!(!state.hot_files.is_shown());
        state.screen = Screen::Live;
        let late = Message::HotFiles(Ok(Arc::default()));
        update(&mut state, AppEvent::Message(late));
        assert!(state.hot_files.view.is_none(), "a view that is too late");
    }

    #[test]
    fn refused_trace_is_tried_again() {
        let mut state = state();
        let press = |state: &mut AppState, letter| {
            update(state, AppEvent::Key(KeyPress::char(letter)));
        };
        press(&mut state, 'F');
        assert!(state.hot_files.is_shown());
        let refused = || TraceUnavailable {
            reason: "no tracefs".into(),
            advice: "mount it".into(),
            concerns_all_devices: true,
        };
        let message = Message::HotFiles(Err(refused()));
        update(&mut state, AppEvent::Message(message));
        press(&mut state, 'r');
        assert!(state.hot_files.unavailable.is_none(), "tried again");
        // A trace that ends leaves its lists, and the keys for them.
        update(
            &mut state,
            AppEvent::Message(Message::HotFiles(Ok(Arc::default()))),
        );
        update(
            &mut state,
            AppEvent::Message(Message::HotFiles(Err(refused()))),
        );
        assert!(state.hot_files.is_shown());
    }

    #[test]
    fn files_of_a_device_include_those_of_the_volumes_on_it() {
        let state = state();
        let scope = HotFilesScope::of_device(&state.live, Some(&"sda".into()));
        assert!(scope.includes_file(&file("dm-0", 1)));
        assert!(scope.includes_file(&file("sda2", 1)));
        assert!(!scope.includes_file(&file("sdb", 1)));
        let scope = HotFilesScope::Process {
            pid: 7,
            command: "dd".into(),
        };
        assert!(scope.includes_file(&file("sdb", 7)));
        assert!(!scope.includes_file(&file("sdb", 8)));
    }
}
