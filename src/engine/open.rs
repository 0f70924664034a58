//! From a target's name to an engine that is ready for it.

use std::ffi::OsStr;
use std::ops::Range;
use std::sync::Arc;

use super::auto::Auto;
use super::pread::Pread;
use super::simulated::{PREFIX, Settings, SimError, Simulated};
use super::source::Source;
use super::uring::{self, Uring};
use super::write_gate::GateKeeper;
use super::{Control, Engine};
use crate::drive::guard::WriteWatch;
use crate::drive::{
    self, Consent, DriveError, ErrorKind, Inspection, Medium, Refusal, Target, TargetKind, guard,
    scratch,
};
use crate::named_file::FileId;
use crate::roots::Roots;

/// Which engine is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Choice {
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

impl Choice {
    /// By the word of the command line: `auto`, `uring`, `pread`.
    #[must_use]
    pub fn named(word: &str) -> Option<Self> {
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
    Drive(#[from] DriveError),
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
            Self::Drive(error) => error.kind(),
            Self::Simulated(_) => ErrorKind::Usage,
            Self::Engine { .. } => ErrorKind::Failed,
        }
    }

    /// What to do about it, one sentence.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Drive(error) => error.advice(),
            Self::Simulated(_) => {
                "write for example sim:constant,latency=100us,size=10GB".to_owned()
            }
            Self::Engine { .. } => "use --engine auto or --engine pread".to_owned(),
        }
    }
}

/// A target with an engine for it.
#[derive(Debug)]
pub struct Opened {
    /// What it is.
    pub target: Target,
    /// What executes plans on it.
    engine: Box<dyn Engine>,
    real: Option<Real>,
}

/// What a target has that is not simulated.
#[derive(Debug)]
struct Real {
    roots: Roots,
    choice: Choice,
    medium: Arc<Medium>,
    /// Watches what may be written; `None` for what nobody else can reach.
    keeper: Option<GateKeeper>,
}

/// Opens a target: a block device, a file, a directory (a scratch file of `scratch_size` bytes, or
/// of a size of our choice, is made in it and filled by [`Opened::prepare`]), or `sim:...`.
/// Only reading is possible until [`Opened::permit_writing`]; a scratch file may be written.
///
/// # Errors
/// When there is nothing suitable behind the name, or the engine cannot be had.
pub fn open(
    roots: &Roots,
    name: &(impl AsRef<OsStr> + ?Sized),
    choice: Choice,
    scratch_size: Option<u64>,
) -> Result<Opened, OpenError> {
    let name = name.as_ref();
    if let Some(name) = name.to_str().filter(|name| name.starts_with(PREFIX)) {
        let simulation = Settings::parse(name)?.build()?;
        return Ok(Opened {
            target: simulation.target.clone(),
            engine: Box::new(Simulated::new(simulation)),
            real: None,
        });
    }
    let medium = drive::target::open(roots, name, scratch_size)?;
    open_medium(roots, Arc::new(medium), choice)
}

/// The same for a medium that is open already: nothing is looked up by name.
///
/// # Errors
/// When the engine cannot be had.
pub fn open_medium(
    roots: &Roots,
    medium: Arc<Medium>,
    choice: Choice,
) -> Result<Opened, OpenError> {
    let permit = match medium.target.kind {
        TargetKind::Scratch => {
            let permit = guard::permit(roots, &medium, None).map_err(DriveError::from)?;
            Some(Arc::new(permit))
        }
        _ => None,
    };
    let source = Source {
        medium: Arc::clone(&medium),
        permit,
        gate: None,
    };
    Ok(Opened {
        target: medium.target.clone(),
        engine: engine(roots, choice, source)?,
        real: Some(Real {
            roots: roots.clone(),
            choice,
            medium,
            keeper: None,
        }),
    })
}

