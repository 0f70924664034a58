//! Response time as access time plus transfer time: the effect of the block size, and the optimal
//! node size of a tree on the drive.

/// Minimum transfer time of the largest request as a fraction of the access time: a smaller slope
/// is noise.
const MIN_GROWTH: f64 = 0.05;

/// Mean response time of a drive at depth 1: `access + size / rate`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResponseModel {
    /// Time until the first byte, in nanoseconds.
    pub access_ns: f64,
    /// Throughput of the medium in bytes per second.
    pub bytes_per_second: f64,
}

impl ResponseModel {
    /// Fits `[bytes, nanoseconds]` by the line with the least squared relative errors, so that
    /// sizes that differ by a factor of a thousand have equal weight. `None` for fewer than three
    /// sizes, or when larger requests are not slower.
    pub fn fit(points: &[[f64; 2]]) -> Option<Self> {
        let usable = |point: &&[f64; 2]| point[0] > 0.0 && point[1] > 0.0;
        let points: Vec<_> = points.iter().filter(usable).collect();
        if points.len() < 3 {
            return None;
        }
        let sum = |term: fn(f64, f64) -> f64| {
            points
                .iter()
                .map(|point| term(point[0], point[1]) / (point[1] * point[1]))
                .sum::<f64>()
        };
        let (w, x, y) = (sum(|_, _| 1.0), sum(|x, _| x), sum(|_, y| y));
        let (xx, xy) = (sum(|x, _| x * x), sum(|x, y| x * y));
        let determinant = w * xx - x * x;
        let slope = (w * xy - x * y) / determinant;
        let access_ns = (y - slope * x) / w;
        let largest = points.iter().map(|point| point[0]).fold(0.0, f64::max);
        let grows = slope * largest > MIN_GROWTH * access_ns;
        let sensible = determinant > 0.0 && grows && access_ns > 0.0;
        sensible.then_some(Self {
            access_ns,
            bytes_per_second: 1e9 / slope,
        })
    }

    /// Response time of a request of that many bytes, in nanoseconds.
    pub fn response_ns(&self, bytes: f64) -> f64 {
        self.access_ns + bytes / self.bytes_per_second * 1e9
    }

    /// The size at which access time equals transfer time, in bytes.
    pub fn balanced_bytes(&self) -> f64 {
        self.access_ns / 1e9 * self.bytes_per_second
    }

    /// The optimal node of a B-tree whose entries are a key and two pointers (`pointer` and `key`
    /// in bytes), with `entries` of them, read one node at a time.
    ///
    /// A lookup reads ln N / ln k nodes of k entries. Its time is minimal where k (ln k - 1) = a, a
    /// = access * rate / entry, so k = a / W(a/e) with W the Lambert function (Corless, Gonnet,
    /// Hare, Jeffrey, Knuth: "On the Lambert W Function", 1996).
    pub fn best_btree_node(&self, key: f64, pointer: f64, entries: f64) -> BtreeNode {
        let entry = 2.0 * pointer + key;
        let a = self.balanced_bytes() / entry;
        // A tree needs nodes of at least two entries.
        let fanout = (a / lambert_w(a / std::f64::consts::E)).max(2.0);
        let bytes = fanout * entry;
        BtreeNode {
            fanout,
            node_bytes: bytes,
            lookup_ns: entries.ln() / fanout.ln() * self.response_ns(bytes),
        }
    }
}

/// The optimal B-tree node for a drive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BtreeNode {
    /// Entries per node.
    pub fanout: f64,
    /// Node size in bytes.
    pub node_bytes: f64,
    /// Time of a lookup in nanoseconds.
    pub lookup_ns: f64,
}

/// The principal branch of Lambert's W for arguments above 0: `W(x) exp(W(x)) = x`, by Halley's
/// method.
pub fn lambert_w(x: f64) -> f64 {
    let mut w = (1.0 + x).ln();
    for _ in 0..32 {
        let error = w * w.exp() - x;
        let step = error / (w.exp() * (w + 1.0) - (w + 2.0) * error / (2.0 * w + 2.0));
        w -= step;
        if step.abs() <= 1e-12 * (1.0 + w.abs()) {
            break;
        }
    }
    w
}

