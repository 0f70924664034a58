//! Overwriting: what would be lost, and the permission of the user who consented.

use std::ffi::OsStr;
use std::sync::Arc;

use super::start_error::StartError;
use crate::bench::RunRequest;
use crate::drive::OverwriteImpact;
use crate::drive::medium::strip_trailing_slash;
use crate::drive::{Consent, DriveError, InspectedMedium, Inspection, TargetKind, guard, medium};
use crate::engine;
use crate::engine::{OpenError, OpenedTarget};
use crate::report;
use crate::roots::SysPaths;

/// What a target contains, and whether consent to overwrite it would be accepted. It is opened for
/// reading; the result passes the descriptor on to the start of the run.
///
/// # Errors
///
/// When that cannot be determined.
pub fn inspect_impact(
    roots: &SysPaths,
    path: &(impl AsRef<OsStr> + ?Sized),
) -> Result<OverwriteImpact, DriveError> {
    let medium = Arc::new(medium::open_target(roots, path, None)?);
    let inspected = InspectedMedium::read(roots, medium);
    let inspection = inspected.describe();
    let refusal = guard::check_not_in_use(roots, inspected.medium()).err();
    inspected.medium().set_aside();
    Ok(OverwriteImpact {
        target_facts: report::inspection::detail_lines(&inspection),
        signatures: inspection.contents.summary(),
        medium: match refusal {
            Some(refusal) => Err(Arc::new(refusal)),
            None => Ok(Arc::new(inspected)),
        },
    })
}

/// Opens a run's target: the inspected medium where the consent carries one of the same path, byte
/// for byte, otherwise the path.
pub(crate) fn open_target(
    roots: &SysPaths,
    request: &RunRequest,
) -> Result<OpenedTarget, OpenError> {
    let target = request.target();
    let shown = target.consent.as_ref().and_then(Consent::medium);
    let path = strip_trailing_slash(&target.path);
    match shown.filter(|medium| medium.path().as_os_str() == path.as_os_str()) {
        Some(medium) => {
            medium.resume();
            engine::open_medium(roots, Arc::clone(medium), request.engine)
        }
        None => engine::open_target(
            roots,
            &target.path,
            request.engine,
            request.scratch_file_bytes,
        ),
    }
}

