//! Seek distances between successive requests.

use std::collections::HashMap;

use super::DeviceNumber;
use super::request::TracedRequest;

/// The seek distance of each request in bytes: from the end of the request that was issued to the
/// same device before it to its first sector; 0 is sequential, negative is backwards (btt(1), "seek
/// distance" of D). `None` for the first request, for one that was not issued or whose issue was not
/// traced, and for one without data.
#[must_use]
pub fn seek_distances<'a>(requests: impl Iterator<Item = &'a TracedRequest>) -> Vec<Option<i64>> {
    let requests: Vec<&TracedRequest> = requests.collect();
    let mut by_issue: Vec<(u64, usize)> = requests
        .iter()
        .enumerate()
        .filter(|(_, request)| request.bytes > 0)
        .filter_map(|(index, request)| Some((request.timestamps.issued?, index)))
        .collect();
    by_issue.sort_unstable();
    let mut ends: HashMap<DeviceNumber, i128> = HashMap::new();
    let mut distances = vec![None; requests.len()];
    for (_, index) in by_issue {
        let request = requests[index];
        let start = i128::from(request.sector) * 512;
        let end = start + i128::from(request.bytes);
        if let Some(previous) = ends.insert(request.device, end) {
            distances[index] = i64::try_from(start - previous).ok();
        }
    }
    distances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::requests::RequestTimestamps;

    fn request(sector: u64, issued: Option<u64>) -> TracedRequest {
        TracedRequest {
            sector,
            timestamps: RequestTimestamps {
                issued,
                completed: 100,
                ..RequestTimestamps::default()
            },
            ..TracedRequest::block_read()
        }
    }

    #[test]
    fn seek_distance_is_from_the_end_of_the_request_issued_before() {
        // Listed in the order of completion, which differs from that of issue.
        let flush = TracedRequest {
            bytes: 0,
            ..request(0, Some(15))
        };
        let other_device = TracedRequest {
            device: (8, 16),
            ..request(999, Some(12))
        };
        let requests = [
            request(16, Some(20)),
            request(0, Some(10)),
            request(8, Some(30)),
            request(8, None),
            flush,
            other_device,
        ];
        assert_eq!(
            seek_distances(requests.iter()),
            [Some(4096), None, Some(-8192), None, None, None]
        );
    }
}
