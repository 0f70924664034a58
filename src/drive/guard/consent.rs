//! Consent to overwrite one medium, and whether it still holds for what would be written.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::drive::guard::contents::MediumContents;
use crate::drive::guard::device_keys;
use crate::drive::guard::device_keys::DeviceKey;
use crate::drive::guard::inspect;
use crate::drive::guard::inspect::Inspection;
use crate::drive::guard::medium_change::MediumChange;
use crate::drive::guard::refusal::Refusal;
use crate::drive::identity::sanitized;
use crate::drive::medium::identity_change::IdentityChange;
use crate::drive::medium::open_medium::OpenMedium;
use crate::drive::medium::{MediumIdentity, strip_trailing_slash};
use crate::files::error::FileError;
use crate::files::path;
use crate::roots::SysPaths;

/// A medium as somebody was shown it: the open descriptor, and what was recognised of it.
///
/// As long as this value lives the descriptor stays open, and a run that is started with it writes
/// through this descriptor and no other: what the path leads to meanwhile has no influence.
#[derive(Debug)]
pub struct InspectedMedium {
    medium: Arc<OpenMedium>,
    identity: MediumIdentity,
    /// The devices that it is on.
    devices: Vec<DeviceKey>,
    contents: MediumContents,
}

impl InspectedMedium {
    /// A medium with what is on it now.
    #[must_use]
    pub fn read(roots: &SysPaths, medium: Arc<OpenMedium>) -> Self {
        Self {
            identity: medium.identity().clone(),
            devices: device_keys::own_devices(roots, &medium),
            contents: MediumContents::read(roots, &medium),
            medium,
        }
    }

    /// The medium.
    #[must_use]
    pub fn medium(&self) -> &Arc<OpenMedium> {
        &self.medium
    }

    /// The facts about it, with what was recognised on it.
    ///
    /// # Errors
    /// When it cannot be found out who uses it.
    pub fn describe(&self, roots: &SysPaths) -> Result<Inspection, Refusal> {
        inspect::describe_medium(roots, &self.medium, self.contents.clone())
    }

    /// What was recognised on it.
    #[must_use]
    pub fn contents(&self) -> &MediumContents {
        &self.contents
    }
}

/// Consent to overwrite what a path leads to.
#[derive(Debug, Clone)]
pub struct Consent {
    path: PathBuf,
    signatures: bool,
    inspected: Option<Arc<InspectedMedium>>,
}

impl Consent {
    /// Consent by path, as the command line gives it: the medium is opened afterwards.
    /// File systems and other recognised formats on it are not included.
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

    /// Consent of somebody who saw the medium with its signatures and typed its path below them:
    /// it includes these signatures, and holds for this medium as it was shown only.
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
pub(super) fn check_path(medium: &OpenMedium, consent: Option<&Consent>) -> Result<(), Refusal> {
    let name = medium.target.name.clone();
    let Some(consent) = consent else {
        return Err(Refusal::NoConsent { name });
    };
    let path = &strip_trailing_slash(&consent.path);
    if path.as_os_str() != medium.path().as_os_str() {
        return Err(Refusal::ConsentPathMismatch {
            name,
            given: sanitized(&consent.path.to_string_lossy()),
        });
    }
    // The path is followed once: what was judged is what the medium is compared with. A second walk
    // could end in another file, which somebody else puts there for that moment.
    let trusted = path::trusted_file_id(path).map_err(|error| match error {
        FileError::Untrusted(_, reason) => Refusal::Untrusted { name, reason },
        error => Refusal::Untrusted {
            name,
            reason: error.to_string(),
        },
    })?;
    if trusted == Some(medium.file_id()) {
        return Ok(());
    }
    Err(medium_changed(
        medium,
        MediumChange::Identity(IdentityChange::FileIdentity),
    ))
}

/// Whether the medium and what is on it are still what was consented to. `held` is another
/// descriptor of it, through which it is held against others, where there is one.
pub(super) fn check_medium(
    roots: &SysPaths,
    medium: &OpenMedium,
    consent: &Consent,
    held: Option<&File>,
) -> Result<(), Refusal> {
    let change = medium
        .changed_since_opened()
        .or_else(|| medium.difference_to(held?));
    if let Some(change) = change {
        return Err(medium_changed(medium, MediumChange::Identity(change)));
    }
    let contents = MediumContents::read(roots, medium);
    if let Some(shown) = &consent.inspected {
        let change = shown.identity.first_difference(medium.identity());
        let devices = || device_keys::own_devices(roots, medium);
        let change = change.or_else(|| device_keys::first_difference(&shown.devices, &devices()));
        if let Some(change) = change {
            return Err(medium_changed(medium, MediumChange::Identity(change)));
        }
        if shown.contents != contents {
            return Err(medium_changed(medium, MediumChange::Contents));
        }
    }
    if contents.needs_acknowledgement() && !consent.signatures {
        return Err(Refusal::SignaturesNotIncluded {
            name: medium.target.name.clone(),
            found: contents.summary(),
        });
    }
    Ok(())
}

fn medium_changed(medium: &OpenMedium, change: MediumChange) -> Refusal {
    Refusal::MediumChanged {
        name: medium.target.name.clone(),
        change,
    }
}
