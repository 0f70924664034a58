//! What the pictures of `assets/` show can be true: the numbers on each agree with each other.

mod grid;
mod rules;

use std::path::{Path, PathBuf};

use self::grid::screens;
use self::rules::contradictions;

fn pictures() -> Vec<(PathBuf, String)> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets");
    let files = std::fs::read_dir(directory).unwrap();
    let paths = files.map(|entry| entry.unwrap().path());
    let svg = paths.filter(|path| path.extension().is_some_and(|extension| extension == "svg"));
    svg.map(|path| (path.clone(), std::fs::read_to_string(path).unwrap()))
        .collect()
}

fn contradictions_of(svg: &str) -> Vec<String> {
    screens(svg)
        .iter()
        .flat_map(|rows| contradictions(rows))
        .collect()
}

#[test]
fn pictures_show_what_can_be_true() {
    let pictures = pictures();
    assert!(pictures.len() >= 9, "{}", pictures.len());
    for (path, svg) in pictures {
        let screens = screens(&svg);
        assert!(
            screens.iter().all(|rows| rows.len() > 20),
            "{path:?} is not read"
        );
        let found = contradictions_of(&svg);
        assert!(
            found.is_empty(),
            "{}:\n{}",
            path.display(),
            found.join("\n")
        );
    }
}

/// A picture with invented numbers that this project once had.
#[test]
fn invented_picture_is_recognized() {
    let found = contradictions_of(include_str!("../../pictures/invented.svg"));
    for part in ["aqu-sz 6.9", "processes read 525"] {
        assert!(
            found.iter().any(|one| one.contains(part)),
            "{part}: {found:#?}"
        );
    }
}

#[test]
fn invented_result_is_recognized() {
    let rows =
        |text: &[&str]| -> Vec<String> { text.iter().map(|row| format!(" {row}")).collect() };
    let block_layer = "requests  839 152   aqu-sz  31.0";
    let invented = rows(&[
        "Latency  839 152 reads",
        "81 667 IOPS   334 MB/s",
        "mean  70 us",
        block_layer,
    ]);
    assert_eq!(
        contradictions(&invented).len(),
        1,
        "{:?}",
        contradictions(&invented)
    );
    let possible = rows(&[
        "Latency  839 152 reads",
        "81 667 IOPS   334 MB/s",
        "mean  380 us",
        block_layer,
    ]);
    assert_eq!(contradictions(&possible), Vec::<String>::new());
}

/// The same disk has the same model in every picture.
#[test]
fn models_of_devices_agree_between_pictures() {
    let mut models: Vec<(String, String)> = Vec::new();
    let pictures = pictures();
    let rows = || pictures.iter().flat_map(|(_, svg)| screens(svg)).flatten();
    for device in ["sda", "nvme0n1"] {
        let row =
            rows().find(|row| row.starts_with(&format!(" {device}  ")) && row.contains("QEMU"));
        let row = row.unwrap_or_else(|| panic!("no row of {device}"));
        let model = row
            .trim_start()
            .split("  ")
            .map(str::trim)
            .filter(|cell| !cell.is_empty())
            .nth(1);
        models.push((format!("/dev/{device}"), model.unwrap().to_owned()));
    }
    assert_ne!(models[0].1, models[1].1);
    for row in rows().filter(|row| row.contains("QEMU ") && row.contains("/dev/")) {
        for (path, model) in &models {
            assert!(!row.contains(path) || row.contains(model), "{row}");
        }
    }
}
