//! Command lines that a user may paste into a shell: the only module that quotes.
//!
//! All commands that the program prints are built here. Each is one line without control
//! characters, invisible characters and invalid UTF-8, regardless of the names in it. What a
//! terminal would not display literally is written as `"$(printf '\033')"`, which every POSIX shell
//! converts to the original byte.

use std::fmt::Write;

use crate::safe_text::printable::printable_bytes;

/// Joins words to a command line and quotes each.
#[must_use]
pub fn command_line<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> String {
    let quoted: Vec<String> = words
        .into_iter()
        .map(|word| quote_word(word.as_ref()))
        .collect();
    quoted.join(" ")
}

/// Splits a line into words; `None` unless the line is exactly these words as this program quotes
/// them: no other command, no substitution, no redirection.
#[must_use]
pub fn split_line(line: &str) -> Option<Vec<String>> {
    let words = shlex::split(line)?;
    (command_line(&words) == line).then_some(words)
}

/// Quotes bytes as one word of a POSIX shell. Drops NUL bytes, which no argument can contain.
#[must_use]
pub fn quote_word(word: impl AsRef<[u8]>) -> String {
    let word: Vec<u8> = word.as_ref().iter().copied().filter(|b| *b != 0).collect();
    if word.is_empty() {
        return "''".to_owned();
    }
    let mut quoted = String::with_capacity(word.len() + 2);
    for (shown, run) in split_printable_runs(&word) {
        if shown {
            quoted.push_str(&quote_printable(&run));
        } else {
            push_octal_escapes(&mut quoted, &run);
        }
    }
    quoted
}

/// Folds a command line into lines of at most `width` columns, which a shell joins again: all but
/// the last end in a backslash. Only blanks outside of quotes are places to fold, so that a long
/// word stays whole.
#[must_use]
pub fn fold_command(command: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in unquoted_words(command) {
        // Two columns for the backslash.
        if !line.is_empty() && line.chars().count() + word.chars().count() + 3 > width {
            lines.push(format!("{line} \\"));
            line = format!("  {word}");
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.push(line);
    lines
}

/// The parts of a command line between blanks that are not quoted.
fn unquoted_words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut begin, mut quote, mut escaped) = (0, None, false);
    for (index, letter) in command.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (None | Some('"'), '\\') => escaped = true,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None, ' ') => {
                words.push(&command[begin..index]);
                begin = index + 1;
            }
            _ => {}
        }
    }
    words.push(&command[begin..]);
    words.retain(|word| !word.is_empty());
    words
}

/// The path of a device node from its name in sysfs, where `!` replaces `/`.
#[must_use]
pub fn device_node(name: &str) -> String {
    format!("/dev/{}", name.replace('!', "/"))
}

/// Splits a word into runs of bytes that a terminal displays literally and runs of other bytes. A
/// command substitution drops trailing line breaks, so a run of other bytes that ends in one also
/// takes the next byte.
fn split_printable_runs(word: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut runs: Vec<(bool, Vec<u8>)> = Vec::new();
    for chunk in word.utf8_chunks() {
        for character in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            let after_break = runs
                .last()
                .is_some_and(|(shown, run)| !shown && run.ends_with(b"\n"));
            push_run(
                &mut runs,
                !after_break && printable_bytes(bytes).as_bytes() == bytes,
                bytes,
            );
        }
        if !chunk.invalid().is_empty() {
            push_run(&mut runs, false, chunk.invalid());
        }
    }
    if let Some((shown, run)) = runs.last_mut()
        && run.ends_with(b"\n")
    {
        // Nothing follows that could keep the line break: it stays as it is, within quotes.
        let breaks = run.len() - run.iter().rev().take_while(|b| **b == b'\n').count();
        let tail = run.split_off(breaks);
        *shown = false;
        runs.retain(|(_, run)| !run.is_empty());
        runs.push((true, tail));
    }
    runs
}

