//! Outputs that cannot be written: known before the run, or without losing its result.

use std::fs;
use std::process::Command;

use crate::place::{Place, USER, assert_refused, code, is_root, stderr, stdout};

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
    if let Some(output) = place.namespace(script) {
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
    if let Some(output) = place.namespace(script) {
        let told = stdout(&output);
        assert_eq!(told.matches("Permission denied").count(), 2, "{told}");
        assert!(
            told.ends_with("\n2\nbefore\n"),
            "{told} {}",
            stderr(&output)
        );
        assert!(!told.contains("IOPS"), "user {USER}: {told}");
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
        assert_eq!(code(&output), 1, "{told}");
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
fn full_file_system_leaves_file_written_in_place_as_it_was() {
    let place = Place::new();
    let script = r#"
        mkdir "$D/small" && mount -t tmpfs -o size=64k none "$D/small"
        mountpoint -q "$D/small"
        cd "$D/small"
        echo before > one && ln one two
        head -c 1M /dev/zero > filler 2> /dev/null || true
        status=0
        "$P" $RUN --json one > "$D/out" || status=$?
        cat two
        exit $status
    "#;
    let Some(output) = place.namespace(script) else {
        return;
    };
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(stderr(&output).contains("No space"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "before\n");
    assert!(
        fs::read_to_string(place.join("out"))
            .unwrap()
            .contains("IOPS")
    );
}

#[test]
fn file_that_appears_during_the_run_is_left_alone() {
    let place = Place::new();
    let pipe = place.join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    // The text goes out before the document: whoever reads it stands between the two steps.
    let script = r#"
        echo before > old.json
        for name in new.json old.json; do
            "$P" $RUN --json $name > pipe 2>> err &
            child=$!
            { read line; rm -f $name; echo theirs > $name; cat > /dev/null; } < pipe
            wait $child
            echo $? $(cat $name)
        done
    "#;
    // A pipe holds 64 KiB: with the capacity at its least the text does not fit, and the program
    // waits for the reader.
    let output = place.script(script).output().unwrap();
    let told = fs::read_to_string(place.join("err")).unwrap();
    assert_eq!(stdout(&output), "1 theirs\n1 theirs\n", "{told}");
    assert_eq!(told.matches("is another file now").count(), 2, "{told}");
}

#[test]
fn file_system_without_nameless_files_takes_outputs_all_the_same() {
    let place = Place::new();
    let script = r#"
        truncate -s 4M "$D/image"
        mkfs.vfat "$D/image" > /dev/null 2>&1 || { echo "no mkfs.vfat"; exit 0; }
        mkdir "$D/fat"
        mount -o loop "$D/image" "$D/fat" 2> /dev/null || { echo "no vfat"; exit 0; }
        mountpoint -q "$D/fat"
        cd "$D/fat"
        "$P" $RUN --json out.json > /dev/null
        "$P" $RUN --json out.json > /dev/null
        cp out.json "$D/copy.json"
        ls -A
        cd / && umount "$D/fat"
    "#;
    let Some(output) = place.namespace(script) else {
        return;
    };
    let told = stdout(&output);
    if told.starts_with("no ") {
        use crate::requirement::{Requirement, skip};
        skip(Requirement::Kernel, told);
        return;
    }
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_eq!(told, "out.json\n");
    crate::place::assert_document(&fs::read_to_string(place.join("copy.json")).unwrap());
}
