//! The list of all benchmarks.

use super::basic::random::RandomWorkload;
use super::framework::benchmark::Benchmark;
use super::framework::operation::Operation;
use super::{basic, cache, contention, hdd, suites, sweeps};

/// All benchmarks, in listing order.
pub static BENCHMARKS: &[&dyn Benchmark] = &[
    &basic::sequential::SequentialBenchmark {
        operation: Operation::Read,
    },
    &basic::sequential::SequentialBenchmark {
        operation: Operation::Write,
    },
    &basic::random::RandomBenchmark {
        workload: RandomWorkload::Read,
    },
    &basic::random::RandomBenchmark {
        workload: RandomWorkload::Write,
    },
    &basic::random::RandomBenchmark {
        workload: RandomWorkload::Mixed,
    },
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
    &cache::write_sync_close::WriteSyncCloseBenchmark,
    &cache::read_modify_write::ReadModifyWriteCost,
    &sweeps::steady_state::SteadyStateBenchmark,
    &cache::read_ahead::ReadAheadSweep,
    &contention::reorder::ReorderBenchmark,
    &contention::interference::InterferenceBenchmark,
    &cache::compression::CompressionBenchmark,
    &cache::write_cache::WriteCacheBenchmark,
    &suites::quartet::QuartetSuite,
    &hdd::rotation::RotationSpeed,
    &hdd::full_stroke::FullStrokeSeek,
    &hdd::track_to_track::TrackToTrack,
    &hdd::seek_curve::SeekCurveBenchmark,
    &hdd::geometry::GeometryBenchmark,
    &suites::survey::SurveySuite,
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
