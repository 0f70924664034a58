//! Processor time of the programs that a test has started.

/// User and system time of all children that were waited for, in microseconds.
pub fn children_cpu_us() -> f64 {
    // Fields 16 and 17 of /proc/self/stat, in clock ticks (proc_pid_stat(5)); a lap of seconds
    // makes their grain of 10 ms a matter of parts in a thousand.
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .unwrap()
        .1
        .split_whitespace()
        .collect();
    let ticks: f64 = [fields[13], fields[14]]
        .iter()
        .map(|field| field.parse::<f64>().unwrap())
        .sum();
    ticks * 1e6 / rustix::param::clock_ticks_per_second() as f64
}

/// The middle one.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
