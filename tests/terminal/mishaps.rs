//! The interface with services that fail on purpose, for the tests of the terminal: on a thread
//! (`thread`) or in the loop (`loop`) when the list of sessions is asked for, or at once (`error`).

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use diskscope::app::{AppState, Effect};
use diskscope::tui::InterfaceOptions;
use diskscope::tui::interface::run_with;
use diskscope::tui::services::{AppServices, FeedSenders};

/// Names a terminal: the message of a panic may contain foreign text.
const TITLE: &str = "\u{1b}]0;title\u{7}";

struct FailingServices {
    failure_kind: String,
    _senders: FeedSenders,
}

impl AppServices for FailingServices {
    fn perform_effect(&mut self, effect: Effect) {
        match (effect, self.failure_kind.as_str()) {
            (Effect::ListSessions, "thread") => {
                std::thread::spawn(|| panic!("made to panic on a thread{TITLE}"));
            }
            (Effect::ListSessions, _) => panic!("made to panic in the loop{TITLE}"),
            _ => {}
        }
    }
}

fn main() -> ExitCode {
    diskscope::cli::abort_on_panic();
    let way = std::env::args().nth(1).unwrap_or_default();
    let options = InterfaceOptions {
        ascii: false,
        mouse: true,
        theme: diskscope::tui::theme::ThemeName::Auto,
        preferences: diskscope::app::preferences::Preferences::default(),
        interval: Duration::from_secs(1),
    };
    let ended = run_with(&options, AppState::new(options.interval), |sources| {
        if way == "error" {
            return Err(io::Error::other("made to fail"));
        }
        Ok(FailingServices {
            failure_kind: way,
            _senders: sources,
        })
    });
    match ended {
        Ok(_) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