fn push_run(runs: &mut Vec<(bool, Vec<u8>)>, shown: bool, bytes: &[u8]) {
    match runs.last_mut() {
        Some((last, run)) if *last == shown => run.extend_from_slice(bytes),
        _ => runs.push((shown, bytes.to_vec())),
    }
}

/// Whether a word needs no quotes in any shell: `shlex` also quotes every `=` and `,`, which makes
/// a list of options hard to read. A leading `=` is special in zsh.
fn needs_no_quotes(run: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:=,%+@".contains(byte);
    run.iter().all(plain) && run.first() != Some(&b'=')
}

/// Quotes text without a NUL byte, the only byte that `shlex` rejects.
fn quote_printable(run: &[u8]) -> String {
    if needs_no_quotes(run) {
        return String::from_utf8_lossy(run).into_owned();
    }
    let text = String::from_utf8_lossy(run);
    shlex::try_quote(&text).map_or_else(|_| String::new(), std::borrow::Cow::into_owned)
}

fn push_octal_escapes(quoted: &mut String, run: &[u8]) {
    quoted.push_str("\"$(printf '");
    for byte in run {
        // Writing to a String cannot fail.
        let _ = write!(quoted, "\\{byte:03o}");
    }
    quoted.push_str("')\"");
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    /// The bytes that a shell reads for a word.
    fn shell_reads_back(shell: &str, word: &[u8]) -> Vec<u8> {
        let script = format!("printf %s {}", quote_word(word));
        let output = Command::new(shell)
            .arg("-c")
            .arg(std::ffi::OsStr::from_bytes(script.as_bytes()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        output.stdout
    }

    #[test]
    fn folded_command_is_the_same_for_a_shell() {
        let unit = "a b'c.service";
        let limit = "IOReadBandwidthMax=/dev/sda 41000000";
        let words = ["systemctl", "set-property", "--runtime", unit, limit];
        let command = command_line(words);
        for width in [20, 40, 60, 200] {
            let folded = fold_command(&command, width);
            let script = format!("printf '%s\\n' {}", folded.join("\n"));
            let output = std::process::Command::new("sh")
                .args(["-c", &script])
                .output()
                .unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            assert_eq!(text.lines().collect::<Vec<_>>(), words, "{width}");
        }
        assert_eq!(fold_command(&command, 200), [command]);
    }

    #[test]
    fn shell_quoted_hostile_words_are_read_back_exactly() {
        for word in [
            &b"a b"[..],
            b"",
            b"it's",
            b"\"q\" \\ `id` $(id) ${HOME} !!",
            b"-n",
            b"*?[a]~{a,b}",
            b"#c;d&e|f<g>h",
            b"a\nb",
            b"a\n\nb\n",
            b"\n",
            b"\x1b[2J\xff\n\xfex",
            b"\xff\n",
            "gr\u{f6}\u{df}e \u{202e}x \u{200b}".as_bytes(),
            b"tab\tand\rreturn",
        ] {
            assert_eq!(shell_reads_back("sh", word), word, "{}", quote_word(word));
        }
    }

    #[test]
    fn shell_quoting_keeps_plain_words_unquoted() {
        assert_eq!(
            command_line(["blockdev", "--setra", "8", "/dev/sda"]),
            "blockdev --setra 8 /dev/sda"
        );
        assert_eq!(command_line(["--bs=4096", "a,b"]), "--bs=4096 a,b");
        assert_eq!(quote_word("/srv/a disk"), "'/srv/a disk'");
        assert_eq!(quote_word("p95<=5ms"), "'p95<=5ms'");
        assert_eq!(device_node("cciss!c0d0"), "/dev/cciss/c0d0");
    }

    #[test]
    fn shell_quoted_line_contains_no_control_characters() {
        let line = quote_word(b"a\nb\x1b[2J\xff\xc2\x9b");
        assert_eq!(printable_bytes(line.as_bytes()), line);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn shell_quoted_arbitrary_word_is_read_back(word in proptest::collection::vec(1_u8..=255, 0..40)) {
            prop_assert_eq!(shell_reads_back("sh", &word), word);
        }
    }
}
