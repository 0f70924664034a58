//! SIGINT, SIGTERM, SIGHUP and other signals that would end the program request a stop, so that the
//! results until then are kept.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures_util::future::select_all;
use rustix::process::Signal as Number;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::failure::CommandFailure;
use crate::engine::CancellationToken;
use crate::files::supervisor;
use crate::probe::process::stat::parse_ignored_signals;
use crate::tui::signals::OTHER_END_SIGNALS;

/// A second signal within this time is a duplicate of the first: a terminal sends it to the supervisor too,
/// which forwards it, timeout(1) to the process and to its group.
const REPEATED_SIGNAL_WINDOW: Duration = Duration::from_millis(300);
/// Signals that stop a run.
const STOP_SIGNALS: [Number; 3] = [Number::INT, Number::TERM, Number::HUP];

/// A token that the first signal cancels, waking the calling thread. The second signal ends the
/// program at once, unless it follows so soon that it is a duplicate of the first. A signal that
/// was ignored when the program started, as under nohup(1) or in the background of a script, stays
/// ignored.
///
/// # Errors
/// If the handlers cannot be installed.
pub(super) fn cancelled_by_signals() -> Result<Arc<CancellationToken>, CommandFailure> {
    let cancelled = Arc::new(CancellationToken::default());
    let control = Arc::clone(&cancelled);
    let failed = |error| CommandFailure::failed(format!("cannot listen for signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let ignored = std::fs::read("/proc/self/status")
        .ok()
        .and_then(|status| parse_ignored_signals(&status))
        .unwrap_or(0);
    let is_ignored = |number: &Number| ignored >> (number.as_raw() - 1) & 1 == 1;
    let mut signals = {
        let _context = runtime.enter();
        STOP_SIGNALS
            .into_iter()
            .chain(OTHER_END_SIGNALS)
            .filter(|number| !is_ignored(number))
            .map(|number| signal(SignalKind::from_raw(number.as_raw())).map_err(failed))
            .collect::<Result<Vec<_>, _>>()?
    };
    if signals.is_empty() {
        return Ok(cancelled);
    }
    let caller = thread::current();
    // The thread runs until the process ends and has no state to restore.
    let waits = move || {
        runtime.block_on(any_signal(&mut signals));
        supervisor::report_ending();
        control.cancel();
        caller.unpark();
        let first = Instant::now();
        loop {
            runtime.block_on(any_signal(&mut signals));
            if first.elapsed() > REPEATED_SIGNAL_WINDOW {
                break;
            }
        }
        std::process::exit(super::ExitStatus::Interrupted as i32);
    };
    let started = thread::Builder::new()
        .name("signals".to_owned())
        .spawn(waits);
    started.map(|_| cancelled).map_err(failed)
}

async fn any_signal(signals: &mut [Signal]) {
    select_all(signals.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
}
