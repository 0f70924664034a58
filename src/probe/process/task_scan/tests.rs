use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn write(root: &Path, file: &str, content: &str) {
    let path = root.join("proc").join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, content).unwrap();
}

/// A process with one thread, and 12 ticks of processor time.
fn write_process(root: &Path, pid: u32, state: char) {
    let stat = format!("{pid} (job) {state} 1 {pid} 1 0 -1 4 1 0 0 0 7 5 0 0 20 0 1 0 900 1 2\n");
    write(root, &format!("{pid}/stat"), &stat);
    write(root, &format!("{pid}/status"), &format!("Tgid:\t{pid}\n"));
    write(root, "loadavg", &format!("0.1 0.2 0.3 1/90 {pid}\n"));
}

fn blocked_pids(scan: &TaskScan) -> Vec<u32> {
    scan.blocked.iter().map(|task| task.pid).collect()
}

#[test]
fn wait_of_quiet_process_is_noticed_within_quiet_time_and_followed_from_then_on() {
    let root = tempfile::tempdir().unwrap();
    let roots = SysPaths::under_root(root.path());
    for pid in 1..=40 {
        write_process(root.path(), pid, 'S');
    }
    let mut scanner = TaskScanner::default();
    let step = SECOND / 2;
    for index in 0..8 {
        assert_eq!(scanner.scan(&roots, index * step, false).blocked, []);
    }
    for pid in 1..=40 {
        write_process(root.path(), pid, 'D');
    }
    let found: Vec<usize> = (8..15)
        .map(|index| {
            let scan = scanner.scan(&roots, index * step, false);
            assert_eq!(scan.processes.len(), 40);
            scan.blocked.len()
        })
        .collect();
    // Two or three of 16 groups per half second.
    assert!(found[0] > 0 && found[0] < 20, "{found:?}");
    assert!(found.is_sorted(), "{found:?}");
    assert_eq!(found.last(), Some(&40), "{found:?}");
}

#[test]
fn active_process_is_looked_at_in_every_scan() {
    let root = tempfile::tempdir().unwrap();
    let roots = SysPaths::under_root(root.path());
    write_process(root.path(), 7, 'R');
    let mut scanner = TaskScanner::default();
    for second in 0..10 {
        let _ = scanner.scan(&roots, second * SECOND, false);
    }
    write_process(root.path(), 7, 'D');
    let scan = scanner.scan(&roots, 10 * SECOND, false);
    assert_eq!(blocked_pids(&scan), [7]);
}

#[test]
fn processes_that_begin_are_found_at_once_and_ended_ones_when_their_turn_comes() {
    let root = tempfile::tempdir().unwrap();
    let roots = SysPaths::under_root(root.path());
    write_process(root.path(), 7, 'S');
    let mut scanner = TaskScanner::default();
    for second in 0..6 {
        let _ = scanner.scan(&roots, second * SECOND, false);
    }
    write_process(root.path(), 8, 'D');
    let scan = scanner.scan(&roots, 6 * SECOND, false);
    assert_eq!(blocked_pids(&scan), [8]);
    std::fs::remove_dir_all(root.path().join("proc/7")).unwrap();
    let scan = scanner.scan(&roots, 10 * SECOND, false);
    assert_eq!(scan.processes.keys().copied().collect::<Vec<_>>(), [8]);
}

#[test]
fn with_long_intervals_every_process_is_looked_at() {
    let root = tempfile::tempdir().unwrap();
    let roots = SysPaths::under_root(root.path());
    write_process(root.path(), 7, 'S');
    let mut scanner = TaskScanner::default();
    for index in 0..4 {
        let _ = scanner.scan(&roots, index * 10 * SECOND, false);
    }
    write_process(root.path(), 7, 'D');
    let scan = scanner.scan(&roots, 40 * SECOND, false);
    assert_eq!(blocked_pids(&scan), [7]);
}

fn stat(pid: u32, name: &str, state: char, parent: u32, threads: u32) -> String {
    format!(
        "{pid} ({name}) {state} {parent} {pid} 1 0 -1 4 1 0 0 0 7 5 0 0 20 0 {threads} 0 900 1 2\n"
    )
}

const STATUS: &str = "Name:\tx\nvoluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";

#[test]
fn look_finds_blocked_threads_and_processor_times() {
    let root = tempfile::tempdir().unwrap();
    let at = root.path();
    write(at, "10/stat", &stat(10, "cp (1)", 'D', 1, 1));
    write(at, "10/wchan", "balance_dirty_pages");
    write(at, "10/status", STATUS);
    write(at, "20/stat", &stat(20, "db", 'S', 1, 2));
    write(at, "20/task/20/stat", &stat(20, "db", 'S', 1, 2));
    write(at, "20/task/20/wchan", "request_wait_answer");
    write(at, "20/task/21/stat", &stat(21, "writer", 'D', 1, 2));
    write(at, "30/stat", &stat(30, "kworker/0:1", 'D', 2, 1));
    let roots = SysPaths::under_root(at);
    let look = |pid, with_fuse| look_at_process(&roots, pid, with_fuse).unwrap();
    assert_eq!(look(10, false).process.cpu_ticks, 12);
    let found: Vec<_> = [10, 20, 30]
        .into_iter()
        .flat_map(|pid| look(pid, false).blocked)
        .map(|task| (task.tid, task.is_kernel_thread, task.wait_channel))
        .collect();
    let channel = Some("balance_dirty_pages".to_owned());
    assert_eq!(
        found,
        [(10, false, channel), (21, false, None), (30, true, None)]
    );
    assert_eq!(look(10, false).blocked[0].switches, Some(42));
    assert!(look(20, true).blocked.iter().any(|task| task.tid == 20));
    assert!(look_at_process(&roots, 40, false).is_none());
}