/// The engine that is wanted, or the best that works.
fn engine(roots: &Roots, choice: Choice, source: Source) -> Result<Box<dyn Engine>, OpenError> {
    if choice == Choice::Pread {
        return Ok(Box::new(Pread::new(source, None)));
    }
    match Uring::new(source.clone()) {
        Ok(engine) if choice == Choice::Nop => Ok(Box::new(engine.without_transfer())),
        Ok(engine) if choice == Choice::Auto => {
            Ok(Box::new(Auto::new(engine, Pread::new(source, None))))
        }
        Ok(engine) => Ok(Box::new(engine)),
        Err(error) => {
            let reason = uring::reason(roots, &error);
            match choice {
                Choice::Uring | Choice::Nop => Err(OpenError::Engine { reason }),
                Choice::Auto | Choice::Pread => Ok(Box::new(Pread::new(source, Some(reason)))),
            }
        }
    }
}

impl Opened {
    /// What executes plans on it.
    #[must_use]
    pub fn engine(&self) -> &dyn Engine {
        self.engine.as_ref()
    }

    /// Whether the target's bytes lie in this file: it is the target, or a loop device's image.
    #[must_use]
    pub fn consists_of(&self, file: FileId) -> bool {
        self.real
            .as_ref()
            .is_some_and(|real| real.medium.consists_of(file))
    }

    /// The facts that stand beside the question for consent; `None` for a simulated drive.
    ///
    /// # Errors
    /// When it cannot be found out who uses the target.
    pub fn inspect(&self) -> Result<Option<Inspection>, Refusal> {
        self.real
            .as_ref()
            .map(|real| guard::inspect(&real.roots, &real.medium))
            .transpose()
    }

    /// Permits plans that write, if the consent names the target and nobody uses it. For a block
    /// device, nobody can mount it from now on as long as this value lives.
    ///
    /// # Errors
    /// Why writing is refused, or that the engine could not be made anew.
    pub fn permit_writing(&mut self, consent: Option<&Consent>) -> Result<(), OpenError> {
        let Some(real) = &mut self.real else {
            return Ok(());
        };
        if real.medium.target.kind == TargetKind::Scratch {
            return Ok(());
        }
        let permit = guard::permit(&real.roots, &real.medium, consent).map_err(DriveError::from)?;
        let watch = WriteWatch::new(&real.roots, &real.medium, Arc::clone(permit.known()));
        let name = &real.medium.target.name;
        let keeper = watch
            .map(|watch| GateKeeper::start(watch, name))
            .transpose();
        real.keeper = keeper.map_err(drive::failed("start a thread that watches", name))?;
        let source = Source {
            medium: Arc::clone(&real.medium),
            permit: Some(Arc::new(permit)),
            gate: real.keeper.as_ref().map(|keeper| Arc::clone(keeper.gate())),
        };
        self.engine = engine(&real.roots, real.choice, source)?;
        Ok(())
    }

    /// Checks that a file with holes leaves its file system the usual reserve when this part of it is
    /// overwritten, with at most so many bytes where that is known.
    ///
    /// # Errors
    /// [`DriveError::NoRoomForHoles`].
    pub fn check_room(&self, window: Range<u64>, most: Option<u64>) -> Result<(), DriveError> {
        match &self.real {
            Some(real) if real.medium.target.kind == TargetKind::File => {
                scratch::check_holes(&real.medium, window, most)
            }
            _ => Ok(()),
        }
    }

    /// Why the target must not be written any more, when that came up while it was written; `None`
    /// the second time.
    #[must_use]
    pub fn take_refusal(&self) -> Option<DriveError> {
        let keeper = self.real.as_ref()?.keeper.as_ref()?;
        keeper.gate().take_reason()
    }

    /// Fills a scratch file with random bytes, once; does nothing for any other target. `progress`
    /// is given the bytes written and the bytes in total.
    ///
    /// # Errors
    /// When stopped, when the file system fails, or when its room was used up meanwhile.
    pub fn prepare(
        &self,
        control: &Control,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<(), DriveError> {
        match &self.real {
            Some(real) => scratch::fill(&real.medium, &|| control.is_cancelled(), progress),
            None => Ok(()),
        }
    }
}
