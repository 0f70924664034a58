//! Overwriting: what would be lost, and the permission of the user who consented.

use std::sync::Arc;

use super::runner::StartError;
use crate::bench::BenchmarkSpec;
use crate::drive::OverwriteImpact;
use crate::drive::{Consent, DriveError, InspectedMedium, Inspection, TargetKind, guard, medium};
use crate::engine;
use crate::engine::{OpenError, OpenedTarget};
use crate::roots::SysPaths;

/// What a target contains, and whether consent to overwrite it would be accepted. It is opened for
/// reading; the result passes the descriptor on to the start of the run.
///
/// # Errors
///
/// With the reason when that cannot be determined.
pub fn inspect_impact(roots: &SysPaths, path: &str) -> Result<OverwriteImpact, String> {
    let explain = |error: DriveError| format!("{error}; {}", error.advice());
    let medium = Arc::new(medium::open_target(roots, path, None).map_err(explain)?);
    let inspected = InspectedMedium::read(roots, medium);
    let inspection = inspected.describe(roots).map_err(DriveError::from);
    let inspection = inspection.map_err(explain)?;
    let refusal = guard::check_not_in_use(roots, inspected.medium()).err();
    Ok(OverwriteImpact {
        target_facts: inspection.detail_lines(),
        signatures: inspection.contents.summary(),
        medium: match refusal {
            Some(refusal) => Err(format!("{refusal}; {}", refusal.advice())),
            None => Ok(Arc::new(inspected)),
        },
    })
}

/// Opens a job's target: the inspected medium where the consent carries one, otherwise the path.
pub(crate) fn open_target(
    roots: &SysPaths,
    job: &BenchmarkSpec,
) -> Result<OpenedTarget, OpenError> {
    let shown = job.consent.as_ref().and_then(Consent::medium);
    match shown.filter(|medium| medium.target.name == job.target_name) {
        Some(medium) => engine::open_medium(roots, Arc::clone(medium), job.engine),
        None => engine::open_target(roots, &job.target_path, job.engine, job.scratch_file_bytes),
    }
}

/// Permits writing, or refuses it with all facts known about the target. Returns what is about to
/// be overwritten, unless it is a scratch file or a simulated drive.
pub(crate) fn permit_writing(
    opened: &mut OpenedTarget,
    job: &BenchmarkSpec,
) -> Result<Option<Inspection>, StartError> {
    if matches!(
        opened.target.kind,
        TargetKind::ScratchFile | TargetKind::Simulated
    ) {
        opened.permit_writing(None)?;
        return Ok(None);
    }
    // Before the exclusive open: afterwards this process counts as a user of it.
    let inspection = opened.inspect_for_consent();
    if let Err(refusal) = opened.permit_writing(job.consent.as_ref()) {
        let inspection = inspection.ok().flatten();
        return Err(StartError::WriteRefused {
            refusal,
            facts: inspection.map_or_else(Vec::new, |inspection| inspection.description_lines()),
        });
    }
    inspection.map_err(|refusal| DriveError::from(refusal).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench;
    use crate::bench::RunProgress;
    use crate::benchmark_run::runner::{
        KernelStats, RunReport, RunSpec, RunStart, RunWatcher, run_benchmark,
    };
    use crate::drive::ErrorKind;
    use crate::engine::CancellationToken;

    struct SilentWatcher;

    impl RunWatcher for SilentWatcher {
        fn on_scratch_fill(&mut self, _: u64, _: u64) {}
        fn on_start(&mut self, _: &RunStart) {}
        fn on_progress(&mut self, _: &RunProgress, _: KernelStats<'_>) {}
    }

    const CONTENT: u8 = 0x5a;

    fn file_with_content() -> tempfile::TempPath {
        // Closed, because an open file is not overwritten.
        let path = tempfile::NamedTempFile::new().unwrap().into_temp_path();
        std::fs::write(&path, vec![CONTENT; 1 << 20]).unwrap();
        path
    }

    /// Overwrites a file with this consent.
    fn run_overwrite(path: &str, consent: Consent) -> Result<RunReport, StartError> {
        let mut job = BenchmarkSpec::new(bench::find_benchmark("random-write").unwrap(), path);
        for (name, value) in [("requests", "50"), ("cache", "keep"), ("ramp", "0s")] {
            job.set(name, value).unwrap();
        }
        job.consent = Some(consent);
        let order = RunSpec {
            spec: job,
            repeat_count: 2,
            session_directory: None,
            output_files: Vec::new(),
        };
        run_benchmark(
            &order,
            &SysPaths::default(),
            &CancellationToken::default(),
            &mut SilentWatcher,
        )
    }

    /// The consent of a user who was shown the current content.
    fn consent_to_shown(path: &str) -> Consent {
        let stakes = inspect_impact(&SysPaths::default(), path).unwrap();
        Consent::for_inspected(stakes.medium.unwrap())
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
    fn file_with_a_signature_needs_consent_that_includes_it() {
        let file = file_with_content();
        let path = file.to_str().unwrap();
        std::fs::write(path, b"QFI\xfb".repeat(1 << 16)).unwrap();
        let before = std::fs::read(path).unwrap();
        assert_refused(path, Consent::for_path(path), "holds qcow2");
        assert!(std::fs::read(path).unwrap() == before);
        run_overwrite(path, Consent::for_path(path).including_signatures()).unwrap();
        assert!(std::fs::read(path).unwrap() != before);
    }

    #[test]
    fn consent_typed_below_listed_signatures_includes_them() {
        let file = file_with_content();
        let path = file.to_str().unwrap();
        std::fs::write(path, b"QFI\xfb".repeat(1 << 16)).unwrap();
        let stakes = inspect_impact(&SysPaths::default(), path).unwrap();
        assert_eq!(stakes.signatures, ["qcow2"]);
        let report = run_overwrite(path, consent_to_shown(path)).unwrap();
        let line = &report.session.runs[0].reproduce.diskscope;
        assert!(line.contains("--overwrite-signatures"), "{line}");
    }

    #[test]
    fn overwrite_impact_of_missing_path_is_an_error() {
        let reason = inspect_impact(&SysPaths::default(), "/no/such/place").unwrap_err();
        assert!(reason.contains("/no/such/place"), "{reason}");
    }
}