/// Permits writing, or refuses it with all facts known about the target. Returns what is about to
/// be overwritten, unless it is a scratch file or a simulated drive.
pub(crate) fn permit_writing(
    opened: &mut OpenedTarget,
    request: &RunRequest,
) -> Result<Option<Inspection>, StartError> {
    if matches!(
        opened.target.kind,
        TargetKind::ScratchFile | TargetKind::Simulated
    ) {
        opened.permit_writing(None)?;
        return Ok(None);
    }
    let inspection = opened.inspect_for_consent();
    if let Err(refusal) = opened.permit_writing(request.target().consent.as_ref()) {
        return Err(StartError::WriteRefused {
            refusal,
            inspection: inspection.map(Box::new),
        });
    }
    Ok(inspection)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::drive::ErrorKind;
    use crate::engine::CancellationToken;
    use crate::run::{RunReport, run_benchmark};

    const CONTENT: u8 = 0x5a;

    fn file_with_content() -> tempfile::TempPath {
        // Closed, because an open file is not overwritten.
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, vec![CONTENT; 1 << 20]).unwrap();
        path
    }

    /// Overwrites a file with this consent.
    fn run_overwrite(path: &str, consent: Consent) -> Result<RunReport, StartError> {
        let benchmark = bench::find_benchmark("random-write").unwrap();
        let mut request = RunRequest::new(benchmark, path);
        for (name, value) in [("requests", "50"), ("cache", "keep"), ("ramp", "0s")] {
            request.set(name, value).unwrap();
        }
        request.set_consent(consent);
        request.repeat_count = 2;
        let cancellation = CancellationToken::default();
        run_benchmark(&request, &SysPaths::default(), &cancellation, &mut |_| {})
    }

    /// The consent of a user who was shown the current content.
    fn consent_to_shown(path: &str) -> Consent {
        let impact = inspect_impact(&SysPaths::default(), path).unwrap();
        Consent::for_inspected(impact.medium.unwrap())
    }

    fn is_unchanged(path: &str) -> bool {
        std::fs::read(path)
            .unwrap()
            .iter()
            .all(|byte| *byte == CONTENT)
    }

    fn assert_refused(path: &str, consent: Consent, reason: &str) {
        let refused = run_overwrite(path, consent).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert!(refused.to_string().contains(reason), "{refused}");
    }

    #[test]
    fn file_with_content_changed_since_it_was_shown_is_not_overwritten() {
        let file = file_with_content();
        let path = file.to_str().unwrap();
        let shown = consent_to_shown(path);
        let mut content = std::fs::read(path).unwrap();
        content[0x438..0x43a].copy_from_slice(&[0x53, 0xef]);
        std::fs::write(path, &content).unwrap();
        assert_refused(path, shown, "what is on it has changed");
        assert!(std::fs::read(path).unwrap() == content);
        std::fs::write(path, vec![CONTENT; 1 << 20]).unwrap();
        let report = run_overwrite(path, consent_to_shown(path)).unwrap();
        assert_eq!(report.session.runs.len(), 2, "all repeats with one consent");
        assert!(!is_unchanged(path));
    }

    #[test]
    fn file_replaced_since_it_was_shown_is_not_overwritten() {
        let (file, other) = (file_with_content(), file_with_name());
        let path = file.to_str().unwrap();
        let shown = consent_to_shown(path);
        let aside = format!("{path}.aside");
        std::fs::rename(path, &aside).unwrap();
        std::fs::rename(&other, path).unwrap();
        assert_refused(path, shown, "leads to another device or file");
        assert!(is_unchanged(path) && is_unchanged(&aside));
        std::fs::remove_file(aside).unwrap();
    }

    fn file_with_name() -> std::path::PathBuf {
        file_with_content().keep().unwrap()
    }

    #[test]
    fn consent_for_another_target_is_refused() {
        let (one, other) = (file_with_content(), file_with_content());
        let [one, other] = [&one, &other].map(|file| file.to_str().unwrap());
        assert_refused(one, consent_to_shown(other), "the consent names");
        assert_refused(one, Consent::for_path(other), "the consent names");
        assert!(is_unchanged(one) && is_unchanged(other));
    }

    #[test]
    fn file_whose_printed_name_is_another_file_is_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let [invisible, literal] = ["disk\u{200b}.img", r"disk\u{200b}.img"].map(|name| {
            let path = directory.path().join(name);
            std::fs::write(&path, vec![CONTENT; 1 << 20]).unwrap();
            path.into_os_string().into_string().unwrap()
        });
        let impact = inspect_impact(&SysPaths::default(), &invisible).unwrap();
        let inspected = impact.medium.unwrap();
        assert_eq!(inspected.medium().path().to_str(), Some(&*invisible));
        assert_eq!(inspected.medium().target.name, literal);
        assert_refused(
            &literal,
            Consent::for_inspected(inspected),
            "the consent names",
        );
        assert_refused(&invisible, Consent::for_path(&literal), "the consent names");
        assert!(is_unchanged(&invisible) && is_unchanged(&literal));
        run_overwrite(&invisible, consent_to_shown(&invisible)).unwrap();
        assert!(is_unchanged(&literal) && !is_unchanged(&invisible));
    }

    #[test]
    fn overwrite_impact_of_missing_path_is_an_error() {
        let error = inspect_impact(&SysPaths::default(), "/no/such/place").unwrap_err();
        assert!(matches!(error, DriveError::NotFound { name } if name == "/no/such/place"));
    }
}
