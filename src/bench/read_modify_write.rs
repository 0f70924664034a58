//! Writes that do not fill a block: what reading, modifying and writing it back costs.

use std::time::Duration;

use super::common::{self, place};
use super::passes::{self, Pass, PassHook, Total};
use super::rounds::Rounds;
use super::sweep::Turn;
use super::{
    Bench, BenchError, Chart, Description, FioGap, FioJob, Forecast, Parameters, Shape, Test, Value,
};
use crate::drive::{Target, TargetKind};
use crate::engine::{BlockSize, CacheMode, Flush, Limits, Operation, Outcome, Pattern, Plan};
use crate::session::document::{Findings, Severity, Table, Unit, Verdict};
use crate::stats::latency::Latency;
use crate::units;

/// Records of 4000 against 4096 bytes, and of 512 against 4096.
pub struct ReadModifyWrite;

/// Size of a page of the cache, and of most media's physical blocks.
const PAGE: u32 = 4096;
/// A record that never fills a page.
const ODD: u32 = 4000;

static DESCRIPTION: Description = Description {
    name: "read-modify-write",
    aliases: &[],
    summary: "writes of 4000 against 4096 bytes, and of 512 on 4096-byte sectors: the penalty",
    explanation: "\
Writes records at random places in two pairs. Through the page cache: records of 4000 bytes, which \
never fill a page, so that the kernel must read each page before it can change it, against records of \
4096 bytes, which need no reading; fsync included. Past the cache: 512 bytes against 4096 on a drive \
with 512-byte logical and 4096-byte physical sectors (512e), which must itself read a sector \
and wait a revolution before it can write it.

Each pass is made in four rounds, in a random order (--seed). The penalty is how many times as many \
whole records are written per second, compared round by round; a check says when it may be none. Far above 1 says: align records to 4096 \
bytes, and partitions to 1 MiB. The table shows both pairs.

It overwrites what is there, 20,000 records at most in each pass.",
    writes: true,
    metrics: &["penalty_buffered", "penalty_direct", "buffered_4096_*", "buffered_4000_*", "direct_4096_*", "direct_512_*"],
    parameters: &[
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(20))),
        common::BYTES,
        common::REQUESTS.with_default(|_| Value::Count(80_000)),
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SEED,
        common::DATA,
    ],
    charts: &[Chart::new(
        "Writes done within a time, whole and partial blocks",
        Shape::Line,
        &[
            "times-buffered-4096",
            "times-buffered-4000",
            "times-direct-4096",
            "times-direct-512",
        ],
    )
    .log_x()],
    headline: &["penalty_buffered", "penalty_direct"],
};

fn plan_for(
    size: u32,
    cache: CacheMode,
    target: &Target,
    parameters: &Parameters,
) -> Result<Plan, BenchError> {
    let mut plan = common::plan(target, parameters, Operation::Write, Pattern::Random)?;
    plan.block_size = BlockSize::Fixed(size);
    plan.align = u64::from(size);
    plan.cache = cache;
    plan.limits = Limits::default();
    plan.finish = Some(Flush::Fsync);
    // Other places in each pass: what the one has read must not help the other.
    plan.seed = plan.seed.wrapping_add(u64::from(size));
    Ok(plan)
}

/// Whether sectors are smaller to the kernel than on the medium.
fn is_512e(target: &Target) -> bool {
    target.direct && target.logical_block <= 512 && target.physical_block >= PAGE
}

fn passes(target: &Target, parameters: &Parameters) -> Result<Vec<Pass>, BenchError> {
    let plan = |size, cache| plan_for(size, cache, target, parameters);
    let mut passes = Vec::new();
    if target.kind != TargetKind::Simulated {
        let cache = CacheMode::Drop;
        passes.push(Pass::new(
            "4096 bytes, buffered",
            "buffered_4096",
            plan(PAGE, cache)?,
        ));
        passes.push(Pass::new(
            "4000 bytes, buffered",
            "buffered_4000",
            plan(ODD, cache)?,
        ));
    }
    if is_512e(target) {
        let cache = CacheMode::Bypass;
        passes.push(Pass::new(
            "4096 bytes, direct",
            "direct_4096",
            plan(PAGE, cache)?,
        ));
        passes.push(Pass::new(
            "512 bytes, direct",
            "direct_512",
            plan(512, cache)?,
        ));
    }
    Ok(passes)
}

