//! Properties of request addresses.

use std::collections::{HashMap, HashSet};

use proptest::prelude::*;

use super::*;
use crate::engine::plan::Plan;

fn plan_of_pattern(pattern: AccessPattern, window: std::ops::Range<u64>) -> Plan {
    Plan::single_depth_reads(pattern, 4096, window)
}

fn first_addresses(plan: &Plan, worker: u32, count: u64) -> Vec<u64> {
    let schedule = RequestSchedule::new(plan, worker);
    (0..count)
        .filter_map(|number| schedule.request(number))
        .map(|job| job.offset)
        .collect()
}

fn any_pattern() -> impl Strategy<Value = AccessPattern> {
    prop_oneof![
        Just(AccessPattern::Sequential),
        Just(AccessPattern::Random),
        (0.1..2.5_f64).prop_map(|theta| AccessPattern::Zipf { theta }),
    ]
}

proptest! {
    #[test]
    fn request_addresses_are_aligned_and_inside_window(
        pattern in any_pattern(),
        start in 0_u64..1 << 40,
        blocks in 1_u64..5000,
        extra in 0_u64..4096,
        align_power in 9_u32..16,
        sizes in (1_u32..32, 0_u32..32),
        workers in 1_u32..5,
        seed: u64,
        number: u64,
    ) {
        let align = 1_u64 << align_power;
        let from = sizes.0 << align_power;
        let to = from + (sizes.1 << align_power);
        let window = start..start.next_multiple_of(align) + u64::from(to) * blocks + extra;
        let plan = Plan {
            block_size: BlockSize::Range(from, to),
            alignment: align,
            workers,
            seed,
            ..plan_of_pattern(pattern, window.clone())
        };
        let mut found = 0;
        for worker in 0..workers {
            if let Some(job) = RequestSchedule::new(&plan, worker).request(number) {
                prop_assert!(job.offset >= window.start);
                prop_assert!(job.offset + u64::from(job.length) <= window.end);
                prop_assert_eq!(job.offset % align, 0);
                prop_assert!((from..=to).contains(&job.length));
                prop_assert_eq!(u64::from(job.length) % align, 0);
                found += 1;
            }
        }
        prop_assert!(found > 0, "no worker has a request");
    }

    #[test]
    fn sequential_addresses_of_workers_have_no_gap_or_overlap(blocks in 1_u64..200, workers in 1_u32..9) {
        let plan = Plan { workers, ..plan_of_pattern(AccessPattern::Sequential, 0..blocks * 4096 + 7) };
        let all: Vec<u64> = (0..workers)
            .flat_map(|worker| {
                let pass = RequestSchedule::new(&plan, worker).requests_per_pass().unwrap();
                first_addresses(&plan, worker, pass)
            })
            .collect();
        prop_assert_eq!(all, (0..blocks).map(|block| block * 4096).collect::<Vec<_>>());
    }

    #[test]
    fn address_list_is_divided_among_workers(length in 0_usize..50, workers in 1_u32..9) {
        let list: Vec<u64> = (0..length as u64).map(|index| index * 4096).collect();
        let plan = Plan { workers, ..plan_of_pattern(AccessPattern::AddressList(list.clone().into()), 0..1 << 30) };
        let mut all = Vec::new();
        for worker in 0..workers {
            let pass = RequestSchedule::new(&plan, worker).requests_per_pass().unwrap();
            let mine = first_addresses(&plan, worker, pass + 3);
            prop_assert_eq!(mine.len() as u64, pass);
            all.extend(mine);
        }
        all.sort_unstable();
        prop_assert_eq!(all, list);
    }
}

#[test]
fn sequential_addresses_wrap_at_window_end() {
    let plan = plan_of_pattern(AccessPattern::Sequential, 4096..3 * 4096);
    assert_eq!(first_addresses(&plan, 0, 5), [4096, 8192, 4096, 8192, 4096]);
}

#[test]
fn random_addresses_are_uniform() {
    const BLOCKS: u64 = 64;
    const DRAWS: u64 = 64_000;
    let plan = plan_of_pattern(AccessPattern::Random, 0..BLOCKS * 4096);
    let mut counts = [0_f64; BLOCKS as usize];
    for address in first_addresses(&plan, 0, DRAWS) {
        counts[(address / 4096) as usize] += 1.0;
    }
    let expected = (DRAWS / BLOCKS) as f64;
    let statistic: f64 = counts
        .iter()
        .map(|count| (count - expected).powi(2) / expected)
        .sum();
    // 0.1 % and 99.9 % of chi-square with 63 degrees of freedom.
    assert!((33.9..103.4).contains(&statistic), "{statistic}");
}

#[test]
fn random_addresses_cover_every_block() {
    let plan = plan_of_pattern(AccessPattern::Random, 0..100 * 4096);
    let seen: HashSet<u64> = first_addresses(&plan, 0, 2000).into_iter().collect();
    assert_eq!(seen.len(), 100);
}

#[test]
fn random_addresses_depend_on_seed_and_worker() {
    let plan = plan_of_pattern(AccessPattern::Random, 0..1 << 40);
    assert_eq!(first_addresses(&plan, 0, 50), first_addresses(&plan, 0, 50));
    assert_ne!(first_addresses(&plan, 0, 50), first_addresses(&plan, 1, 50));
    let other = Plan {
        seed: 2,
        ..plan.clone()
    };
    assert_ne!(
        first_addresses(&plan, 0, 50),
        first_addresses(&other, 0, 50)
    );
}

#[test]
fn zipf_addresses_follow_distribution_and_are_scattered() {
    const BLOCKS: u64 = 1000;
    const DRAWS: u64 = 100_000;
    let plan = plan_of_pattern(AccessPattern::Zipf { theta: 1.0 }, 0..BLOCKS * 4096);
    let mut counts: HashMap<u64, u64> = HashMap::new();
    for address in first_addresses(&plan, 0, DRAWS) {
        *counts.entry(address / 4096).or_default() += 1;
    }
    let mut ranked: Vec<(u64, u64)> = counts.into_iter().collect();
    ranked.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let harmonic: f64 = (1..=BLOCKS).map(|rank| 1.0 / rank as f64).sum();
    for rank in 1..=5 {
        let expected = DRAWS as f64 / (rank as f64 * harmonic);
        let share = ranked[rank - 1].1 as f64 / expected;
        assert!((0.94..1.06).contains(&share), "rank {rank}: {share}");
    }
    assert!(ranked[0].0.abs_diff(ranked[1].0) > 100, "scattered");
}

#[test]
fn mixed_requests_keep_read_fraction() {
    let plan = Plan {
        operation: IoOperation::Mixed { reads: 0.7 },
        ..plan_of_pattern(AccessPattern::Random, 0..1 << 30)
    };
    let schedule = RequestSchedule::new(&plan, 0);
    let writes = (0..100_000)
        .filter_map(|number| schedule.request(number))
        .filter(|job| job.writes)
        .count();
    assert!((29_300..30_700).contains(&writes), "{writes}");
}
