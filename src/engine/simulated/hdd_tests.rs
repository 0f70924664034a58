use super::*;
use proptest::prelude::*;

/// A drive without anything random, 10 ms a revolution.
fn exact() -> Settings {
    Settings {
        capacity: 8_000_000 * SECTOR,
        rpm: 6000.0,
        heads: 2,
        cylinders: 4000,
        zones: 1,
        jitter: 0.0,
        outliers: 0.0,
        ..Settings::default()
    }
}

fn read(sector: u64) -> Access {
    Access {
        address: sector * SECTOR,
        bytes: 512,
        write: false,
    }
}

fn time(answer: Answer) -> f64 {
    match answer {
        Answer::Done(at) => at,
        Answer::Failed(at) => panic!("failed at {at}"),
    }
}

#[test]
fn a_sector_half_a_track_on_comes_after_half_a_revolution() {
    let mut drive = Hdd::new(exact());
    // 1000 sectors on each track of 10 ms: sector 500 ends at 5.01 ms.
    assert_eq!(time(drive.serve(&read(500), 0.0)), 5.01e6);
}

#[test]
fn the_platter_turns_while_the_host_waits() {
    let mut drive = Hdd::new(Settings {
        read_ahead: 0,
        segments: 0,
        ..exact()
    });
    let first = time(drive.serve(&read(500), 0.0));
    let second = time(drive.serve(&read(500), first + 23.7e6));
    assert!((second - first - 30e6).abs() < 1.0, "{first} {second}");
}

#[test]
fn what_was_read_is_answered_by_the_cache_in_command_time() {
    let mut drive = Hdd::new(exact());
    let first = time(drive.serve(&read(500), 0.0));
    let again = time(drive.serve(&read(500), first + 1e6)) - first - 1e6;
    assert!((again - 120e3 - 512.0 / 0.55).abs() < 1.0, "{again}");
}

#[test]
fn the_drive_reads_on_by_itself() {
    let mut drive = Hdd::new(exact());
    let first = time(drive.serve(&read(100), 0.0));
    // 2 ms later 200 sectors have passed: 150 on it is there, 300 on it is still to come.
    let behind = time(drive.serve(&read(250), first + 2e6));
    assert!(behind - first - 2e6 < 130e3);
    let ahead = time(drive.serve(&read(400), behind));
    assert!((ahead - first - 3e6).abs() < 20e3, "{}", ahead - first);
}

