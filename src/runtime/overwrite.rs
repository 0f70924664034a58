//! Overwriting: what is at stake for the one who is asked, and the permission for the one who
//! consented.

use super::benchmark::Refused;
use crate::app::consent::Stakes;
use crate::bench::Job;
use crate::drive::{DriveError, Inspection, guard, target};
use crate::engine::{OpenError, Opened};
use crate::roots::Roots;

/// What a target holds, and whether consent to overwrite it would be heeded. Nothing is opened for
/// writing.
///
/// # Errors
/// With the reason when that cannot be told.
pub fn stakes(roots: &Roots, path: &str) -> Result<Stakes, String> {
    let told = |error: DriveError| format!("{error}; {}", error.advice());
    let medium = target::open(roots, path, None).map_err(told)?;
    let inspection =
        guard::inspect(roots, &medium).map_err(|refusal| told(DriveError::from(refusal)))?;
    let refusal = guard::check_free(roots, &medium).err();
    Ok(Stakes {
        facts: inspection.about(),
        refusal: refusal.map(|refusal| format!("{refusal}; {}", refusal.advice())),
    })
}

/// Permits writing, or refuses it with all that is known of the target.
pub(super) fn permit(opened: &mut Opened, job: &Job) -> Result<(), Refused> {
    if let Err(refusal) = opened.permit_writing(job.overwrite.as_deref()) {
        let inspection = opened.inspect().ok().flatten();
        return Err(Refused::Writing {
            refusal,
            facts: inspection.map_or_else(Vec::new, |inspection| inspection.facts()),
        });
    }
    still_as_shown(opened, job)
}

/// Whether the target is what the user saw: behind the same path another drive may have come up,
/// or a file system been made.
fn still_as_shown(opened: &Opened, job: &Job) -> Result<(), Refused> {
    let Some(shown) = &job.shown else {
        return Ok(());
    };
    let inspection = opened.inspect().map_err(DriveError::from)?;
    let about = inspection.as_ref().map_or_else(Vec::new, Inspection::about);
    if about == *shown {
        return Ok(());
    }
    let changed = DriveError::Changed {
        name: job.target.clone(),
    };
    Err(Refused::Writing {
        refusal: OpenError::from(changed),
        facts: about,
    })
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

    /// Overwrites a file of which these facts were shown.
    fn overwritten(path: &str, shown: Vec<String>) -> Result<Report, Refused> {
        let mut job = Job::new(bench::find("random-write").unwrap(), path);
        for (name, value) in [("requests", "50"), ("cache", "keep"), ("ramp", "0s")] {
            job.set(name, value).unwrap();
        }
        job.overwrite = Some(path.into());
        job.shown = Some(shown);
        let order = Order {
            job,
            repeat: 1,
            keep_in: None,
        };
        run(&order, &Roots::default(), &Control::default(), &mut Nobody)
    }

    fn untouched(path: &str) -> bool {
        std::fs::read(path)
            .unwrap()
            .iter()
            .all(|byte| *byte == CONTENT)
    }

    #[test]
    fn a_target_is_overwritten_only_as_it_was_shown() {
        let file = file();
        let path = file.to_str().unwrap();
        let stakes = stakes(&Roots::default(), path).unwrap();
        assert_eq!(stakes.refusal, None);

        let other = vec!["a drive that was there before".to_owned()];
        let refused = overwritten(path, other).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Refused);
        assert!(refused.to_string().contains("not the target any more"));
        assert!(untouched(path));

        overwritten(path, stakes.facts).unwrap();
        assert!(!untouched(path));
    }

    #[test]
    fn what_is_not_there_has_no_stakes() {
        let reason = stakes(&Roots::default(), "/no/such/place").unwrap_err();
        assert!(reason.contains("/no/such/place"), "{reason}");
    }
}
