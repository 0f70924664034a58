//! SIGINT, SIGTERM and SIGHUP turn into a wish to stop, so that what was measured is kept.

use std::sync::Arc;
use std::thread;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::Failure;
use crate::engine::Control;

/// Cancels `control` on the first signal and wakes the thread that called this; the second signal
/// ends the program at once.
///
/// # Errors
/// When the handlers cannot be installed.
pub(super) fn cancel_on_signal(control: Arc<Control>) -> Result<(), Failure> {
    let failed = |error| Failure::failed(format!("cannot listen for signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(failed)?;
    let mut signals = {
        let _context = runtime.enter();
        let listen = |kind| signal(kind).map_err(failed);
        [
            listen(SignalKind::interrupt())?,
            listen(SignalKind::terminate())?,
            listen(SignalKind::hangup())?,
        ]
    };
    let caller = thread::current();
    // The thread lives as long as the process: there is nothing of its own to put back.
    thread::spawn(move || {
        runtime.block_on(any(&mut signals));
        control.cancel();
        caller.unpark();
        runtime.block_on(any(&mut signals));
        std::process::exit(super::Exit::Interrupted as i32);
    });
    Ok(())
}

async fn any(signals: &mut [Signal; 3]) {
    let [interrupt, terminate, hangup] = signals;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        _ = hangup.recv() => {}
    }
}
