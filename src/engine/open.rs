//! From a target's name to an engine that is ready for it.

use std::ffi::OsStr;
use std::ops::Range;
use std::sync::Arc;

use super::auto::AutoEngine;
use super::io_target::IoTarget;
use super::pread::PreadEngine;
use super::simulated::{NAME_PREFIX, SimError, SimParameters, SimulatedEngine};
use super::uring;
use super::uring::UringEngine;
use super::write_gate::GateKeeper;
use super::{CancellationToken, Engine};
use crate::drive;
use crate::drive::guard::WriteWatch;
use crate::drive::{
    Consent, DriveError, ErrorKind, Inspection, OpenMedium, Refusal, Target, TargetKind, guard,
    scratch,
};
use crate::named_file::FileId;
use crate::roots::SysPaths;

/// Which engine is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum EngineChoice {
    /// io_uring past the page cache, system calls through it; system calls for both where
    /// io_uring is missing.
    #[default]
    Auto,
    /// io_uring, or none.
    Uring,
    /// Plain system calls.
    Pread,
    /// io_uring with `IORING_OP_NOP` in place of every request: measures the engine, not the
    /// target, and is for benchmarks of this program alone.
    Nop,
}

impl EngineChoice {
    /// By the word of the command line: `auto`, `uring`, `pread`.
    #[must_use]
    pub fn from_name(word: &str) -> Option<Self> {
        match word {
            "auto" => Some(Self::Auto),
            "uring" => Some(Self::Uring),
            "pread" => Some(Self::Pread),
            _ => None,
        }
    }
}

/// Why a target cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The target itself.
    #[error(transparent)]
    Medium(#[from] DriveError),
    /// The parameters of a simulated drive.
    #[error(transparent)]
    Simulated(#[from] SimError),
    /// The engine that was asked for.
    #[error("{reason}")]
    Engine {
        /// Why it is not to be had.
        reason: String,
    },
}

impl OpenError {
    /// How it counts for the exit status.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Medium(error) => error.kind(),
            Self::Simulated(_) => ErrorKind::Usage,
            Self::Engine { .. } => ErrorKind::Failed,
        }
    }

    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Medium(error) => error.advice(),
            Self::Simulated(_) => {
                "write for example sim:constant,latency=100us,size=10GB".to_owned()
            }
            Self::Engine { .. } => "use --engine auto or --engine pread".to_owned(),
        }
    }
}

/// A target with an engine for it.
#[derive(Debug)]
pub struct OpenedTarget {
    /// What it is.
    pub target: Target,
    /// What executes plans on it.
    engine: Box<dyn Engine>,
    real_target: Option<RealTarget>,
}

/// What a target has that is not simulated.
#[derive(Debug)]
struct RealTarget {
    sys_paths: SysPaths,
    engine_choice: EngineChoice,
    medium: Arc<OpenMedium>,
    /// Watches what may be written; `None` for what nobody else can reach.
    keeper: Option<GateKeeper>,
}

/// Opens a target: a block device, a file, a directory (a scratch file of `scratch_size` bytes, or
/// of a size of our choice, is made in it and filled by [`Opened::prepare`]), or `sim:...`.
/// Only reading is possible until [`Opened::permit_writing`]; a scratch file may be written.
///
/// # Errors
/// When there is nothing suitable behind the name, or the engine cannot be had.
pub fn open_target(
    roots: &SysPaths,
    name: &(impl AsRef<OsStr> + ?Sized),
    choice: EngineChoice,
    scratch_size: Option<u64>,
) -> Result<OpenedTarget, OpenError> {
    let name = name.as_ref();
    if let Some(name) = name.to_str().filter(|name| name.starts_with(NAME_PREFIX)) {
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

/// The same for a medium that is open already: nothing is looked up by name.
///
/// # Errors
/// When the engine cannot be had.
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
        }),
    })
}

/// The engine that is wanted, or the best that works.
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
    /// What executes plans on it.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    /// Whether the target's bytes lie in this file: it is the target, or a loop device's image.
    #[must_use]
    pub fn is_stored_in(&self, file: FileId) -> bool {
        self.real_target
            .as_ref()
            .is_some_and(|real| real.medium.lies_in_file(file))
    }

    /// The facts that stand beside the question for consent; `None` for a simulated drive.
    ///
    /// # Errors
    /// When it cannot be found out who uses the target.
    pub fn inspect_for_consent(&self) -> Result<Option<Inspection>, Refusal> {
        self.real_target
            .as_ref()
            .map(|real| guard::inspect_target(&real.sys_paths, &real.medium))
            .transpose()
    }

    /// Permits plans that write, if the consent names the target and nobody uses it. For a block
    /// device, nobody can mount it from now on as long as this value lives.
    ///
    /// # Errors
    /// Why writing is refused, or that the engine could not be made anew.
    pub fn permit_writing(&mut self, consent: Option<&Consent>) -> Result<(), OpenError> {
        let Some(real) = &mut self.real_target else {
            return Ok(());
        };
        if real.medium.target.kind == TargetKind::ScratchFile {
            return Ok(());
        }
        let permit = guard::permit_writing(&real.sys_paths, &real.medium, consent)
            .map_err(DriveError::from)?;
        let watch = WriteWatch::new(&real.sys_paths, &real.medium, Arc::clone(permit.known()));
        let name = &real.medium.target.name;
        let keeper = watch
            .map(|watch| GateKeeper::start(watch, name))
            .transpose();
        real.keeper =
            keeper.map_err(drive::io_error_context("start a thread that watches", name))?;
        let source = IoTarget {
            medium: Arc::clone(&real.medium),
            write_permit: Some(Arc::new(permit)),
            gate: real.keeper.as_ref().map(|keeper| Arc::clone(keeper.gate())),
        };
        self.engine = create_engine(&real.sys_paths, real.engine_choice, source)?;
        Ok(())
    }

    /// Checks that a file with holes leaves its file system the usual reserve when this part of it is
    /// overwritten, with at most so many bytes where that is known.
    ///
    /// # Errors
    /// [`DriveError::NoRoomForHoles`].
    pub fn check_free_space(
        &self,
        window: Range<u64>,
        most: Option<u64>,
    ) -> Result<(), DriveError> {
        match &self.real_target {
            Some(real) if real.medium.target.kind == TargetKind::File => {
                scratch::check_space_for_holes(&real.medium, window, most)
            }
            _ => Ok(()),
        }
    }

    /// Why the target must not be written any more, when that came up while it was written; `None`
    /// the second time.
    #[must_use]
    pub fn take_refusal(&self) -> Option<DriveError> {
        let keeper = self.real_target.as_ref()?.keeper.as_ref()?;
        keeper.gate().take_reason()
    }

    /// Fills a scratch file with random bytes, once; does nothing for any other target. `progress`
    /// is given the bytes written and the bytes in total.
    ///
    /// # Errors
    /// When stopped, when the file system fails, or when its room was used up meanwhile.
    pub fn fill_scratch_file(
        &self,
        control: &CancellationToken,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), DriveError> {
        match &self.real_target {
            Some(real) => scratch::fill_scratch(&real.medium, &|| control.is_cancelled(), progress),
            None => Ok(()),
        }
    }
}
