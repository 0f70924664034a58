//! Opens a target by name and selects an engine for it.

use std::ffi::OsStr;
use std::fs::File;
use std::ops::Range;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;

use super::auto::AutoEngine;
use super::io_target::IoTarget;
use super::pread::PreadEngine;
use super::simulated::{SimError, SimParameters, SimulatedEngine};
use super::uring;
use super::uring::UringEngine;
use super::write_gate::GateKeeper;
use super::{CancellationToken, Engine};
use crate::drive;
use crate::drive::guard::WriteWatch;
use crate::drive::{
    Consent, DriveError, ErrorKind, Inspection, OpenMedium, Target, TargetKind, WritePermit,
    free_space, guard, scratch,
};
use crate::files::file_id::FileId;
use crate::roots::SysPaths;

/// How long the end of a run waits for what is in the page cache of its target: a slow drive takes minutes.
const WRITE_BACK_TIMEOUT: Duration = Duration::from_secs(2);

/// The engine that the user requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring for direct I/O and system calls for buffered I/O; system calls for both where
    /// io_uring is unavailable.
    #[default]
    Auto,
    /// io_uring, without a fallback.
    Uring,
    /// System calls (`pread`, `pwrite`).
    Pread,
    /// io_uring with `IORING_OP_NOP` in place of every request: measures the overhead of the engine
    /// instead of the target. Only for benchmarks of this program.
    Nop,
}

/// Why a target cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The target cannot be opened.
    #[error(transparent)]
    Medium(#[from] DriveError),
    /// The parameters of a simulated drive are invalid.
    #[error(transparent)]
    Simulated(#[from] SimError),
    /// The requested engine is unavailable.
    #[error("{reason}")]
    Engine {
        /// Why it is unavailable.
        reason: String,
    },
}

impl OpenError {
    /// The kind of error, which determines the exit status.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Medium(error) => error.kind(),
            Self::Simulated(_) => ErrorKind::Usage,
            Self::Engine { .. } => ErrorKind::Failed,
        }
    }
}

/// An open target with its engine.
#[derive(Debug)]
pub struct OpenedTarget {
    /// Properties of the target.
    pub target: Target,
    /// The engine that executes plans on the target.
    engine: Box<dyn Engine>,
    real_target: Option<RealTarget>,
}

/// State of a target that is not simulated.
#[derive(Debug)]
struct RealTarget {
    sys_paths: SysPaths,
    engine_choice: EngineChoice,
    medium: Arc<OpenMedium>,
    /// Watches the target while it is written; `None` where no other process can reach it.
    keeper: Option<GateKeeper>,
    /// The permission to write it.
    permit: Option<Arc<WritePermit>>,
}

impl Drop for RealTarget {
    /// A worker that hangs in the kernel has the permit as well, and may not come to its end: the process ends
    /// before that.
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            let _ = write_back_on_thread(permit).recv_timeout(WRITE_BACK_TIMEOUT);
        }
    }
}

/// Writes back what was written to a block device by way of its page cache. The device stays held until that is
/// done, also when the process is to end before: the kernel does not interrupt the thread. The channel is
/// closed at the end.
fn write_back_on_thread(permit: Arc<WritePermit>) -> Receiver<()> {
    let (done, end) = mpsc::channel();
    let thread = thread::Builder::new().name("write-back".to_owned());
    // Without a thread the permit may end here, which waits for the same.
    let _ = thread.spawn(move || {
        permit.write_back();
        drop(permit);
        drop(done);
    });
    end
}

/// Opens a target: a block device, a file, a directory, or `sim:...`. In a directory it creates a
/// scratch file of `scratch_size` bytes, or of a default size, which
/// [`OpenedTarget::fill_scratch_file`] fills. The target is read-only until
/// [`OpenedTarget::permit_writing`]; a scratch file is writable.
///
/// # Errors
/// When the name is not a suitable target, or the engine is unavailable.
pub fn open_target(
    roots: &SysPaths,
    name: &(impl AsRef<OsStr> + ?Sized),
    choice: EngineChoice,
    scratch_size: Option<u64>,
) -> Result<OpenedTarget, OpenError> {
    let name = name.as_ref();
    if let Some(name) = name
        .to_str()
        .filter(|name| drive::medium::is_simulated_name(name))
    {
        let simulation = SimParameters::parse(name)?.build()?;
        return Ok(OpenedTarget {
            target: simulation.target.clone(),
            engine: Box::new(SimulatedEngine::new(simulation)),
            real_target: None,
        });
    }
    let medium = drive::medium::open_target(roots, name, scratch_size)?;
    open_medium(roots, Arc::new(medium), choice)
}

/// As [`open_target`], for a medium that is already open: no name is resolved.
///
/// # Errors
/// When the engine is unavailable.
pub fn open_medium(
    roots: &SysPaths,
    medium: Arc<OpenMedium>,
    choice: EngineChoice,
) -> Result<OpenedTarget, OpenError> {
    let permit = match medium.target.kind {
        TargetKind::ScratchFile => {
            let permit = guard::permit_writing(roots, &medium, None).map_err(DriveError::from)?;
            Some(Arc::new(permit))
        }
        _ => None,
    };
    let source = IoTarget {
        medium: Arc::clone(&medium),
        write_permit: permit,
        gate: None,
    };
    Ok(OpenedTarget {
        target: medium.target.clone(),
        engine: create_engine(roots, choice, source)?,
        real_target: Some(RealTarget {
            sys_paths: roots.clone(),
            engine_choice: choice,
            medium,
            keeper: None,
            permit: None,
        }),
    })
}

