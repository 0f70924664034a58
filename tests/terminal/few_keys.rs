//! How many keys it takes from the first frame to a result and to each benchmark, in a terminal of 80
//! columns and 24 rows.

use diskscope::bench::BENCHMARKS;

use super::{setsid_is_available, start_diskscope, state_directory};

const END: &str = "\x1b[F";

#[test]
fn result_with_its_problems_is_six_keys_away() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.resize(24, 80);
    terminal.wait_for_text("DEVICES");
    // The last target is a simulated drive, which needs neither rights nor time.
    let keys = [
        ("2", "in flight"),
        (END, "of sim:ssd"),
        ("s", "export JSON"),
    ];
    assert!(keys.len() <= 6);
    for (key, shown) in keys {
        terminal.send_keys(key);
        terminal.wait_for_text(shown);
    }
    terminal.wait_until("the result of the checks", |screen| {
        let shown = screen.contents();
        shown.contains("problem") && !shown.contains("so far")
    });
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}

#[test]
fn every_benchmark_is_twelve_keys_away() {
    if !setsid_is_available() {
        return;
    }
    let directory = state_directory();
    let mut terminal = start_diskscope(&[], directory.path());
    terminal.resize(24, 80);
    terminal.wait_for_text("DEVICES");
    terminal.send_keys("2");
    terminal.wait_for_text("in flight");
    for benchmark in BENCHMARKS {
        let description = benchmark.description();
        let names = description.aliases.iter().chain([&description.name]);
        let shortest = names.min_by_key(|name| name.len()).unwrap();
        let typed: String = shortest.chars().take(9).collect();
        // The key of the screen, the one that opens the search, and the one that selects.
        assert!(typed.len() <= 12 - 3, "{typed}");
        terminal.send_keys(&format!("/{typed}\r"));
        let row = format!("  {} ", description.name);
        terminal.wait_until(description.name, |screen| {
            let (rows, columns) = screen.size();
            !screen.contents().contains("search: ")
                && (0..rows).any(|line| {
                    let marked = screen.cell(line, 2).is_some_and(vt100::Cell::inverse);
                    let text = screen.contents_between(line, 0, line, columns);
                    marked && text.contains(&row)
                })
        });
    }
    terminal.send_keys("q");
    assert!(terminal.wait_for_exit().success());
}
