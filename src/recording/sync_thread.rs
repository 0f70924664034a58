//! Writes a file to its medium on a thread of its own: a drive that does not respond delays
//! fdatasync(2), and the samples of that time are those that matter most.

use std::fs::File;
use std::io;
use std::sync::mpsc::{SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The thread. It ends after the last request for a sync; dropping this does not wait for it.
#[derive(Debug)]
pub(super) struct SyncThread {
    requests: SyncSender<()>,
    error: Arc<Mutex<Option<io::Error>>>,
}

impl SyncThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(file: Arc<File>) -> io::Result<Self> {
        // One request waits while a sync is in progress: it covers all that was written before.
        let (requests, inbox) = sync_channel(1);
        let error = Arc::new(Mutex::new(None));
        let failed = Arc::clone(&error);
        thread::Builder::new()
            .name("sync".to_owned())
            .spawn(move || {
                while inbox.recv().is_ok() {
                    if let Err(error) = file.sync_data() {
                        *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    }
                }
            })?;
        Ok(Self { requests, error })
    }

    /// Requests that everything written so far is synced. Does not wait.
    ///
    /// # Errors
    /// The error of an earlier sync.
    pub(super) fn request(&self) -> io::Result<()> {
        let error = self
            .error
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match (error, self.requests.try_send(())) {
            (Some(error), _) => Err(error),
            (None, Ok(()) | Err(TrySendError::Full(()))) => Ok(()),
            (None, Err(TrySendError::Disconnected(()))) => {
                Err(io::Error::other("the thread that syncs the file has ended"))
            }
        }
    }
}
