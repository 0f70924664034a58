//! The services behind a replay: a thread that goes through the recording.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use jiff::Timestamp;

use super::services::{Services, Sources};
use crate::app::replay::{Moment, Timeline, Travel};
use crate::app::{Effect, News};
use crate::model::History;
use crate::model::requests::{Board, Line as RequestLine, RequestsView};
use crate::named_file;
use crate::recording::{Mark, ReadError, Recording, Replay};
use crate::safe_text::SafeText;

/// Time between two views while it plays.
const PLAY: Duration = Duration::from_millis(250);

/// Milliseconds of requests that are shown: what the pictures of the Requests screen hold.
const REQUESTS_MS: u64 = 60_000;
/// Requests of that time that are shown at most.
const MOST_REQUESTS: u32 = 2_000_000;

/// What the thread is told.
#[derive(Debug, Clone, Copy)]
enum Order {
    Travel(Travel),
    Export,
}

/// Goes through a recording; ends when this is dropped.
#[derive(Debug)]
pub struct Player {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
}

/// The time line of a recording.
#[must_use]
pub fn timeline(path: &Path, recording: &Recording) -> Timeline {
    let rates = recording.marks().map(|mark| mark.bytes_per_s).collect();
    let name = SafeText::of_path(path);
    let note = match recording.damage() {
        Some(damage) => Some(damage.to_string().into()),
        None => (!recording.is_ended()).then(|| "the recording was cut off".into()),
    };
    Timeline {
        has_requests: recording.has_requests(),
        ..Timeline::new(name, rates, note)
    }
}

impl Player {
    /// Shows the first view.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(recording: Recording, sources: Sources) -> std::io::Result<Self> {
        let (orders, inbox) = channel();
        let stage = Stage {
            replay: Replay::new(recording),
            history: History::default(),
            playing: false,
            sources,
        };
        let thread = thread::Builder::new()
            .name("player".to_owned())
            .spawn(move || stage.run(&inbox))?;
        Ok(Self {
            orders: Some(orders),
            thread: Some(thread),
        })
    }
}

impl Services for Player {
    fn perform(&mut self, effect: Effect) {
        let order = match effect {
            Effect::Travel(travel) => Order::Travel(travel),
            Effect::ExportView => Order::Export,
            // Nothing else can be had of a recording.
            _ => return,
        };
        if let Some(orders) = &self.orders {
            // A thread that is gone has panicked, which the loop is told by other means.
            let _ = orders.send(order);
        }
    }
}