impl Test for ReadModifyWrite {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let passes = passes(target, parameters)?;
        let limits = common::limits(parameters);
        let all = limits
            .requests
            .map(|requests| requests.saturating_mul(u64::from(PAGE)));
        let bytes = limits.bytes.into_iter().chain(all).min();
        let amount = bytes.map_or_else(String::new, |bytes| {
            format!(", at most {}", common::written_share(bytes, target))
        });
        Ok(Forecast {
            sentence: format!(
                "writes whole and partial blocks at random places of {} in {} passes{amount}",
                place(target),
                passes.len()
            ),
            time: passes::phases_in_rounds(limits, &passes).time(target),
            reads: None,
            writes: bytes,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let passes = passes(bench.target, bench.parameters)?;
        let rows: Vec<(&str, &str)> = passes
            .iter()
            .map(|pass| (pass.label.as_str(), pass.key.as_str()))
            .collect();
        let columns = [
            ("IOPS", "iops"),
            ("mean", "latency"),
            ("p99", "latency_p99"),
        ];
        bench
            .findings
            .put_table(Table::crossed("Whole and partial blocks", &columns, &rows));
        if bench.target.kind == TargetKind::Simulated {
            bench.verdict(no_page_cache());
        }
        if !is_512e(bench.target) {
            bench.verdict(no_512e(bench.target));
        }
        let limits = common::limits(bench.parameters);
        let seed = bench.parameters.count("seed").unwrap_or(1);
        let rounds = passes::in_rounds(bench, limits, &passes, seed, &mut Curves(&passes))?;
        for (name, whole, partial) in [
            ("penalty_buffered", "buffered_4096", "buffered_4000"),
            ("penalty_direct", "direct_4096", "direct_512"),
        ] {
            put_penalty(bench, &rounds, &passes, (name, whole, partial));
        }
        Ok(())
    }

    fn fio(&self, _target: &Target, _parameters: &Parameters) -> Result<FioJob, FioGap> {
        Err(FioGap::SeveralPoints)
    }
}

/// The response times of each pass.
struct Curves<'a>(&'a [Pass]);

impl PassHook for Curves<'_> {
    fn after(&mut self, findings: &mut Findings, turn: Turn, _: &Outcome, total: &Total) {
        put_times(findings, &self.0[turn.point].key, &total.latency);
    }
}

/// How many times as fast whole blocks are, by a comparison round by round.
fn put_penalty(
    bench: &mut Bench<'_>,
    rounds: &Rounds,
    passes: &[Pass],
    (name, whole, partial): (&str, &str, &str),
) {
    let point = |key: &str| passes.iter().position(|pass| pass.key == key);
    let (Some(whole), Some(partial)) = (point(whole), point(partial)) else {
        return;
    };
    let Some(penalty) = rounds.quotient(whole, partial) else {
        return;
    };
    bench.figure(penalty.figure(name));
    if penalty.may_be_one() {
        let labels = [whole, partial].map(|point| passes[point].label.as_str());
        bench.verdict(penalty.no_difference(
            ("no-significant-penalty", Severity::Note),
            labels,
            "IOPS",
        ));
    }
}

/// The response times of one pass as a curve.
fn put_times(findings: &mut Findings, key: &str, latency: &Latency) {
    if let Some(summary) = common::summary(latency) {
        findings.put_series(common::series(
            &format!("times-{}", key.replace('_', "-")),
            ("response time", Unit::Nanoseconds),
            ("share of writes", Unit::Ratio),
            summary.cumulative(),
        ));
    }
}

