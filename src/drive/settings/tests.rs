use super::*;

struct Place {
    _directory: tempfile::TempDir,
    settings: Settings,
    setting: PathBuf,
    records: PathBuf,
}

fn place() -> Place {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    let queue = root.join("sys/class/block/sda/queue");
    fs::create_dir_all(&queue).unwrap();
    fs::write(queue.join("read_ahead_kb"), "128\n").unwrap();
    let own = root.join(format!("proc/{}", std::process::id()));
    fs::create_dir_all(&own).unwrap();
    let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
    fs::write(own.join("stat"), stat).unwrap();
    let records = root.join("records");
    let settings = Settings::new(Roots::below(root), records.clone());
    Place {
        setting: settings.read_ahead("sda"),
        settings,
        records,
        _directory: directory,
    }
}

fn records(place: &Place) -> usize {
    fs::read_dir(&place.records).map_or(0, Iterator::count)
}

#[test]
fn a_guard_puts_the_setting_back() {
    let place = place();
    let mut guard = place.settings.guard(&place.setting).unwrap();
    for value in ["4", "8192"] {
        guard.set(value).unwrap();
        assert_eq!(read(&place.setting).unwrap(), value);
        assert_eq!(records(&place), 1);
    }
    drop(guard);
    assert_eq!(read(&place.setting).unwrap(), "128");
    assert_eq!(records(&place), 0);
}

#[test]
fn the_next_start_puts_back_what_a_kill_left() {
    let place = place();
    let mut guard = place.settings.guard(&place.setting).unwrap();
    guard.set("4").unwrap();
    // A kill: nothing is dropped, the process is gone.
    std::mem::forget(guard);
    assert!(
        place.settings.restore_leftovers().is_empty(),
        "it still lives"
    );
    fs::remove_dir_all(place.settings.roots.proc.clone()).unwrap();
    let restored = place.settings.restore_leftovers();
    assert!(
        matches!(&restored[..], [Ok((path, value))] if *path == place.setting && value == "128")
    );
    assert_eq!(read(&place.setting).unwrap(), "128");
    assert!(place.settings.restore_leftovers().is_empty());
}

#[test]
fn a_record_that_a_kill_cut_off_is_cleared_away() {
    let place = place();
    fs::create_dir_all(&place.records).unwrap();
    let own = place
        .records
        .join(format!("{}-0.setting.partial", std::process::id()));
    let other = place.records.join("4711-0.setting.partial");
    fs::write(&own, "{").unwrap();
    fs::write(&other, "{").unwrap();
    assert!(place.settings.restore_leftovers().is_empty());
    assert!(own.exists() && !other.exists());
}

#[test]
fn a_process_that_was_not_yet_buried_is_dead() {
    let place = place();
    let mut guard = place.settings.guard(&place.setting).unwrap();
    guard.set("4").unwrap();
    std::mem::forget(guard);
    let own = format!("{}/stat", std::process::id());
    let stat = place.settings.roots.proc.join(own);
    let text = fs::read_to_string(&stat).unwrap().replace(") S ", ") Z ");
    fs::write(&stat, text).unwrap();
    assert_eq!(place.settings.restore_leftovers().len(), 1);
    assert_eq!(read(&place.setting).unwrap(), "128");
}

#[test]
fn what_somebody_else_set_meanwhile_stays() {
    let place = place();
    let mut guard = place.settings.guard(&place.setting).unwrap();
    guard.set("4").unwrap();
    fs::write(&place.setting, "512\n").unwrap();
    guard.put_back().unwrap();
    assert_eq!(read(&place.setting).unwrap(), "512");
    assert_eq!(records(&place), 0);
}

#[test]
fn a_device_that_is_gone_leaves_no_record() {
    let place = place();
    let mut guard = place.settings.guard(&place.setting).unwrap();
    guard.set("4").unwrap();
    fs::remove_file(&place.setting).unwrap();
    guard.put_back().unwrap();
    assert_eq!(records(&place), 0);
}

#[test]
fn a_choice_is_the_word_in_brackets() {
    let place = place();
    fs::write(&place.setting, "none [mq-deadline] bfq\n").unwrap();
    assert_eq!(read(&place.setting).unwrap(), "mq-deadline");
}

#[test]
fn nothing_is_changed_without_a_record() {
    let place = place();
    fs::write(&place.records, "no directory").unwrap();
    assert!(place.settings.guard(&place.setting).is_err());
    assert_eq!(read(&place.setting).unwrap(), "128");
}
