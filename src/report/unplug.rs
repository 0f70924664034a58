//! Whether a drive can be unplugged, in words.

use crate::drive::unplug::{FlushState, UnplugAnswer, UnplugObstacle};
use crate::units;

/// The answer, such as `no: mounted at /mnt (sdb1)`; `path` is the device's, for the command that
/// helps.
#[must_use]
pub fn unplug_text(answer: &UnplugAnswer, path: &str) -> String {
    let reasons: Vec<String> = answer
        .obstacles
        .iter()
        .map(|obstacle| obstacle_text(obstacle, path))
        .collect();
    let reasons = reasons.join("; ");
    match (answer.safe, answer.obstacles.as_slice()) {
        (Some(true), _) => {
            "yes: no mount, swap or process that has it open for writing was found, and nothing is in \
             its cache"
                .to_owned()
        }
        (Some(false), _) => format!("no: {reasons}"),
        (None, [UnplugObstacle::UsersNotExamined]) => {
            format!("nothing is in its cache; {reasons}")
        }
        (None, _) => format!("unknown: {reasons}"),
    }
}

fn obstacle_text(obstacle: &UnplugObstacle, path: &str) -> String {
    match obstacle {
        UnplugObstacle::InUse(user) => user.to_string(),
        UnplugObstacle::UsersNotExamined => {
            "not mounted or swap here; other mount namespaces and processes that may have it open were \
             not all examined: `diskscope devices` looks for them"
                .to_owned()
        }
        UnplugObstacle::Dirty { bytes } => {
            format!("{} dirty", units::format_capacity(*bytes as f64))
        }
        UnplugObstacle::NotFlushed => format!("no flush since the last write (sync {path})"),
        UnplugObstacle::FlushUnknown { state } => match state {
            FlushState::NotCounted => "this kernel does not count flushes".to_owned(),
            FlushState::SameInterval => {
                format!("a flush and other requests were in the same interval (sync {path})")
            }
            _ => format!("not observed whether it was flushed since the last write (sync {path})"),
        },
    }
}