#[test]
fn a_sequential_stream_runs_at_the_speed_of_the_medium() {
    let mut drive = Hdd::new(exact());
    let mut now = 0.0;
    for request in 0..100_u64 {
        let access = Access {
            address: request * 128 * 1024,
            bytes: 128 * 1024,
            write: false,
        };
        now = time(drive.serve(&access, now));
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
fn seeks_take_what_the_settings_say() {
    let settings = exact();
    assert_eq!(settings.seek(0), 0.0);
    assert_eq!(settings.seek(1), 1.2e6);
    assert_eq!(settings.seek(3999), 18e6);
}

#[test]
fn the_queue_prefers_what_comes_first() {
    let mut drive = Hdd::new(exact());
    let now = time(drive.serve(&read(0), 0.0));
    let waiting = [read(900), read(4_000_000), read(300)].map(|access| (access, now));
    assert_eq!(drive.choose(&waiting), Some(2));
    assert_eq!(drive.choose(&[]), None);
    let in_order = Hdd::new(Settings { ncq: 1, ..exact() });
    assert_eq!(in_order.choose(&waiting), Some(0));
}

/// Sequential requests of 1 MiB, so many at a time: bytes per revolution over those of a track.
fn sequential_share(settings: Settings, depth: usize, write: bool) -> f64 {
    const BYTES: u32 = 1 << 20;
    const COUNT: u64 = 200;
    let mut drive = Hdd::new(settings);
    let request = |index: u64, at: f64| {
        let access = Access {
            address: index * u64::from(BYTES),
            bytes: BYTES,
            write,
        };
        (access, at)
    };
    let mut waiting: Vec<_> = (0..depth as u64).map(|index| request(index, 0.0)).collect();
    let (mut next, mut now) = (depth as u64, 0.0);
    while !waiting.is_empty() {
        let chosen = drive.choose(&waiting).expect("some wait");
        let (access, at) = waiting.remove(chosen);
        now = time(drive.serve(&access, at));
        if next < COUNT {
            waiting.push(request(next, now));
            next += 1;
        }
    }
    let track = f64::from(drive.geometry().zones()[0].sectors_per_track) * SECTOR as f64;
    let ideal = COUNT as f64 * f64::from(BYTES) / track * drive.settings().revolution();
    ideal / now
}

#[test]
fn sequential_requests_at_any_depth_run_at_the_speed_of_the_medium() {
    for depth in [1, 2, 4, 8, 32] {
        let share = sequential_share(exact(), depth, false);
        assert!(
            (0.7..=1.0).contains(&share),
            "reads at depth {depth}: {share}"
        );
        // At depth 1 the platter turns on while the next write is on its way.
        let share = sequential_share(exact(), depth, true);
        assert!(
            depth == 1 || (0.7..=1.0).contains(&share),
            "writes at depth {depth}: {share}"
        );
    }
}

#[test]
fn a_long_stream_is_not_all_in_the_cache() {
    let mut drive = Hdd::new(exact());
    let read = |index: u64| Access {
        address: index << 20,
        bytes: 1 << 20,
        write: false,
    };
    let mut now = 0.0;
    let first = (0..64).map(|index| {
        now = time(drive.serve(&read(index), now));
        now
    });
    let first = first.last().expect("64 reads");
    let again = (0..64).fold(first, |now, index| time(drive.serve(&read(index), now)));
    assert!(again > 1.9 * first, "{first} {again}");
}

#[test]
fn the_failing_range_fails() {
    let mut drive = Hdd::new(Settings {
        failing: 51_200..102_400,
        ..exact()
    });
    assert!(matches!(drive.serve(&read(99), 0.0), Answer::Done(_)));
    assert!(matches!(drive.serve(&read(100), 0.0), Answer::Failed(_)));
    assert!(matches!(drive.serve(&read(200), 0.0), Answer::Done(_)));
}

#[test]
fn a_write_cache_answers_at_once_until_it_is_full() {
    let mut drive = Hdd::new(Settings {
        write_cache: 1 << 20,
        ..exact()
    });
    let write = |address: u64| Access {
        address,
        bytes: 512 << 10,
        write: true,
    };
    let first = time(drive.serve(&write(0), 0.0));
    let second = time(drive.serve(&write(1 << 30), first));
    let third = time(drive.serve(&write(2 << 30), second)) - second;
    assert!(second < 3e6, "{second}");
    assert!(third > 5e6, "{third}");
    assert!(drive.flush(second) > second + 10e6);
}

proptest! {
    #[test]
    fn time_never_runs_backwards_and_the_same_sector_keeps_its_angle(
        sectors in prop::collection::vec((0..7_900_000_u64, 0.0..5e6_f64), 2..40),
    ) {
        let mut drive = Hdd::new(Settings { read_ahead: 0, segments: 0, ..exact() });
        let mut now = 0.0;
        for (sector, pause) in sectors {
            let begin = now + pause;
            now = time(drive.serve(&read(sector), begin));
            prop_assert!(now >= begin + 120e3);
            let angle = (now / 10e6).fract();
            let place = drive.geometry().place(sector);
            let expected = (place.angle + 1.0 / f64::from(place.sectors_per_track)).fract();
            let miss = crate::stats::circular::signed(angle - expected);
            prop_assert!(miss.abs() < 1e-6, "{miss}");
        }
    }
}