/// Where two curves over the same ascending x cross for the first time, interpolated between
/// neighbours on the logarithm of x. The points are `[x, one, other]`.
pub fn crossing_point(points: &[[f64; 3]]) -> Option<f64> {
    points.windows(2).find_map(|pair| {
        let (left, right) = (pair[0][1] - pair[0][2], pair[1][1] - pair[1][2]);
        let crosses = left != right && (left <= 0.0) != (right <= 0.0);
        crosses.then(|| {
            let share = left / (left - right);
            let (from, to) = (pair[0][0].ln(), pair[1][0].ln());
            (from + share * (to - from)).exp()
        })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DISK: ResponseModel = ResponseModel {
        access_ns: 5e6,
        bytes_per_second: 150e6,
    };

    #[test]
    fn lambert_w_matches_known_values() {
        assert!((lambert_w(1.0) - 0.567_143_290_409_783_8).abs() < 1e-12);
        assert!((lambert_w(std::f64::consts::E) - 1.0).abs() < 1e-12);
        assert_eq!(lambert_w(0.0), 0.0);
    }

    #[test]
    fn btree_node_size_differs_between_disk_and_ssd() {
        let disk = DISK.best_btree_node(12.0, 8.0, 1e9);
        // Nodes of 107,492 and 9,044 bytes follow from W(x) ~ ln x - ln ln x; the optimum is flat.
        assert!((disk.node_bytes / 107_492.0 - 1.0).abs() < 0.05, "{disk:?}");
        let ssd = ResponseModel {
            access_ns: 1e5,
            bytes_per_second: 400e6,
        };
        let node = ssd.best_btree_node(12.0, 8.0, 1e9);
        assert!((node.node_bytes / 9044.0 - 1.0).abs() < 0.07, "{node:?}");
        assert!((node.lookup_ns / 0.44e6 - 1.0).abs() < 0.01, "{node:?}");
    }

    #[test]
    fn btree_node_has_minimal_lookup_time() {
        let best = DISK.best_btree_node(12.0, 8.0, 1e9);
        let lookup = |fanout: f64| 1e9_f64.ln() / fanout.ln() * DISK.response_ns(fanout * 28.0);
        assert!(lookup(best.fanout * 1.05) > best.lookup_ns);
        assert!(lookup(best.fanout * 0.95) > best.lookup_ns);
    }

    #[test]
    fn response_model_of_insufficient_data_is_none() {
        assert_eq!(ResponseModel::fit(&[[512.0, 1e5], [1024.0, 2e5]]), None);
        let faster_when_larger = [[512.0, 3e5], [1024.0, 2e5], [2048.0, 1e5]];
        assert_eq!(ResponseModel::fit(&faster_when_larger), None);
    }

    #[test]
    fn crossing_is_interpolated_between_points() {
        let points = [[1.0, 0.0, 1.0], [4.0, 1.0, 0.0]];
        assert!((crossing_point(&points).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(crossing_point(&[[1.0, 0.0, 1.0], [2.0, 0.5, 0.6]]), None);
    }

    proptest! {
        #[test]
        fn response_model_fit_recovers_parameters(
            access_ns in 1e3..1e7_f64, rate in 1e6..2e9_f64,
        ) {
            let model = ResponseModel { access_ns, bytes_per_second: rate };
            let points: Vec<_> = (9..25)
                .map(|power| f64::from(1_u32 << power))
                .map(|bytes| [bytes, model.response_ns(bytes)])
                .collect();
            let fitted = ResponseModel::fit(&points).unwrap();
            prop_assert!((fitted.access_ns / access_ns - 1.0).abs() < 1e-3);
            prop_assert!((fitted.bytes_per_second / rate - 1.0).abs() < 1e-3);
        }

        #[test]
        fn lambert_w_is_the_inverse(w in 1e-3..50.0_f64) {
            prop_assert!((lambert_w(w * w.exp()) / w - 1.0).abs() < 1e-9);
        }
    }
}