impl Drop for Player {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread works on.
struct Stage {
    replay: Replay,
    history: History,
    playing: bool,
    sources: Sources,
}

impl Stage {
    fn run(mut self, inbox: &Receiver<Order>) {
        self.show(None);
        loop {
            let order = if self.playing {
                inbox.recv_timeout(PLAY)
            } else {
                inbox.recv().map_err(|_| RecvTimeoutError::Disconnected)
            };
            match order {
                Ok(Order::Travel(travel)) => self.travel(travel),
                Ok(Order::Export) => self.export(),
                Err(RecvTimeoutError::Timeout) => self.travel(Travel::Step(1)),
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn travel(&mut self, travel: Travel) {
        let before = self.replay.position();
        match travel {
            Travel::Step(by) => {
                // At the end there is nothing left to play.
                if !self.replay.step(by) {
                    self.playing = false;
                }
            }
            Travel::First => self.replay.seek(0),
            Travel::Last => self.replay.seek(usize::MAX),
            Travel::Busiest => {
                self.replay.seek_busiest();
            }
            Travel::Play(playing) => self.playing = playing,
        }
        self.show(Some(before));
    }

    /// Tells the view, with the past that leads up to it; after a jump that is put together anew.
    fn show(&mut self, before: Option<usize>) {
        let told = self.moment(before).unwrap_or_else(|error| {
            self.playing = false;
            News::NotReplayed(error.to_string())
        });
        self.tell(told);
    }

    /// What the Requests screen showed then; `None` when there were none.
    fn requests(&mut self) -> Result<Option<RequestsView>, ReadError> {
        if !self.replay.recording().has_requests() {
            return Ok(None);
        }
        let mut span: Option<(SafeText, u64, u64)> = None;
        self.each_request(&mut |line| {
            let times = line.request().times;
            let (_, began, until) = span.get_or_insert_with(|| (line.device().into(), u64::MAX, 0));
            *began = times.first().min(*began);
            *until = times.completed.max(*until);
        })?;
        let Some((device, began, until)) = span else {
            return Ok(None);
        };
        let mut board = Board::new(&device, began);
        self.each_request(&mut |line| board.add(&[line.request()]))?;
        Ok(Some(board.view(until)))
    }

    /// Goes through the requests that are shown; those that a newer program wrote are left out.
    fn each_request(&mut self, take: &mut dyn FnMut(&RequestLine<'_>)) -> Result<(), ReadError> {
        let mut left = MOST_REQUESTS;
        self.replay.requests_of(REQUESTS_MS, &mut |text| {
            if let Ok(line) = serde_json::from_str(text) {
                take(&line);
            }
            left -= 1;
            left > 0
        })
    }

    fn moment(&mut self, before: Option<usize>) -> Result<News, ReadError> {
        let Some(live) = self.replay.view()? else {
            return Ok(News::NotReplayed("the recording holds no view".to_owned()));
        };
        let position = self.replay.position();
        match before {
            Some(before) if before == position => {}
            Some(before) if before + 1 == position => self.history.record(&live),
            _ => self.history = self.replay.history()?,
        }
        Ok(News::Moment(Box::new(Moment {
            position,
            live: Arc::new(live),
            requests: self.requests()?.map(Arc::new),
            history: self.history.clone(),
            playing: self.playing,
        })))
    }

    fn export(&mut self) {
        let written = self
            .replay
            .view()
            .map_err(|error| error.to_string())
            .and_then(|live| live.ok_or_else(|| "there is no view".to_owned()))
            .and_then(|live| {
                let text = serde_json::to_vec_pretty(&live).map_err(|error| error.to_string())?;
                let stem = view_name(&live.time, self.replay.mark());
                write_new(&format!("diskscope-view-{stem}"), &text)
            });
        self.tell(News::Exported(written));
    }

    fn tell(&self, news: News) {
        // Nobody listens any more once the program ends.
        let _ = self.sources.news.blocking_send(news);
    }
}

/// When a view was taken, for the name of a file. What a recording says is not to be trusted: it is
/// a time, or the frame's own time counts.
fn view_name(time: &str, mark: Option<Mark>) -> String {
    let of_mark = || {
        let milliseconds = i64::try_from(mark?.time_ms).ok()?;
        Timestamp::from_millisecond(milliseconds).ok()
    };
    let time = time.parse::<Timestamp>().ok().or_else(of_mark);
    // Some file systems refuse colons.
    time.map_or_else(
        || "unknown-time".to_owned(),
        |time| time.to_string().replace(':', ""),
    )
}

/// Writes a file that was not there before, where the user is.
fn write_new(stem: &str, text: &[u8]) -> Result<PathBuf, String> {
    named_file::write_private(Path::new(""), &format!("{stem}.json"), text)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_view_is_a_time_whatever_the_recording_says() {
        let mark = |time_ms| {
            Some(Mark {
                time_ms,
                bytes_per_s: None,
            })
        };
        for (time, mark, expected) in [
            ("2026-11-21T22:26:19.5Z", None, "2026-11-21T222619.5Z"),
            ("2026-11-21T22:26:19+01:00", None, "2026-11-21T212619Z"),
            (
                "/../../etc/cron",
                mark(1_700_000_000_000),
                "2023-11-14T221320Z",
            ),
            ("..", mark(u64::MAX), "unknown-time"),
            ("2026-11-21T22:26:19Z/../x", None, "unknown-time"),
            ("", None, "unknown-time"),
        ] {
            assert_eq!(view_name(time, mark), expected, "{time}");
        }
    }
}
