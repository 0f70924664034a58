use proptest::prelude::*;

use super::*;

/// A drive without randomness, 10 ms per revolution.
fn deterministic_disk() -> HardDiskSettings {
    HardDiskSettings {
        capacity: 8_000_000 * SECTOR_BYTES,
        rpm: 6000.0,
        heads: 2,
        cylinders: 4000,
        zones: 1,
        seek_jitter: 0.0,
        outlier_fraction: 0.0,
        ..HardDiskSettings::default()
    }
}

fn sector_read(sector: u64) -> SimRequest {
    SimRequest {
        address: sector * SECTOR_BYTES,
        bytes: 512,
        is_write: false,
    }
}

#[test]
fn simulated_disk_sector_half_track_ahead_takes_half_revolution() {
    let mut drive = HardDisk::new(deterministic_disk());
    // 1000 sectors on each track of 10 ms: sector 500 ends at 5.01 ms.
    assert_eq!(drive.serve(&sector_read(500), 0.0), 5.01e6);
}

#[test]
fn simulated_disk_platter_rotates_while_host_idles() {
    let mut drive = HardDisk::new(HardDiskSettings {
        read_ahead: 0,
        cache_segments: 0,
        ..deterministic_disk()
    });
    let first = drive.serve(&sector_read(500), 0.0);
    let second = drive.serve(&sector_read(500), first + 23.7e6);
    assert!((second - first - 30e6).abs() < 1.0, "{first} {second}");
}

#[test]
fn simulated_disk_cached_read_takes_command_time() {
    let mut drive = HardDisk::new(deterministic_disk());
    let first = drive.serve(&sector_read(500), 0.0);
    let again = drive.serve(&sector_read(500), first + 1e6) - first - 1e6;
    assert!((again - 120e3 - 512.0 / 0.55).abs() < 1.0, "{again}");
}

#[test]
fn simulated_disk_prefetches_after_read() {
    let mut drive = HardDisk::new(deterministic_disk());
    let first = drive.serve(&sector_read(100), 0.0);
    // 2 ms later 200 sectors have passed: sector +150 is prefetched, sector +300 is not yet.
    let behind = drive.serve(&sector_read(250), first + 2e6);
    assert!(behind - first - 2e6 < 130e3);
    let ahead = drive.serve(&sector_read(400), behind);
    assert!((ahead - first - 3e6).abs() < 20e3, "{}", ahead - first);
}

#[test]
fn simulated_disk_sequential_stream_reaches_media_throughput() {
    let mut drive = HardDisk::new(deterministic_disk());
    let mut now = 0.0;
    for request in 0..100_u64 {
        let access = SimRequest {
            address: request * 128 * 1024,
            bytes: 128 * 1024,
            is_write: false,
        };
        now = drive.serve(&access, now);
    }
    let revolutions = 256.0 * 100.0 / 1000.0;
    let ideal = revolutions * 10e6;
    assert!(
        now > ideal && now < 1.25 * ideal,
        "{} ms, ideal {}",
        now / 1e6,
        ideal / 1e6
    );
}

#[test]
fn simulated_disk_seek_times_match_settings() {
    let settings = deterministic_disk();
    assert_eq!(settings.seek_time(0), 0.0);
    assert_eq!(settings.seek_time(1), 1.2e6);
    assert_eq!(settings.seek_time(3999), 18e6);
}

#[test]
fn simulated_disk_queue_prefers_earliest_sector() {
    let mut drive = HardDisk::new(deterministic_disk());
    let now = drive.serve(&sector_read(0), 0.0);
    let waiting =
        [sector_read(900), sector_read(4_000_000), sector_read(300)].map(|access| (access, now));
    assert_eq!(drive.choose_next(&waiting), Some(2));
    assert_eq!(drive.choose_next(&[]), None);
    let in_order = HardDisk::new(HardDiskSettings {
        ncq_depth: 1,
        ..deterministic_disk()
    });
    assert_eq!(in_order.choose_next(&waiting), Some(0));
}

