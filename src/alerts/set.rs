//! Several conditions.

use super::language::{Condition, ConditionError};
use super::metric::metric_column;
use super::scope::ScopeKind;
use crate::snapshot::Snapshot;
use crate::snapshot::view::{BlockedTaskView, IoErrorsView};

/// Conditions, in the order in which they were given; each once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConditionSet {
    conditions: Vec<Condition>,
}

/// What snapshots must contain, beyond what they always do, so that conditions can be evaluated.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SampleNeeds {
    /// Control groups.
    pub units: bool,
    /// Mounted file systems.
    pub mounts: bool,
    /// Blocked tasks.
    pub blocked: bool,
    /// I/O errors.
    pub io_errors: bool,
}

impl ConditionSet {
    /// Parses one condition from each text.
    ///
    /// # Errors
    /// As [`Condition::parse`], for the first text that is none.
    pub fn parse(texts: &[String]) -> Result<Self, ConditionError> {
        let mut set = Self::default();
        for text in texts {
            let condition = Condition::parse(text)?;
            if !set.conditions.contains(&condition) {
                set.conditions.push(condition);
            }
        }
        Ok(set)
    }

    /// The conditions.
    #[must_use]
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// What snapshots must contain.
    #[must_use]
    pub fn needs(&self) -> SampleNeeds {
        let mut needs = SampleNeeds::default();
        for condition in &self.conditions {
            let kind = condition.scope().kind();
            needs.units |= kind == ScopeKind::Unit;
            needs.mounts |= kind == ScopeKind::Mount;
            let name = condition.metric().name();
            needs.blocked |= metric_column::<BlockedTaskView>(name).is_some()
                || metric_column::<Snapshot>(name).is_some_and(|it| it.key.starts_with("blocked"));
            needs.io_errors |= metric_column::<IoErrorsView>(name).is_some();
        }
        needs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_knows_what_snapshots_must_contain() {
        let needs = |texts: &[&str]| {
            let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
            ConditionSet::parse(&texts).unwrap().needs()
        };
        assert_eq!(needs(&["await(sda)>5ms"]), SampleNeeds::default());
        let all = SampleNeeds {
            units: true,
            mounts: true,
            blocked: true,
            io_errors: true,
        };
        assert_eq!(
            needs(&[
                "pressure_some(any)>5%",
                "available(/)<5%",
                "dstate(any)>5s",
                "io_errors(sda)>0",
            ]),
            all
        );
        let twice = [
            "await(sda)>5ms".to_owned(),
            "await_ns(sda) > 0.005s".to_owned(),
        ];
        assert_eq!(ConditionSet::parse(&twice).unwrap().conditions().len(), 1);
        assert!(ConditionSet::parse(&["x".to_owned()]).is_err());
    }
}