/// The requested engine, or the best one that works.
fn create_engine(
    roots: &SysPaths,
    choice: EngineChoice,
    source: IoTarget,
) -> Result<Box<dyn Engine>, OpenError> {
    if choice == EngineChoice::Pread {
        return Ok(Box::new(PreadEngine::new(source, None)));
    }
    match UringEngine::new(source.clone()) {
        Ok(engine) if choice == EngineChoice::Nop => Ok(Box::new(engine.with_nop_requests())),
        Ok(engine) if choice == EngineChoice::Auto => Ok(Box::new(AutoEngine::new(
            engine,
            PreadEngine::new(source, None),
        ))),
        Ok(engine) => Ok(Box::new(engine)),
        Err(error) => {
            let reason = uring::unavailable_reason(roots, &error);
            match choice {
                EngineChoice::Uring | EngineChoice::Nop => Err(OpenError::Engine { reason }),
                EngineChoice::Auto | EngineChoice::Pread => {
                    Ok(Box::new(PreadEngine::new(source, Some(reason))))
                }
            }
        }
    }
}

impl OpenedTarget {
    /// The engine that executes plans on the target.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    /// Whether the target's data is stored in this file: it is the target, or a loop device's
    /// image.
    #[must_use]
    pub fn is_stored_in(&self, file: FileId) -> bool {
        self.real_target
            .as_ref()
            .is_some_and(|real| real.medium.lies_in_file(file))
    }

    /// Whether a write to the target can need space of an image, a snapshot or a pool below it.
    #[must_use]
    pub fn needs_space_below(&self) -> bool {
        let real = self.real_target.as_ref();
        real.is_some_and(|real| free_space::needs_space_below(&real.medium))
    }

    /// The facts that are shown with the request for consent; `None` for a simulated drive.
    #[must_use]
    pub fn inspect_for_consent(&self) -> Option<Inspection> {
        let real = self.real_target.as_ref()?;
        Some(guard::inspect_target(&real.sys_paths, &real.medium))
    }

    /// The open file description of the target; `None` for a simulated drive. While the target is held for writing,
    /// this process opens it nowhere else.
    #[must_use]
    pub fn file(&self) -> Option<Arc<File>> {
        self.real_target.as_ref().map(|real| real.medium.file())
    }

    /// Permits plans that write, if the consent names the target and no other process uses it. A
    /// block device cannot be mounted by others while this value lives. A scratch file needs no consent.
    ///
    /// # Errors
    /// Why writing is refused, or that the engine could not be created again.
    pub fn permit_writing(&mut self, consent: Option<&Consent>) -> Result<(), OpenError> {
        let Some(real) = &mut self.real_target else {
            return Ok(());
        };
        if real.medium.target.kind == TargetKind::ScratchFile {
            return Ok(());
        }
        let permit = guard::permit_writing(&real.sys_paths, &real.medium, consent)
            .map_err(DriveError::from)?;
        let name = &real.medium.target.name;
        let keeper = WriteWatch::start(&permit)
            .and_then(|watch| GateKeeper::start(watch, name))
            .map_err(drive::io_error_context("start a thread that watches", name))?;
        let gate = Arc::clone(keeper.gate());
        real.keeper = Some(keeper);
        let permit = Arc::new(permit);
        real.permit = Some(Arc::clone(&permit));
        let source = IoTarget {
            medium: Arc::clone(&real.medium),
            write_permit: Some(permit),
            gate: Some(gate),
        };
        self.engine = create_engine(&real.sys_paths, real.engine_choice, source)?;
        Ok(())
    }

    /// Checks that the file system keeps its reserve of free space when this part of a sparse file
    /// is overwritten, with at most `most` bytes where that is known.
    ///
    /// # Errors
    /// [`DriveError::InsufficientSpace`].
    pub fn check_free_space(
        &self,
        window: Range<u64>,
        most: Option<u64>,
    ) -> Result<(), DriveError> {
        match &self.real_target {
            Some(real) if real.medium.target.kind != TargetKind::ScratchFile => {
                free_space::check_room(&real.medium, window, most)
            }
            _ => Ok(()),
        }
    }

    /// What the target takes space of without this program knowing how much is left; `None` where nothing of
    /// that kind is known.
    #[must_use]
    pub fn unknown_space(&self) -> Option<String> {
        let real = self.real_target.as_ref()?;
        free_space::unknown_space(&real.medium)
    }

    /// Takes the reason why the target must no longer be written, if one arose while it was
    /// written; `None` on the second call.
    #[must_use]
    pub fn take_refusal(&self) -> Option<DriveError> {
        let keeper = self.real_target.as_ref()?.keeper.as_ref()?;
        keeper.gate().take_reason()
    }

    /// Begins to write back what was written to a block device by way of its page cache, without waiting for it.
    pub fn start_write_back(&self) {
        let permit = self.real_target.as_ref().and_then(|it| it.permit.clone());
        if let Some(permit) = permit {
            drop(write_back_on_thread(permit));
        }
    }

    /// Fills a scratch file with random bytes, once; does nothing for any other target. Calls
    /// `progress` with the bytes written and the total.
    ///
    /// # Errors
    /// When cancelled, when the file system fails, or when its free space is used up.
    pub fn fill_scratch_file(
        &self,
        cancellation: &CancellationToken,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), DriveError> {
        match &self.real_target {
            Some(real) => {
                scratch::fill_scratch(&real.medium, &|| cancellation.is_cancelled(), progress)
            }
            None => Ok(()),
        }
    }
}
