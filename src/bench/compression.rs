//! Whether a drive compresses or deduplicates, which flatters every later figure.

use std::time::Duration;

use super::common::{self, place};
use super::passes::{self, Pass};
use super::{Bench, BenchError, Description, Forecast, Parameters, Test, Value};
use crate::drive::Target;
use crate::engine::{DataKind, Limits, Operation, Pattern, Plan};
use crate::session::document::{Severity, Table, Verdict};
use crate::units;

/// The same writes with random, zero and repeated data.
pub struct Compression;

/// A ratio beyond this is no noise.
const FLATTERED: f64 = 1.15;

static DESCRIPTION: Description = Description {
    name: "compression",
    aliases: &[],
    summary: "writes random, zero and repeated data: does the drive compress or deduplicate?",
    explanation: "\
Writes the same amount to the same place with random bytes, with zeros, with one random block over \
and over, and with random bytes once more. A drive or a storage system that compresses is faster \
with zeros, one that deduplicates with the repeated block.

Ratios near 1 are good news: what you measure with any data is what you get. Above 1.15 every \
figure that was measured with zeros or repeated data is flattered; this program writes random bytes \
unless --data says otherwise. The second random pass guards against a drive that simply \
changed its pace meanwhile.

It overwrites what is there: 256 MiB in each of 4 passes.",
    writes: true,
    parameters: &[
        common::BLOCK_SIZE.with_default(|_| Value::Bytes(1 << 20)),
        common::DEPTH.with_default(|_| Value::Count(4)),
        common::DURATION.with_default(|_| Value::Duration(Duration::from_secs(40))),
        common::BYTES.with_default(|target| Value::Bytes((1 << 30).min(target.size.saturating_mul(4)))),
        common::REQUESTS,
        common::WINDOW_BEGIN,
        common::WINDOW_END,
        common::SYNC,
        common::CACHE,
    ],
    charts: &[],
    headline: &["compression_ratio", "deduplication_ratio"],
};

fn whole_plan(target: &Target, parameters: &Parameters) -> Result<Plan, BenchError> {
    common::plan(target, parameters, Operation::Write, Pattern::Sequential)
}

impl Test for Compression {
    fn description(&self) -> &'static Description {
        &DESCRIPTION
    }

    fn forecast(&self, target: &Target, parameters: &Parameters) -> Result<Forecast, BenchError> {
        let plan = whole_plan(target, parameters)?;
        let amount = plan.limits.bytes.map_or_else(String::new, |bytes| {
            format!(", at most {}", common::written_share(bytes, target))
        });
        Ok(Forecast {
            sentence: format!(
                "writes random, zero, repeated and again random data to {}{amount}",
                place(target)
            ),
            duration: plan.limits.duration,
            reads: None,
            writes: plan.limits.bytes,
        })
    }

    fn run(&self, bench: &mut Bench<'_>) -> Result<(), BenchError> {
        let whole = whole_plan(bench.target, bench.parameters)?;
        let pass = |label: &str, key: &str, data| {
            let limits = Limits::default();
            Pass::new(
                label,
                key,
                Plan {
                    data,
                    limits,
                    ..whole.clone()
                },
            )
        };
        let passes = [
            pass("random data", "random", DataKind::Random),
            pass("zeros", "zero", DataKind::Zero),
            pass("one block repeated", "repeat", DataKind::Repeat),
            pass("random data again", "random_again", DataKind::Random),
        ];
        let rows = passes
            .each_ref()
            .map(|pass| (pass.label.as_str(), pass.key.as_str()));
        let columns = [("throughput", "throughput"), ("mean", "latency")];
        bench
            .findings
            .put_table(Table::crossed("Kinds of data", &columns, &rows));
        passes::all(bench, whole.limits, 1.0, &passes)?;
        conclude(bench);
        Ok(())
    }

    fn fio(&self, target: &Target, parameters: &Parameters) -> Option<String> {
        let plan = whole_plan(target, parameters).ok()?;
        Some(format!(
            "{} --buffer_compress_percentage=100",
            common::fio_command(&plan)
        ))
    }
}

fn conclude(bench: &mut Bench<'_>) {
    let findings = &mut bench.findings;
    let mut ratio = |name, of| passes::put_ratio(findings, name, of, "random_throughput");
    let zero = ratio("compression_ratio", "zero_throughput");
    let repeat = ratio("deduplication_ratio", "repeat_throughput");
    let drift = ratio("drift_ratio", "random_again_throughput");
    let (Some(zero), Some(repeat), Some(drift)) = (zero, repeat, drift) else {
        return;
    };
    // Whatever the drive's change of pace explains is no compression.
    let beyond_drift = FLATTERED * drift.max(1.0);
    let flattered = zero.max(repeat) > beyond_drift;
    let evidence = format!(
        "zeros are written {} times, a repeated block {} times as fast as random data",
        units::three_digits(zero),
        units::three_digits(repeat)
    );
    let verdict = if flattered {
        Verdict::new(
            "drive-compresses",
            Severity::Warning,
            evidence,
            "measure with random data only; figures of other programs that write zeros say nothing",
        )
    } else if drift.max(1.0 / drift) > FLATTERED {
        Verdict::new(
            "pace-changed",
            Severity::Warning,
            format!(
                "the same random data went {} times as fast the second time",
                units::three_digits(drift)
            ),
            "a cache filled up or somebody else used the drive: repeat it, longer and on a quiet \
             drive",
        )
    } else {
        Verdict::new(
            "no-compression",
            Severity::Note,
            evidence,
            "any data gives honest figures here",
        )
    };
    bench.verdict(verdict);
}

#[cfg(test)]
mod tests {
    use super::super::find;
    use super::super::tests::fake::{self, Fake, codes, value};
    use super::*;

    #[test]
    fn a_drive_that_compresses_is_found_out() {
        let fake = Fake::new(|asked| {
            Some(match asked.plan.data {
                DataKind::Zero => 100_000,
                _ => 300_000,
            })
        });
        let finished = fake::run(
            find("compression").unwrap(),
            &fake::target(1 << 30),
            &[],
            &fake,
        );
        assert!((value(&finished, "compression_ratio") - 3.0).abs() < 0.01);
        assert!((value(&finished, "deduplication_ratio") - 1.0).abs() < 0.01);
        assert_eq!(codes(&finished), ["drive-compresses"]);
    }

    #[test]
    fn an_honest_drive_is_told_so() {
        let fake = Fake::new(|_| Some(300_000));
        let finished = fake::run(
            find("compression").unwrap(),
            &fake::target(1 << 30),
            &[],
            &fake,
        );
        assert_eq!(codes(&finished), ["no-compression"]);
        let plans = fake.plans.lock().unwrap();
        assert_eq!(
            plans
                .iter()
                .filter_map(|plan| plan.limits.bytes)
                .sum::<u64>(),
            1 << 30
        );
    }

    #[test]
    fn a_cache_that_fills_up_is_no_compression() {
        let seen = std::sync::atomic::AtomicU64::new(0);
        let fake = Fake::new(move |asked| {
            let before =
                seen.fetch_add(u64::from(asked.bytes), std::sync::atomic::Ordering::Relaxed);
            Some(if before < 256 << 20 { 100_000 } else { 300_000 })
        });
        let finished = fake::run(
            find("compression").unwrap(),
            &fake::target(1 << 30),
            &[],
            &fake,
        );
        assert_eq!(codes(&finished), ["pace-changed"]);
    }
}