fn no_page_cache() -> Verdict {
    Verdict::new(
        "no-page-cache",
        Severity::Note,
        "a simulated drive has no page cache in front: the buffered pair is left out",
        "name a directory or a drive to see it",
    )
}

fn no_512e(target: &Target) -> Verdict {
    Verdict::new(
        "not-512e",
        Severity::Note,
        format!(
            "logical blocks of {} and physical blocks of {}: no write past the cache can be smaller \
             than a block of the medium, the direct pair is left out",
            units::block_size(f64::from(target.logical_block)),
            units::block_size(f64::from(target.physical_block)),
        ),
        "nothing to do: only drives with 512-byte logical and 4096-byte physical blocks have that \
         penalty",
    )
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, Fake, codes, value};
    use super::*;
    use crate::drive::random::scatter;

    /// A partial block costs five times as much.
    fn penalised() -> Fake<impl Fn(&fake::Asked<'_>) -> Option<u64> + Send + Sync> {
        Fake::new(|asked| {
            Some(if asked.bytes.is_multiple_of(PAGE) {
                100_000
            } else {
                500_000
            })
        })
    }

    #[test]
    fn the_penalty_of_partial_blocks_is_found() {
        let target = Target {
            kind: TargetKind::Scratch,
            ..fake::target(1 << 30)
        };
        let finished = fake::run(
            find("read-modify-write").unwrap(),
            &target,
            &[],
            &penalised(),
        );
        for name in ["penalty_buffered", "penalty_direct"] {
            assert!((value(&finished, name) / 5.0 - 1.0).abs() < 0.1, "{name}");
        }
        assert!(codes(&finished).is_empty());
        for (name, slowest) in [("times-direct-4096", 1e5), ("times-direct-512", 5e5)] {
            let [time, share] = *finished
                .findings
                .series(name)
                .unwrap()
                .points
                .last()
                .unwrap();
            assert!((time / slowest - 1.0).abs() < 0.1 && share == 1.0, "{name}");
        }
    }

    #[test]
    fn penalty_of_equal_writes_is_not_significant() {
        let target = Target {
            kind: TargetKind::Scratch,
            ..fake::target(1 << 30)
        };
        let covered = (0..20_u64)
            .filter(|seed| {
                // An execution is up to a third faster or slower as a whole.
                let fake = Fake::new(|asked: &fake::Asked<'_>| {
                    let word = scatter(asked.plan.seed ^ u64::from(asked.bytes) << 20);
                    Some(100_000 + word % 50_000)
                });
                let set = [("seed", &*seed.to_string()), ("requests", "4000")];
                let test = find("read-modify-write").unwrap();
                let finished = fake::run(test, &target, &set, &fake);
                let penalty = finished.findings.figure("penalty_direct").unwrap();
                let covers = penalty.low <= Some(1.0) && penalty.high >= Some(1.0);
                assert!(!covers || codes(&finished).contains(&"no-significant-penalty"));
                covers
            })
            .count();
        assert!(covered >= 17, "{covered} of 20");
    }

    #[test]
    fn without_512e_only_the_buffered_pair_is_left() {
        let target = Target {
            kind: TargetKind::Scratch,
            logical_block: 4096,
            ..fake::target(1 << 30)
        };
        let finished = fake::run(
            find("read-modify-write").unwrap(),
            &target,
            &[],
            &penalised(),
        );
        assert_eq!(codes(&finished), ["not-512e"]);
        assert!(finished.findings.figure("penalty_direct").is_none());
        value(&finished, "penalty_buffered");
    }

    #[test]
    fn limits_hold_for_the_whole_test() {
        let fake = penalised();
        let target = Target {
            kind: TargetKind::Scratch,
            ..fake::target(1 << 30)
        };
        fake::run(
            find("read-modify-write").unwrap(),
            &target,
            &[("requests", "1000")],
            &fake,
        );
        let plans = fake.plans.lock().unwrap();
        assert_eq!(
            plans
                .iter()
                .filter_map(|plan| plan.limits.requests)
                .sum::<u64>(),
            1000
        );
    }
}
