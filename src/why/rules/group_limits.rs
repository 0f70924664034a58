//! Control groups that reach their limit of memory or of processor time within the window.

use super::prelude::*;
use crate::probe::waits::groups::LimitedGroup;

/// How often per second a group reaches its limit of memory from which that is the limit of its work.
const MIN_HITS: f64 = 5.0;
/// Fraction of its periods in which a group is stopped by its quota from which that is its limit.
const MIN_THROTTLED: f64 = 0.2;

/// A group at a limit.
pub(super) struct GroupAtLimit<'a> {
    /// Its name as people know it.
    pub name: SafeText,
    /// The group.
    pub group: &'a LimitedGroup,
    /// How often per second it reaches its limit of memory.
    pub hits: f64,
    /// Fraction of the periods of its quota in which it was stopped.
    pub throttled: f64,
}

/// The groups with their use of their limits in the window.
fn groups<'a>(analysis: &Analysis<'a>) -> Vec<GroupAtLimit<'a>> {
    let Some((begin, end)) = &analysis.window.facts else {
        return Vec::new();
    };
    let seconds = end.at.saturating_sub(begin.at).as_secs_f64().max(1e-3);
    let change = |group: &'a LimitedGroup| {
        let mut before = begin.groups.iter();
        let before = before.find(|it| it.directory == group.directory)?;
        let hits = group.memory_hits.checked_sub(before.memory_hits)?;
        let periods = group.periods.checked_sub(before.periods)?;
        let throttled = group
            .throttled_periods
            .checked_sub(before.throttled_periods)?;
        let mut units = analysis.last.units.iter().flatten();
        let unit = units.find(|it| group.directory.ends_with(it.path.trim_start_matches('/')));
        let own = group.directory.file_name().unwrap_or_default();
        Some(GroupAtLimit {
            name: match unit {
                Some(unit) => unit.name.clone(),
                None => SafeText::from_path(own.as_ref()),
            },
            group,
            hits: hits as f64 / seconds,
            throttled: throttled as f64 / periods.max(1) as f64,
        })
    };
    end.groups.iter().filter_map(change).collect()
}

/// The group that reaches its limit of memory most often.
pub(super) fn at_memory_limit<'a>(analysis: &Analysis<'a>) -> Option<GroupAtLimit<'a>> {
    let reached = groups(analysis).into_iter();
    let reached = reached.filter(|it| it.group.memory_bytes.is_some() && it.hits >= MIN_HITS);
    reached.max_by(|a, b| a.hits.total_cmp(&b.hits))
}

/// The groups that their quota of processor time stops.
pub(super) fn at_quota<'a>(analysis: &Analysis<'a>) -> Vec<GroupAtLimit<'a>> {
    let mut stopped = groups(analysis);
    stopped.retain(|it| it.group.processors.is_some() && it.throttled >= MIN_THROTTLED);
    stopped
}

impl GroupAtLimit<'_> {
    /// Its limit of memory as the cause: the proof, and a limit of twice its size.
    pub(super) fn tell_memory(&self, cause: &mut Cause) {
        let (name, bytes) = (&self.name, self.group.memory_bytes.unwrap_or(0));
        let (limit, hits, file) = if self.group.is_first_version {
            let file = "memory.limit_in_bytes";
            let hits = LIMIT_HITS.read_from("memory.failcnt");
            (MEMORY_LIMIT.read_from(file), hits, file)
        } else {
            (MEMORY_LIMIT, LIMIT_HITS, "memory.max")
        };
        cause.prove(name, limit, bytes as f64);
        cause.prove(name, hits, self.hits);
        let twice = units::format_capacity(bytes as f64 * 2.0);
        let file = SafeText::from_path(&self.group.directory.join(file));
        let path = exact_path(&file).and_then(shell::quote_word);
        cause.remedies.extend(Remedy::of(
            path.map(|path| format!("echo {} > {path}", bytes.saturating_mul(2))),
            format!("raises the memory limit of {name} to {twice}, until it is made anew"),
        ));
    }
}

/// What is too small: the limit of a group, or the memory of the machine.
pub(super) fn memory_text(group: Option<&GroupAtLimit<'_>>) -> String {
    match group {
        Some(it) => format!(
            "the memory limit of {}, {},",
            it.name,
            units::format_capacity(it.group.memory_bytes.unwrap_or(0) as f64)
        ),
        None => "the memory".to_owned(),
    }
}
