//! Writes files to their medium on a thread of its own: a drive that does not respond delays
//! fdatasync(2), and the samples of that time are those that matter most.

use std::fs::File;
use std::io;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The thread. It ends after the last request for a sync; dropping this does not wait for it.
#[derive(Debug)]
pub(super) struct SyncThread {
    requests: Sender<Arc<File>>,
    error: Arc<Mutex<Option<io::Error>>>,
}

impl SyncThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start() -> io::Result<Self> {
        let (requests, inbox) = channel::<Arc<File>>();
        let error = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&error);
        let thread = thread::Builder::new().name("sync".to_owned());
        thread.spawn(move || {
            for file in inbox {
                if let Err(error) = file.sync_data() {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                }
            }
        })?;
        Ok(Self { requests, error })
    }

    /// Requests that everything written to a file so far is synced. Does not wait.
    ///
    /// # Errors
    /// The error of an earlier sync.
    pub(super) fn request(&self, file: &Arc<File>) -> io::Result<()> {
        // The thread ends only with this sender.
        let _ = self.requests.send(Arc::clone(file));
        let mut failed = self.error.lock().unwrap_or_else(PoisonError::into_inner);
        failed.take().map_or(Ok(()), Err)
    }
}
