//! The optimal queue depth of a drive.

/// Measurement at one queue depth.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DepthStep {
    /// Queue depth: requests kept in flight.
    pub depth: u32,
    /// Requests per second.
    pub iops: f64,
    /// 90th percentile of the latency in nanoseconds.
    pub p90_ns: f64,
}

/// The score of a step, 0 to 1: `1 / (alpha/T + (1 - alpha)/L)` with T the throughput and L the
/// reciprocal of p90, each as a fraction of the best of the sweep: its highest IOPS and its lowest
/// p90 in nanoseconds. It is their weighted harmonic mean, with the weight `alpha` (0 to 1) for
/// throughput and the rest for latency.
pub fn depth_score(step: &DepthStep, (most, least_ns): (f64, f64), alpha: f64) -> f64 {
    let (throughput, promptness) = (step.iops / most, least_ns / step.p90_ns);
    1.0 / (alpha / throughput + (1.0 - alpha) / promptness)
}

/// The knee: the step beyond which a deeper queue yields little more throughput. It is the point of
/// the curve that lies furthest above the line from its first to its highest point, on a
/// logarithmic depth axis (Satopaa, Albrecht, Irwin, Raghavan: "Finding a 'Kneedle' in a Haystack",
/// 2011). `None` where the curve has no knee.
pub fn knee_index(steps: &[DepthStep]) -> Option<usize> {
    let top =
        (0..steps.len()).max_by(|one, other| steps[*one].iops.total_cmp(&steps[*other].iops))?;
    let (first, last) = (steps.first()?, &steps[top]);
    let doublings = |step: &DepthStep| f64::from(step.depth).log2();
    let (width, height) = (doublings(last) - doublings(first), last.iops - first.iops);
    if width <= 0.0 || height <= 0.0 {
        return None;
    }
    let above = |index: &usize| {
        let step = &steps[*index];
        (step.iops - first.iops) / height - (doublings(step) - doublings(first)) / width
    };
    (0..=top)
        .max_by(|one, other| above(one).total_cmp(&above(other)))
        .filter(|index| above(index) > 0.05)
}

/// Upper bound of the mean number of requests in flight while the queue was kept full, from
/// `requests` of mean latency `mean_ns` and at most `max_ns` over a run of `elapsed_ns`.
///
/// Little's law over the whole run also counts its end, when no request follows and the queue drains.
/// That lasts at most as long as the slowest request. The bound attributes a full queue of `depth`
/// requests to that time. In a run that is short compared with its latency it is no restriction.
pub fn max_mean_in_flight(
    requests: u64,
    (mean_ns, max_ns): (f64, f64),
    elapsed_ns: f64,
    depth: f64,
) -> f64 {
    (requests as f64 * mean_ns + depth * max_ns.min(elapsed_ns)) / elapsed_ns
}

/// Mean number of requests in flight: rate times mean latency (Little, "A Proof for the Queuing
/// Formula L = lambda W", Operations Research 9 (1961)).
pub fn mean_in_flight(iops: f64, mean_ns: f64) -> f64 {
    iops * mean_ns / 1e9
}

/// Whether the drive is saturated: two consecutive doublings of the depth gained less than 2 %
/// each, and latencies grew.
pub fn is_saturated(steps: &[DepthStep]) -> bool {
    let [.., one, two, three] = steps else {
        return false;
    };
    let futile = |before: &DepthStep, after: &DepthStep| {
        after.iops < before.iops * 1.02 && after.p90_ns > before.p90_ns * 1.2
    };
    futile(one, two) && futile(two, three)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn depth_scores(steps: &[DepthStep], alpha: f64) -> Vec<f64> {
        let most = steps.iter().map(|step| step.iops).fold(0.0, f64::max);
        let least = steps.iter().map(|step| step.p90_ns);
        let best = (most, least.fold(f64::INFINITY, f64::min));
        let score = |step| depth_score(step, best, alpha);
        steps.iter().map(score).collect()
    }

    /// A drive that serves `parallel` requests at once, each in `service_ns`.
    fn simulated_sweep(parallel: f64, service_ns: f64) -> Vec<DepthStep> {
        (0..9)
            .map(|power| {
                let depth = 1_u32 << power;
                let waves = (f64::from(depth) / parallel).max(1.0);
                DepthStep {
                    depth,
                    iops: f64::from(depth).min(parallel) / service_ns * 1e9,
                    p90_ns: service_ns * waves,
                }
            })
            .collect()
    }

    #[test]
    fn depth_score_is_highest_at_drive_parallelism() {
        let steps = simulated_sweep(32.0, 1e5);
        let scores = depth_scores(&steps, 0.8);
        let best = (0..9).max_by(|one, other| scores[*one].total_cmp(&scores[*other]));
        assert_eq!(best, Some(5));
        assert!((scores[5] - 1.0).abs() < 1e-12);
        // On this drive IOPS double until depth 32: the knee is there or next to it.
        assert_eq!(steps[knee_index(&steps).unwrap_or(5)].depth, 32);
    }

    #[test]
    fn depth_score_alpha_weights_throughput() {
        let steps = [
            DepthStep {
                depth: 1,
                iops: 100.0,
                p90_ns: 1e6,
            },
            DepthStep {
                depth: 8,
                iops: 200.0,
                p90_ns: 4e6,
            },
        ];
        let busy = depth_scores(&steps, 0.9);
        assert!(busy[1] > busy[0], "{busy:?}");
        let prompt = depth_scores(&steps, 0.1);
        assert!(prompt[0] > prompt[1], "{prompt:?}");
    }

    #[test]
    fn depth_knee_of_flattening_curve_is_found() {
        let iops = [100.0, 190.0, 340.0, 380.0, 390.0, 395.0];
        let steps: Vec<DepthStep> = iops
            .iter()
            .enumerate()
            .map(|(power, iops)| DepthStep {
                depth: 1 << power,
                iops: *iops,
                p90_ns: 1e6,
            })
            .collect();
        assert_eq!(knee_index(&steps), Some(2));
        assert_eq!(knee_index(&steps[..1]), None);
        assert_eq!(knee_index(&[]), None);
    }

    #[test]
    fn depth_sweep_is_saturated_without_further_gain() {
        let steps = simulated_sweep(4.0, 1e5);
        assert!(!is_saturated(&steps[..4]));
        assert!(is_saturated(&steps[..5]));
    }

    #[test]
    fn littles_law() {
        assert!((mean_in_flight(10_000.0, 800_000.0) - 8.0).abs() < 1e-12);
        // 128 requests in flight for four rounds of 50 ms: a fifth of the time is the drain.
        let bound = max_mean_in_flight(512, (50e6, 50e6), 250e6, 128.0);
        assert!((bound - 128.0).abs() < 1e-9, "{bound}");
        // Half of the queue is used, for a long time.
        let bound = max_mean_in_flight(640_000, (1e6, 2e6), 10e9, 128.0);
        assert!(bound < 65.0, "{bound}");
    }

    proptest! {
        #[test]
        fn depth_scores_lie_between_zero_and_one(
            values in prop::collection::vec((1.0..1e6_f64, 1.0..1e9_f64), 1..9), alpha in 0.0..=1.0_f64,
        ) {
            let steps: Vec<DepthStep> = values
                .iter()
                .enumerate()
                .map(|(power, (iops, p90_ns))| DepthStep { depth: 1 << power, iops: *iops, p90_ns: *p90_ns })
                .collect();
            for score in depth_scores(&steps, alpha) {
                prop_assert!(score > 0.0 && score <= 1.0 + 1e-12);
            }
        }
    }
}
