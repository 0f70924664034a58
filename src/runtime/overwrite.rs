//! Overwriting: what is at stake for the one who is asked, and the permission for the one who
//! consented.

use std::sync::Arc;

use super::benchmark::Refused;
use crate::app::consent::Stakes;
use crate::bench::Job;
use crate::drive::{Consent, DriveError, InspectedMedium, Inspection, TargetKind, guard, target};
use crate::engine::{self, Choice, OpenError, Opened};
use crate::roots::Roots;

/// What a target holds, and whether consent to overwrite it would be accepted. It is opened for
/// reading; the answer carries the descriptor to the start of the run.
///
/// # Errors
/// With the reason when that cannot be told.
pub fn stakes(roots: &Roots, path: &str) -> Result<Stakes, String> {
    let explain = |error: DriveError| format!("{error}; {}", error.advice());
    let medium = Arc::new(target::open(roots, path, None).map_err(explain)?);
    let inspected = InspectedMedium::read(roots, medium);
    let inspection = inspected.describe(roots).map_err(DriveError::from);
    let inspection = inspection.map_err(explain)?;
    let refusal = guard::check_free(roots, inspected.medium()).err();
    Ok(Stakes {
        facts: inspection.facts_below_name(),
        signatures: inspection.contents.summary(),
        medium: match refusal {
            Some(refusal) => Err(format!("{refusal}; {}", refusal.advice())),
            None => Ok(Arc::new(inspected)),
        },
    })
}

/// Opens a job's target: the medium that was shown where the consent carries one, and whatever the
/// name leads to otherwise.
pub(super) fn open(roots: &Roots, job: &Job, choice: Choice) -> Result<Opened, OpenError> {
    let shown = job.consent.as_ref().and_then(Consent::medium);
    match shown.filter(|medium| medium.target.name == job.target) {
        Some(medium) => engine::open_medium(roots, Arc::clone(medium), choice),
        None => engine::open(roots, &job.path, choice, job.scratch_bytes),
    }
}

/// Permits writing, or refuses it with all that is known of the target. What is about to be
/// overwritten is returned, unless it is a scratch file or a simulated drive.
pub(super) fn permit(opened: &mut Opened, job: &Job) -> Result<Option<Inspection>, Refused> {
    if matches!(
        opened.target.kind,
        TargetKind::Scratch | TargetKind::Simulated
    ) {
        opened.permit_writing(None)?;
        return Ok(None);
    }
    // Before it is held: afterwards we are one of those who use it.
    let inspection = opened.inspect();
    if let Err(refusal) = opened.permit_writing(job.consent.as_ref()) {
        let inspection = inspection.ok().flatten();
        return Err(Refused::Writing {
            refusal,
            facts: inspection.map_or_else(Vec::new, |inspection| inspection.facts()),
        });
    }
    inspection.map_err(|refusal| DriveError::from(refusal).into())
}

#[cfg(test)]
mod tests {
    use super::super::benchmark::{Beside, Order, Report, Start, Watcher, run};
    use super::*;
    use crate::bench::{self, Progress};
    use crate::drive::ErrorKind;
    use crate::engine::Control;

    struct Nobody;

    impl Watcher for Nobody {
        fn preparing(&mut self, _: u64, _: u64) {}
        fn started(&mut self, _: &Start) {}
        fn progress(&mut self, _: &Progress, _: Beside<'_>) {}
    }

    const CONTENT: u8 = 0x5a;

    fn file() -> tempfile::TempPath {
        // Closed: a file that anybody has open is not overwritten.
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, vec![CONTENT; 1 << 20]).unwrap();
        path
    }

    /// Overwrites a file with that consent.
    fn overwritten(path: &str, consent: Consent) -> Result<Report, Refused> {
        let mut job = Job::new(bench::find("random-write").unwrap(), path);
        for (name, value) in [("requests", "50"), ("cache", "keep"), ("ramp", "0s")] {
            job.set(name, value).unwrap();
        }
        job.consent = Some(consent);
        let order = Order {
            job,
            repeat: 2,
            keep_in: None,
            outputs: Vec::new(),
        };
        run(&order, &Roots::default(), &Control::default(), &mut Nobody)
    }

    /// The consent of somebody who is shown what is there now.
    fn consent(path: &str) -> Consent {
        let stakes = stakes(&Roots::default(), path).unwrap();
        Consent::to_inspected(stakes.medium.unwrap())
    }

    fn untouched(path: &str) -> bool {
        std::fs::read(path)
            .unwrap()
            .iter()
            .all(|byte| *byte == CONTENT)
    }

    fn refused(path: &str, consent: Consent, reason: &str) {
        let refused = overwritten(path, consent).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert!(refused.to_string().contains(reason), "{refused}");
    }

    #[test]
    fn file_with_content_changed_since_it_was_shown_is_not_overwritten() {
        let file = file();
        let path = file.to_str().unwrap();
        let shown = consent(path);
        let mut content = std::fs::read(path).unwrap();
        content[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
        std::fs::write(path, &content).unwrap();
        refused(path, shown, "what is on it has changed");
        assert!(std::fs::read(path).unwrap() == content);
        std::fs::write(path, vec![CONTENT; 1 << 20]).unwrap();
        let report = overwritten(path, consent(path)).unwrap();
        assert_eq!(report.session.runs.len(), 2, "all repeats with one consent");
        assert!(!untouched(path));
    }

    #[test]
    fn file_replaced_since_it_was_shown_is_not_overwritten() {
        let (file, other) = (file(), file_with_name());
        let path = file.to_str().unwrap();
        let shown = consent(path);
        let aside = format!("{path}.aside");
        std::fs::rename(path, &aside).unwrap();
        std::fs::rename(&other, path).unwrap();
        refused(path, shown, "leads to another device or file");
        assert!(untouched(path) && untouched(&aside));
        std::fs::remove_file(aside).unwrap();
    }

    fn file_with_name() -> std::path::PathBuf {
        file().keep().unwrap()
    }

    #[test]
    fn consent_for_another_target_is_refused() {
        let (one, other) = (file(), file());
        let [one, other] = [&one, &other].map(|file| file.to_str().unwrap());
        refused(one, consent(other), "the consent names");
        refused(one, Consent::to_path(other), "the consent names");
        assert!(untouched(one) && untouched(other));
    }

    #[test]
    fn file_with_a_signature_needs_consent_that_includes_it() {
        let file = file();
        let path = file.to_str().unwrap();
        std::fs::write(path, b"QFI\xfb".repeat(1 << 16)).unwrap();
        let before = std::fs::read(path).unwrap();
        refused(path, Consent::to_path(path), "holds qcow2");
        assert!(std::fs::read(path).unwrap() == before);
        overwritten(path, Consent::to_path(path).with_signatures()).unwrap();
        assert!(std::fs::read(path).unwrap() != before);
    }

    #[test]
    fn typed_path_below_the_signatures_includes_them() {
        let file = file();
        let path = file.to_str().unwrap();
        std::fs::write(path, b"QFI\xfb".repeat(1 << 16)).unwrap();
        let stakes = stakes(&Roots::default(), path).unwrap();
        assert_eq!(stakes.signatures, ["qcow2"]);
        let report = overwritten(path, consent(path)).unwrap();
        let line = &report.session.runs[0].reproduce.diskscope;
        assert!(line.contains("--overwrite-signatures"), "{line}");
    }

    #[test]
    fn what_is_not_there_has_no_stakes() {
        let reason = stakes(&Roots::default(), "/no/such/place").unwrap_err();
        assert!(reason.contains("/no/such/place"), "{reason}");
    }
}
