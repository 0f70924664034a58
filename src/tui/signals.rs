//! Signals that the interface handles.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// Signals whose default action ends a process, and that a user or a resource limit sends to it, in
/// addition to SIGINT, SIGTERM, SIGHUP and SIGQUIT.
pub const OTHER_END_SIGNALS: [Signal; 7] = [
    Signal::USR1,
    Signal::USR2,
    Signal::ALARM,
    Signal::VTALARM,
    Signal::PROF,
    Signal::XCPU,
    Signal::IO,
];

/// A signal or similar notice for the whole program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalNotice {
    /// End the program: the number of the signal.
    Terminate(i32),
    /// Stop with job control of the shell (SIGTSTP).
    Suspend,
    /// Continue after a stop (SIGCONT).
    Resume,
}

/// Forwards the signals that the interface handles. Needs a running tokio runtime.
///
/// # Errors
///
/// When a handler cannot be installed.
pub fn forward_signals(notices: &mpsc::Sender<SignalNotice>) -> io::Result<()> {
    let end_signals = [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT];
    let table = end_signals
        .into_iter()
        .chain(OTHER_END_SIGNALS)
        .map(|number| (number, SignalNotice::Terminate(number.as_raw())))
        .chain([
            (Signal::TSTP, SignalNotice::Suspend),
            (Signal::CONT, SignalNotice::Resume),
        ]);
    for (number, notice) in table {
        let mut arrivals = signal(SignalKind::from_raw(number.as_raw()))?;
        let notices = notices.clone();
        tokio::spawn(async move {
            while arrivals.recv().await.is_some() {
                if notices.send(notice).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(())
}
