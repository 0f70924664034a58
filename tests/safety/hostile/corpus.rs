//! Text with control sequences for the terminal, or that shifts the text next to it, and files made of it.

use std::io::Write;
use std::path::Path;

use flate2::{Compression, GzBuilder};
use serde_json::Value;

/// One text with everything: OSC 52 and 0, clearing the screen, C1, bidi, zero width, line breaks,
/// a pile of combining marks.
pub fn hostile_text() -> String {
    let mut text = String::from(
        "x\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}]0;evil\u{1b}\\\u{1b}[2J\u{1b}[31m\u{9b}2J\u{9d}0;evil\u{9c}\
         \u{202e}\u{2066}\u{200b}\u{200d}\u{feff}\n\r\t\u{8}\u{7f}\u{0}<script>alert('\"')</script>",
    );
    text.push('e');
    text.extend(std::iter::repeat_n('\u{301}', 300));
    text
}

/// The same, and 10,000 letters.
pub fn long_hostile_text() -> String {
    hostile_text() + &"W".repeat(10_000)
}

/// A file name of the same kind: without zero and slash, and short enough.
pub fn hostile_file_name() -> String {
    "n\u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2J\u{9b}2J\u{202e}\u{2066}\u{200b}\n\r\t\u{7f}e\u{301}\u{301}\u{301}\u{301}\u{301}"
        .to_owned()
}

/// Fields whose strings are words of a closed set.
const ENUM_FIELDS: [&str; 7] = [
    "schema",
    "state",
    "severity",
    "unit",
    "relation_to_upper",
    "attribution",
    "charged",
];

/// Puts the text at the place of every string that may be any, and behind every key that may.
pub fn replace_strings(value: &mut Value, text: &str) {
    match value {
        Value::String(string) => *string = format!("{string}{text}"),
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| replace_strings(value, text)),
        Value::Object(map) => {
            for (name, value) in map.iter_mut() {
                if !ENUM_FIELDS.contains(&name.as_str()) && name != "parameter_units" {
                    replace_strings(value, text);
                }
            }
            for name in ["parameters", "parameter_units"] {
                if let Some(Value::Object(inner)) = map.get_mut(name) {
                    let known: Vec<_> = std::mem::take(inner).into_iter().collect();
                    inner.extend(known.into_iter().map(|(name, value)| (name + text, value)));
                }
            }
        }
        _ => {}
    }
}

/// A saved session, every string of it spoilt.
pub fn hostile_session(text: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sessions/nvme-random.json");
    let mut session: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let run = &mut session["runs"][0];
    run["error"] = serde_json::json!({ "message": "broken", "advice": "mend it" });
    run["engine"]["reason"] = "no ring".into();
    run["evidence"]["other_users"] = serde_json::json!([
        { "pid": 7, "command": "cp", "read_bytes": 1, "written_bytes": 2, "attribution": "traced-requests" }
    ]);
    run["evidence"]["drive_setup"] = serde_json::json!({
        "write_cache": "write back", "scheduler": "none", "scheduler_advice": "better",
        "link": "SATA", "backing_file": "/a", "direct_io": false, "virtual_disk": "virtio",
        "memory_backing": "zram"
    });
    run["findings"] = Value::Null;
    replace_strings(&mut session, text);
    session
}

/// A view of the Live screen, every string of it spoilt.
pub fn hostile_view(text: &str) -> Value {
    let process = serde_json::json!({
        "pid": 1, "tid": 1, "user": "root", "command": "cp", "priority": "be/4",
        "blocked_in": "io_schedule", "devices": [{ "name": "sda" }], "write_bytes_per_s": 1e6,
        "read_bytes_per_s": 1e6, "io_wait": 0.5
    });
    let transfer = serde_json::json!({
        "pid": 1, "command": "cp", "source": "/a", "destination": "/b", "state": "moving",
        "position_bytes": 5, "size_bytes": 10, "rate_bytes_per_s": 1.0
    });
    let mut view = serde_json::json!({
        "time": "2026-01-02T03:04:05Z",
        "host": { "name": "web", "kernel": "6.1" },
        "devices": [{
            "name": "sda", "label": "disk", "parent": null, "lies_on": ["b"], "mounted_at": "/",
            "read_bytes_per_s": 1e6, "write_bytes_per_s": 1e6
        }],
        "processes": [process], "process_count": 1, "transfers": [transfer],
        "growing": [{
            "path": "/g", "pid": 1, "command": "dd", "size_bytes": 1, "growth_bytes_per_s": 1.0
        }],
        "notices": ["a notice"]
    });
    // The state of a transfer is a word of a closed set, and the time is read.
    replace_strings(&mut view, text);
    view
}

/// A request as a line of a recording, its strings spoilt. Its time is first, which tells it from a view.
pub fn hostile_request(text: &str) -> String {
    let mut line = serde_json::json!({
        "pid": 4711, "command": "dd", "charged": "submitter",
        "submitter_pid": 9, "submitter": "kworker", "device": "sda", "operation": "write",
        "flags": "WS", "sector": 2048, "bytes": 4096, "q2g_ns": null, "g2i_ns": null,
        "i2d_ns": null, "d2c_ns": null, "q2c_ns": 400, "q2d_ns": null, "merged": 1,
        "split": false, "requeued": 0, "from": null, "error": 0
    });
    for name in ["command", "submitter", "device", "flags"] {
        replace_strings(&mut line[name], text);
    }
    line.to_string().replacen('{', "{\"time_ns\":100,", 1)
}

/// A member of a recording with these lines. Its index is empty: a reader decompresses it to find its end.
pub fn hostile_member(lines: &[u8]) -> Vec<u8> {
    const FIELD_BYTES: u16 = 972;
    let mut extra = b"DS".to_vec();
    extra.extend(FIELD_BYTES.to_le_bytes());
    extra.push(1);
    extra.resize(usize::from(FIELD_BYTES) + 4, 0);
    let mut member = GzBuilder::new()
        .extra(extra)
        .write(Vec::new(), Compression::best());
    member.write_all(lines).unwrap();
    member.finish().unwrap()
}

/// A recording of a view, a request and another view, spoilt.
pub fn hostile_recording(text: &str) -> Vec<u8> {
    let view = hostile_view(text);
    let request = hostile_request(text);
    hostile_member(format!("{view}\n{request}\n{view}\n").as_bytes())
}
