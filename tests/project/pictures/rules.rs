//! What has to hold between the numbers of one screen, whatever was measured.

/// Headings of the table of devices, from left to right.
const DEVICE_COLUMNS: [&str; 9] = [
    "r/s",
    "w/s",
    "rMB/s",
    "wMB/s",
    "r_await ms",
    "w_await ms",
    "aqu-sz",
    "areq-sz",
    "%util",
];
/// Relative tolerance for values of three digits, as a fraction of the larger one.
const TOLERANCE: f64 = 0.1;

/// Every contradiction on a screen.
pub fn contradictions(rows: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    check_devices(rows, &mut found);
    check_transfers(rows, &mut found);
    check_run(rows, &mut found);
    check_comparison(rows, &mut found);
    found
}

/// A number with its unit in units of the first of its kind; `None` for n/a, a dash or other text.
pub fn number(text: &str) -> Option<f64> {
    let text = text.trim().trim_end_matches('*').trim_start_matches('<');
    let split = text
        .find(|letter: char| letter.is_alphabetic())
        .unwrap_or(text.len());
    let digits: String = text[..split]
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let factor = match text[split..].split_whitespace().next().unwrap_or_default() {
        "" | "B" | "ms" | "B/s" => 1.0,
        "k" | "kB" | "kB/s" => 1e3,
        "M" | "MB" | "MB/s" => 1e6,
        "GB" | "GB/s" => 1e9,
        "TB" => 1e12,
        "KiB" => 1024.0,
        "MiB" => 1_048_576.0,
        "GiB" => 1_073_741_824.0,
        "us" => 1e-3,
        "s" => 1e3,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

/// The cells below right-aligned headings: each reaches from the end of the one before it.
fn cells(heading: &str, row: &str, names: &[&str]) -> Option<Vec<Option<f64>>> {
    let letters: Vec<char> = row.chars().collect();
    let mut start = None;
    let mut values = Vec::new();
    for name in names {
        let at = heading.find(name)?;
        let end = heading[..at].chars().count() + name.chars().count();
        let begin = start.unwrap_or(end.saturating_sub(7));
        let cell: String = letters.get(begin..end.min(letters.len()))?.iter().collect();
        values.push(number(&cell));
        start = Some(end);
    }
    Some(values)
}

fn agree(left: f64, right: f64, rounding: f64) -> bool {
    (left - right).abs() <= TOLERANCE * left.max(right) + rounding
}

fn check_devices(rows: &[String], found: &mut Vec<String>) {
    let Some(at) = rows.iter().position(|row| row.starts_with(" DEVICES")) else {
        return;
    };
    let heading = &rows[at];
    let mut read = 0.0;
    let devices = rows[at + 1..]
        .iter()
        .take_while(|row| !row.contains("TRANSFERS"));
    for row in devices.filter(|row| !row.trim_start().starts_with("total")) {
        let Some(values) = cells(heading, row, &DEVICE_COLUMNS) else {
            continue;
        };
        let value = |index: usize| values[index].unwrap_or(0.0);
        let requests = value(0) + value(1);
        // Partitions are counted with their drive.
        if !row.contains('└') && !row.contains('├') {
            read += value(2);
        }
        if let Some(queue) = values[6] {
            let by_little = (value(0) * value(4) + value(1) * value(5)) / 1e3;
            let rounding = 0.1 + 0.5e-3 * (value(4) + value(5));
            // Flushes are neither reads nor writes; the kernel sends one at a time (blk-flush.c).
            let with_flush = queue > by_little && agree(by_little, queue, rounding + 1.0);
            if !with_flush && !agree(by_little, queue, rounding) {
                found.push(format!(
                    "requests/s x await is {by_little:.2}, aqu-sz {queue}: {row}"
                ));
            }
        }
        if let (Some(size), true) = (values[7], requests > 0.0) {
            let mean = (value(2) + value(3)) * 1e6 / requests;
            // Sizes are whole units; rates have one digit after the point.
            let unit = if size >= 1_048_576.0 {
                1_048_576.0
            } else {
                1024.0
            };
            let rounding = 0.6 * unit + (0.1e6 + mean) / requests;
            if !agree(mean, size, rounding) {
                found.push(format!(
                    "bytes/s / requests/s is {mean:.0}, areq-sz {size:.0}: {row}"
                ));
            }
        }
        if value(8) > 102.0 {
            found.push(format!("%util above 100: {row}"));
        }
    }
    check_processes(rows, read, found);
}

/// What processes read from devices, the devices have read.
fn check_processes(rows: &[String], device_mb: f64, found: &mut Vec<String>) {
    let Some(at) = rows.iter().position(|row| row.starts_with(" PROCESSES")) else {
        return;
    };
    let heading = &rows[at];
    let rest = rows[at + 1..]
        .iter()
        .take_while(|row| !row.trim().is_empty());
    let reads = rest.filter_map(|row| cells(heading, row, &["rMB/s"])?.first().copied()?);
    let sum: f64 = reads.sum();
    // Both are means over intervals that begin at slightly different times.
    if sum > 1.5 * device_mb + 2.0 {
        found.push(format!(
            "processes read {sum:.1} MB/s, the devices {device_mb:.1}"
        ));
    }
}

fn check_transfers(rows: &[String], found: &mut Vec<String>) {
    let Some(at) = rows.iter().position(|row| row.starts_with(" TRANSFERS")) else {
        return;
    };
    let heading = &rows[at];
    for row in rows[at + 1..]
        .iter()
        .take_while(|row| !row.trim().is_empty())
    {
        let Some(values) = cells(heading, row, &["%", "done", "of"]) else {
            continue;
        };
        if let [Some(percent), Some(done), Some(size)] = values[..]
            && (100.0 * done / size - percent).abs() > 1.5
        {
            found.push(format!("{done} of {size} bytes is not {percent} %: {row}"));
        }
    }
}

/// The value after a label, up to two blanks.
fn labelled(rows: &[String], label: &str) -> Option<f64> {
    rows.iter().find_map(|row| {
        let (_, rest) = row.split_once(&format!(" {label} "))?;
        number(rest.trim_start().split("  ").next()?)
    })
}

/// A benchmark in progress or its result: its own rates, and those of the block layer below it.
fn check_run(rows: &[String], found: &mut Vec<String>) {
    let headline = rows.iter().find_map(|row| {
        let (before, after) = row.split_once(" IOPS   ")?;
        let iops = number(before.trim_end().rsplit("  ").next()?)?;
        Some((iops, number(after)?))
    });
    let measured =
        headline.or_else(|| Some((labelled(rows, "IOPS")?, labelled(rows, "throughput")?)));
    let Some((iops, bytes)) = measured.filter(|_| labelled(rows, "aqu-sz").is_some()) else {
        return;
    };
    let block = bytes / iops;
    let power = 2_f64.powf(block.log2().round());
    if (block / power - 1.0).abs() > 0.03 {
        found.push(format!("{bytes} B/s / {iops} IOPS is no block size"));
    }
    let (Some(mean), Some(queue)) = (
        labelled(rows, "mean").or_else(|| labelled(rows, "latency mean")),
        labelled(rows, "aqu-sz"),
    ) else {
        return;
    };
    let in_flight = iops * mean / 1e3;
    // Others may use the drive as well: the queue is then longer, never shorter. While requests
    // wait above the block layer, the queue is shorter by those.
    let reads = rows.iter().find_map(|row| {
        let (before, _) = row.split_once(" reads")?;
        number(before.split("Latency").nth(1)?)
    });
    let others = match (reads, labelled(rows, "requests")) {
        (Some(own), Some(all)) => all > 1.05 * own,
        _ => true,
    };
    let too_long = !others && queue > 1.5 * in_flight + 0.5;
    if in_flight > 1.5 * queue + 0.5 || too_long {
        found.push(format!(
            "{iops} IOPS x {mean} ms is {in_flight:.2}, aqu-sz {queue}"
        ));
    }
}

/// Two sessions compared: IOPS x mean latency is the queue depth that was reached.
fn check_comparison(rows: &[String], found: &mut Vec<String>) {
    let Some(at) = rows
        .iter()
        .position(|row| row.starts_with(" Metrics  ") && row.contains("95 % CI"))
    else {
        return;
    };
    let row = |label: &str| {
        let row = rows[at..]
            .iter()
            .find(|row| row.trim_start().starts_with(label))?;
        cells(&rows[at], row, &[" A", " B"])
    };
    let (Some(iops), Some(mean), Some(depth)) =
        (row("IOPS"), row("latency mean"), row("queue depth reached"))
    else {
        return;
    };
    for side in 0..2 {
        if let (Some(iops), Some(mean), Some(depth)) = (iops[side], mean[side], depth[side])
            && !agree(iops * mean / 1e3, depth, 0.02)
        {
            found.push(format!("{iops} IOPS x {mean} ms at queue depth {depth}"));
        }
    }
}
