//! Consent to overwrite one medium, and whether it still holds for what would be written.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::drive::guard::contents::MediumContents;
use crate::drive::guard::inspect::{self, Inspection};
use crate::drive::guard::refusal::{Reason, Refusal};
use crate::drive::identity::sanitized;
use crate::drive::medium::{IdentityChange, OpenMedium, strip_trailing_slash};
use crate::files::path;
use crate::roots::SysPaths;

/// A medium as somebody was shown it: open, with what was recognised on it. A run that is started with it writes
/// this medium and no other, whatever its path leads to by then.
#[derive(Debug)]
pub struct InspectedMedium {
    medium: Arc<OpenMedium>,
    contents: MediumContents,
}

impl InspectedMedium {
    /// A medium with what is on it now.
    #[must_use]
    pub fn read(roots: &SysPaths, medium: Arc<OpenMedium>) -> Self {
        Self {
            contents: MediumContents::read(roots, &medium),
            medium,
        }
    }

    /// The medium.
    #[must_use]
    pub fn medium(&self) -> &Arc<OpenMedium> {
        &self.medium
    }

    /// The facts about it.
    #[must_use]
    pub fn describe(&self) -> Inspection {
        inspect::describe_medium(&self.medium, self.contents.clone())
    }
}

/// What is known of a target that is about to be overwritten.
#[derive(Debug, Clone)]
pub struct OverwriteImpact {
    /// Path, model, serial number, size and partitions, one per line.
    pub target_facts: Vec<String>,
    /// Formats that would be lost, and areas that could not be read, one per item.
    pub signatures: Vec<String>,
    /// The open medium that was inspected, kept until the run starts; or the reason why it must not be written
    /// despite any consent.
    pub medium: Result<Arc<InspectedMedium>, Arc<Refusal>>,
}

/// Consent to overwrite what a path leads to.
#[derive(Debug, Clone)]
pub struct Consent {
    path: PathBuf,
    signatures: bool,
    inspected: Option<Arc<InspectedMedium>>,
}

impl Consent {
    /// Consent by path, as the command line gives it. Recognised formats on the medium are not included.
    #[must_use]
    pub fn for_path(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            signatures: false,
            inspected: None,
        }
    }

    /// Includes whatever file systems and other formats are on it.
    #[must_use]
    pub fn including_signatures(self) -> Self {
        Self {
            signatures: true,
            ..self
        }
    }

    /// Consent of somebody who saw the medium with its signatures and typed its path below them: it includes these
    /// signatures, and holds only for this medium as it was shown.
    #[must_use]
    pub fn for_inspected(inspected: impl Into<Arc<InspectedMedium>>) -> Self {
        let inspected = inspected.into();
        Self {
            path: inspected.medium.path().to_owned(),
            signatures: inspected.contents.needs_acknowledgement(),
            inspected: Some(inspected),
        }
    }

    /// The path that was named.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether recognised formats may be lost.
    #[must_use]
    pub fn includes_signatures(&self) -> bool {
        self.signatures
    }

    /// The medium that was shown; `None` where the consent names a path only.
    #[must_use]
    pub fn medium(&self) -> Option<&Arc<OpenMedium>> {
        self.inspected.as_deref().map(InspectedMedium::medium)
    }
}

/// Whether the consent names this medium: by the same text, and by what the text leads to now.
pub(super) fn check_path(medium: &OpenMedium, consent: &Consent) -> Result<(), Reason> {
    let path = &strip_trailing_slash(&consent.path);
    if path.as_os_str() != medium.path().as_os_str() {
        let given = sanitized(&consent.path.to_string_lossy());
        return Err(Reason::OtherPathNamed(given));
    }
    let trusted = path::trusted_file_id(path);
    let trusted = trusted.map_err(|error| Reason::Untrusted(error.to_string()))?;
    if trusted == Some(medium.file_id()) {
        Ok(())
    } else {
        Err(Reason::Changed(IdentityChange::FileIdentity))
    }
}

/// Whether what is on the medium is what was consented to. The medium is held against others.
pub(super) fn check_contents(medium: &OpenMedium, consent: &Consent) -> Result<(), Reason> {
    let contents = MediumContents::read(medium.roots(), medium);
    if let Some(shown) = &consent.inspected
        && shown.contents != contents
    {
        return Err(Reason::Changed(IdentityChange::Contents));
    }
    if contents.needs_acknowledgement() && !consent.signatures {
        return Err(Reason::SignaturesNotIncluded(contents.summary()));
    }
    Ok(())
}