/// Throughput of sequential requests of 1 MiB at a queue depth, as bytes per revolution over bytes
/// per track.
fn sequential_fraction(settings: HardDiskSettings, depth: usize, write: bool) -> f64 {
    const REQUEST_BYTES: u32 = 1 << 20;
    const COUNT: u64 = 200;
    let mut drive = HardDisk::new(settings);
    let request = |index: u64, at: f64| {
        let access = SimRequest {
            address: index * u64::from(REQUEST_BYTES),
            bytes: REQUEST_BYTES,
            is_write: write,
        };
        (access, at)
    };
    let mut waiting: Vec<_> = (0..depth as u64).map(|index| request(index, 0.0)).collect();
    let (mut next, mut now) = (depth as u64, 0.0);
    while !waiting.is_empty() {
        let chosen = drive.choose_next(&waiting).expect("some wait");
        let (access, at) = waiting.remove(chosen);
        now = drive.serve(&access, at);
        if next < COUNT {
            waiting.push(request(next, now));
            next += 1;
        }
    }
    let track = f64::from(drive.geometry().zones()[0].sectors_per_track) * SECTOR_BYTES as f64;
    let ideal =
        COUNT as f64 * f64::from(REQUEST_BYTES) / track * drive.settings().revolution_time();
    ideal / now
}

#[test]
fn simulated_disk_sequential_at_any_depth_reaches_media_throughput() {
    for depth in [1, 2, 4, 8, 32] {
        let share = sequential_fraction(deterministic_disk(), depth, false);
        assert!(
            (0.7..=1.0).contains(&share),
            "reads at depth {depth}: {share}"
        );
        // At depth 1 the platter rotates on while the next write is submitted.
        let share = sequential_fraction(deterministic_disk(), depth, true);
        assert!(
            depth == 1 || (0.7..=1.0).contains(&share),
            "writes at depth {depth}: {share}"
        );
    }
}

#[test]
fn simulated_disk_long_stream_exceeds_cache() {
    let mut drive = HardDisk::new(deterministic_disk());
    let read = |index: u64| SimRequest {
        address: index << 20,
        bytes: 1 << 20,
        is_write: false,
    };
    let mut now = 0.0;
    let first = (0..64).map(|index| {
        now = drive.serve(&read(index), now);
        now
    });
    let first = first.last().expect("64 reads");
    let again = (0..64).fold(first, |now, index| drive.serve(&read(index), now));
    assert!(again > 1.9 * first, "{first} {again}");
}

#[test]
fn simulated_disk_write_cache_is_fast_until_full() {
    let mut drive = HardDisk::new(HardDiskSettings {
        write_cache: 1 << 20,
        ..deterministic_disk()
    });
    let write = |address: u64| SimRequest {
        address,
        bytes: 512 << 10,
        is_write: true,
    };
    let first = drive.serve(&write(0), 0.0);
    let second = drive.serve(&write(1 << 30), first);
    let third = drive.serve(&write(2 << 30), second) - second;
    assert!(second < 3e6, "{second}");
    assert!(third > 5e6, "{third}");
}

proptest! {
    #[test]
    fn simulated_disk_time_is_monotonic_and_sector_angle_is_constant(
        sectors in prop::collection::vec((0..7_900_000_u64, 0.0..5e6_f64), 2..40),
    ) {
        let mut drive = HardDisk::new(HardDiskSettings { read_ahead: 0, cache_segments: 0, ..deterministic_disk() });
        let mut now = 0.0;
        for (sector, pause) in sectors {
            let begin = now + pause;
            now = drive.serve(&sector_read(sector), begin);
            prop_assert!(now >= begin + 120e3);
            let angle = (now / 10e6).fract();
            let location = drive.geometry().locate(sector);
            let expected = (location.angle + 1.0 / f64::from(location.sectors_per_track)).fract();
            let miss = crate::stats::rotation::circular::signed_turns(angle - expected);
            prop_assert!(miss.abs() < 1e-6, "{miss}");
        }
    }
}
