//! Signals that the interface handles.

use std::io;

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

/// A signal or similar notice for the whole program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignalNotice {
    /// End the program: the number of the signal.
    Terminate(i32),
    /// Stop with job control of the shell (SIGTSTP).
    Suspend,
    /// Continue after a stop (SIGCONT).
    Resume,
    /// A thread panicked.
    Panicked,
}

/// Forwards the signals that the interface handles. Needs a running tokio runtime.
///
/// # Errors
///
/// When a handler cannot be installed.
pub fn forward_signals(notices: &mpsc::Sender<SignalNotice>) -> io::Result<()> {
    let table = [
        (Signal::TERM, SignalNotice::Terminate(Signal::TERM.as_raw())),
        (Signal::INT, SignalNotice::Terminate(Signal::INT.as_raw())),
        (Signal::HUP, SignalNotice::Terminate(Signal::HUP.as_raw())),
        (Signal::QUIT, SignalNotice::Terminate(Signal::QUIT.as_raw())),
        (Signal::TSTP, SignalNotice::Suspend),
        (Signal::CONT, SignalNotice::Resume),
    ];
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
