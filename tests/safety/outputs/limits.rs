//! Outputs that cannot be written: known before the run, or without losing its result.

use std::fs;

use crate::outputs::place::{
    ORDINARY_USER, Place, assert_refused, exit_code, is_root, stderr, stdout,
};

#[test]
fn output_below_missing_directory_is_refused_before_the_run() {
    let place = Place::new();
    assert_refused(
        &place,
        &place.run_to("missing/out.json"),
        "missing/out.json",
    );
    fs::write(place.join("file"), "").unwrap();
    assert_refused(&place, &place.run_to("file/out.json"), "file/out.json");
}

#[test]
fn read_only_file_system_is_refused_before_the_run() {
    let place = Place::new();
    let script = r#"
        mkdir "$D/closed"
        mount -t tmpfs -o ro none "$D/closed"
        mountpoint -q "$D/closed"
        exec "$P" $RUN --json "$D/closed/out.json"
    "#;
    if let Some(output) = place.script_in_mount_namespace(script) {
        assert_refused(&place, &output, "Read-only file system");
    }
}

#[test]
fn directory_without_write_permission_is_refused_before_the_run() {
    if !is_root() {
        return;
    }
    let place = Place::new();
    let script = r#"
        mount -t tmpfs -o mode=755 none "$D"
        cd "$D" && cp "$P" program && mkdir state && chown 1000:1000 state
        echo before > readonly && chmod 444 readonly && chown 1000 readonly
        for name in out.json readonly; do
            setpriv --reuid 1000 --regid 1000 --clear-groups ./program $RUN --json $name \
                2>&1 || echo $?
        done
        cat readonly
        ls state
    "#;
    if let Some(output) = place.script_in_mount_namespace(script) {
        let told = stdout(&output);
        assert_eq!(told.matches("Permission denied").count(), 2, "{told}");
        assert!(
            told.ends_with("\n2\nbefore\n"),
            "{told} {}",
            stderr(&output)
        );
        assert!(!told.contains("IOPS"), "user {ORDINARY_USER}: {told}");
    }
}

#[test]
fn file_size_limit_is_an_error_and_the_result_is_printed() {
    let place = Place::new();
    fs::write(place.join("old.json"), "before").unwrap();
    fs::write(place.join("linked"), "before").unwrap();
    fs::hard_link(place.join("linked"), place.join("linked2")).unwrap();
    for name in ["new.json", "old.json", "linked"] {
        // bash counts blocks of 1024 bytes; the document is longer.
        let script = format!("ulimit -f 2; trap '' PIPE; \"$P\" $RUN --json {name} 2> \"$D/err\"");
        let output = place.script(&script).output().unwrap();
        let told = fs::read_to_string(place.join("err")).unwrap();
        assert_eq!(exit_code(&output), 1, "{told}");
        assert!(told.contains("File too large"), "{told}");
        assert!(stdout(&output).contains("IOPS"), "{}", stdout(&output));
    }
    assert_eq!(
        fs::read_to_string(place.join("old.json")).unwrap(),
        "before"
    );
    assert_eq!(fs::read_to_string(place.join("linked")).unwrap(), "before");
    assert!(!place.join("new.json").exists());
}

#[test]
fn in_place_output_on_full_file_system_is_unchanged() {
    let place = Place::new();
    let script = r#"
        mkdir "$D/small" && mount -t tmpfs -o size=64k,mode=755 none "$D/small"
        mountpoint -q "$D/small"
        cd "$D/small"
        echo before > one && ln one two
        head -c 1M /dev/zero > filler 2> /dev/null || true
        status=0
        "$P" $RUN --json one > "$D/out" || status=$?
        cat two
        exit $status
    "#;
    let Some(output) = place.script_in_mount_namespace(script) else {
        return;
    };
    assert_eq!(exit_code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("No space"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "before\n");
    assert!(
        fs::read_to_string(place.join("out"))
            .unwrap()
            .contains("IOPS")
    );
}

#[test]
fn output_file_created_during_run_is_not_overwritten() {
    for exists in [false, true] {
        let place = Place::new();
        fs::create_dir(place.join("scratch")).unwrap();
        let path = place.join("out.json");
        if exists {
            fs::write(&path, "before").unwrap();
        }
        let words = ["run", "random-read", "scratch", "--scratch-size", "16MiB"];
        let more = ["--duration", "60s", "--json", "out.json"];
        let child = place
            .command(&[&words[..], &more].concat())
            .spawn()
            .unwrap();
        place.wait_for_journal();
        fs::write(place.join("theirs"), "theirs").unwrap();
        fs::rename(place.join("theirs"), &path).unwrap();
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        let output = child.wait_with_output().unwrap();
        let told = stderr(&output);
        assert_eq!(exit_code(&output), 1, "{told}");
        assert!(told.contains("no longer the same file"), "{told}");
        assert!(
            stdout(&output).contains("INTERRUPTED"),
            "{}",
            stdout(&output)
        );
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert_eq!(place.file_names("."), ["out.json", "scratch", "state"]);
    }
}

/// ext2 has no fallocate: only writing shows whether there is room.
#[test]
fn in_place_output_without_fallocate_is_unchanged_on_failure() {
    let place = Place::new();
    let script = r#"
        truncate -s 2M image && mkfs.ext2 -q -m 0 -b 1024 image || exit 9
        mkdir small && mount -o loop image small 2> err || exit 9
        mountpoint -q small
        yes "what was there before" | head -c "$LENGTH" > before
        cp before small/one && ln small/one small/two
        try() {
            status=0
            "$@" 2>> err > text || status=$?
            cmp small/two before > /dev/null && echo $status kept || echo $status lost
        }
        try bash -c "ulimit -f 4; trap '' PIPE; exec \"$P\" $RUN --json small/one"
        dd if=/dev/zero of=small/reserve bs=1k count=3 2> /dev/null
        dd if=/dev/zero of=small/filler bs=1k 2> /dev/null || true
        rm small/reserve
        try "$P" $RUN --json small/one
        umount small
    "#;
    for length in [20, 3000] {
        let script = script.replace("$LENGTH", &length.to_string());
        let Some(output) = place.script_in_mount_namespace(&script) else {
            return;
        };
        let told = fs::read_to_string(place.join("err")).unwrap_or_default();
        if exit_code(&output) == 9 {
            crate::requirement::skip(crate::requirement::Requirement::Loop, told.trim());
            return;
        }
        assert_eq!(
            stdout(&output),
            "1 kept\n1 kept\n",
            "{told}{}",
            stderr(&output)
        );
        assert!(told.contains("File too large"), "{told}");
        assert!(told.contains("No space"), "{told}");
        for name in ["small", "image"] {
            let path = place.join(name);
            let _ = fs::remove_dir(&path).or_else(|_| fs::remove_file(&path));
        }
    }
}
