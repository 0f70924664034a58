//! The list of all benchmarks.

use super::framework::benchmark::Benchmark;
use super::framework::operation::Operation;
use super::{basic, cache, contention, hdd, suites, sweeps};
use crate::text;

/// All benchmarks, in listing order: group by group.
pub static BENCHMARKS: &[&dyn Benchmark] = &[
    &suites::survey::SurveySuite,
    &suites::quartet::QuartetSuite,
    &basic::sequential::SequentialBenchmark {
        operation: Operation::Read,
    },
    &basic::sequential::SequentialBenchmark {
        operation: Operation::Write,
    },
    &basic::random::RandomBenchmark::Read,
    &basic::random::RandomBenchmark::Write,
    &basic::random::RandomBenchmark::Mixed,
    &contention::interference::InterferenceBenchmark,
    &cache::compression::CompressionBenchmark,
    &cache::read_modify_write::ReadModifyWriteCost,
    &sweeps::steady_state::SteadyStateBenchmark,
    &sweeps::concurrency::ConcurrencyBenchmark {
        operation: Operation::Read,
    },
    &sweeps::concurrency::ConcurrencyBenchmark {
        operation: Operation::Write,
    },
    &sweeps::block_size::BlockSizeBenchmark {
        operation: Operation::Read,
    },
    &sweeps::block_size::BlockSizeBenchmark {
        operation: Operation::Write,
    },
    &cache::read_ahead::ReadAheadSweep,
    &cache::write_sync_close::WriteSyncCloseBenchmark,
    &cache::write_cache::WriteCacheBenchmark,
    &hdd::ROTATION,
    &hdd::FULL_STROKE,
    &hdd::TRACK_TO_TRACK,
    &hdd::SEEK_CURVE,
    &hdd::GEOMETRY,
    &contention::reorder::ReorderBenchmark,
];

/// Looks up a benchmark by name or alias.
#[must_use]
pub fn find_benchmark(name: &str) -> Option<&'static dyn Benchmark> {
    let known = |test: &&&'static dyn Benchmark| {
        let description = test.description();
        description.name == name || description.aliases.contains(&name)
    };
    BENCHMARKS.iter().find(known).copied()
}

/// The known benchmark whose name or alias is nearest to a misspelt one, as `, did you mean ...?`;
/// empty if none is similar enough.
#[must_use]
pub fn suggest_benchmark(name: &str) -> String {
    let names = BENCHMARKS.iter().flat_map(|benchmark| {
        let description = benchmark.description();
        std::iter::once(description.name).chain(description.aliases.iter().copied())
    });
    text::suggestion(name, names)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn benchmarks_are_listed_by_group() {
        let groups: Vec<_> = BENCHMARKS.iter().map(|it| it.description().group).collect();
        assert!(groups.is_sorted(), "{groups:?}");
        assert_eq!(BENCHMARKS[0].description().name, "survey");
    }

    #[test]
    fn benchmark_names_and_aliases_are_unique() {
        let mut seen = HashSet::new();
        for benchmark in BENCHMARKS {
            let description = benchmark.description();
            for name in description.aliases.iter().chain([&description.name]) {
                assert!(seen.insert(*name), "{name} twice");
                assert!(!name.is_empty());
            }
        }
    }

    #[test]
    fn usual_names_of_workloads_find_their_benchmark() {
        for (alias, name) in [
            ("randread", "random-read"),
            ("randwrite", "random-write"),
            ("randrw", "mixed"),
            ("read", "sequential-read"),
            ("write", "sequential-write"),
            ("diskmark", "quartet"),
            ("qd-sweep", "concurrency-read"),
            ("bs-sweep", "block-size-read"),
            ("noisy-neighbor", "interference"),
        ] {
            let found = find_benchmark(alias).map(|it| it.description().name);
            assert_eq!(found, Some(name), "{alias}");
        }
        assert_eq!(suggest_benchmark("randrad"), ", did you mean randread?");
        assert_eq!(suggest_benchmark("colour"), "");
    }
}
