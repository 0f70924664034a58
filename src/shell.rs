//! Command lines that a user may paste into a shell: the only module that quotes.
//!
//! All commands that the program prints are built here. Each is one line without control
//! characters, invisible characters and invalid UTF-8, regardless of the names in it. What a
//! terminal would not display literally is written as `"$(printf '\033')"`, which every POSIX shell
//! converts to the original byte. A word that ends in a line break has no such form, because a
//! substitution drops line breaks at its end: there is no command with it.
//!
//! A command is stored, and compared, with characters that are not ASCII as they are. Where it is
//! printed, [`for_terminal`] writes these in the same way, if the terminal cannot take them.

use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};

use unicode_width::UnicodeWidthStr;

use crate::safe_text::printable::{is_blank, printable_bytes};

/// What encloses the octal escapes of bytes that a terminal would not display literally.
const SUBSTITUTION: [&str; 2] = ["\"$(printf '", "')\""];
/// Operators behind which a line break is none for a shell (POSIX, 2.10.2).
const OPERATORS: [&str; 2] = ["&& ", "| "];

/// Whether the terminal of this process takes ASCII only.
static IS_ASCII_TERMINAL: AtomicBool = AtomicBool::new(false);

/// From now on [`for_terminal`] writes commands in ASCII. It is called at the start of the program,
/// where the encoding of the terminal is known, before anything is printed.
pub fn use_ascii() {
    IS_ASCII_TERMINAL.store(true, Ordering::Relaxed);
}

/// A command line, or words of one, as the terminal of this process can take it. Every place that prints
/// a command calls this: an escape for display, put in later, would change what the command names.
/// The interface, which may use ASCII only on any terminal, calls [`ascii_command`] itself.
#[must_use]
pub fn for_terminal(command: String) -> String {
    match IS_ASCII_TERMINAL.load(Ordering::Relaxed) {
        true => ascii_command(&command),
        false => command,
    }
}

/// The command with every character that is not ASCII as octal escapes, which a shell converts back.
#[must_use]
pub fn ascii_command(command: &str) -> String {
    let mut ascii = String::with_capacity(command.len());
    let mut state = QuoteState::default();
    let mut rest = command;
    while let Some(letter) = rest.chars().next() {
        let end = rest.find(|it: char| it.is_ascii()).unwrap_or(rest.len());
        if end == 0 {
            state.advance(letter);
            ascii.push(letter);
            rest = &rest[1..];
            continue;
        }
        let mut escapes = String::new();
        push_octal_escapes(&mut escapes, &rest.as_bytes()[..end]);
        match state.quote {
            None => ascii.push_str(&escapes),
            Some('\'') => ascii.extend(["'", &escapes, "'"]),
            // In these quotes a substitution needs none of its own.
            Some(_) => ascii.push_str(escapes.trim_matches('"')),
        }
        rest = &rest[end..];
    }
    ascii
}

/// Joins words to a command line and quotes each; `None` where [`quote_word`] cannot quote one.
#[must_use]
pub fn command_line<W: AsRef<[u8]>>(words: impl IntoIterator<Item = W>) -> Option<String> {
    let quoted: Option<Vec<String>> = words
        .into_iter()
        .map(|word| quote_word(word.as_ref()))
        .collect();
    Some(quoted?.join(" "))
}

/// Splits a line into words; `None` unless the line is exactly these words as this program quotes
/// them: no other command, no substitution but that of escaped bytes, no redirection.
#[must_use]
pub fn split_line(line: &str) -> Option<Vec<Vec<u8>>> {
    let words: Option<Vec<Vec<u8>>> = unquoted_words(line).into_iter().map(unquote_word).collect();
    words.filter(|words| command_line(words).as_deref() == Some(line))
}

/// Quotes bytes as one word of a POSIX shell; `None` for a word that ends in a line break, and for
/// one with a NUL byte, which no argument can contain.
#[must_use]
pub fn quote_word(word: impl AsRef<[u8]>) -> Option<String> {
    let word = word.as_ref();
    if word.is_empty() {
        return Some("''".to_owned());
    }
    if word.ends_with(b"\n") || word.contains(&0) {
        return None;
    }
    let mut quoted = String::with_capacity(word.len() + 2);
    for (shown, run) in split_printable_runs(word) {
        if shown {
            quoted.push_str(&quote_printable(&run));
        } else {
            push_octal_escapes(&mut quoted, &run);
        }
    }
    Some(quoted)
}

/// A basic regular expression, as of grep(1), that matches this text only.
#[must_use]
pub fn basic_regex(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '.' | '*' | '[' | '^' | '$') {
            pattern.push('\\');
        }
        pattern.push(character);
    }
    pattern
}

/// The bytes of a word as [`quote_word`] writes it; of another word any bytes or none.
fn unquote_word(word: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word;
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix(SUBSTITUTION[0]) {
            let (escapes, behind) = inner.split_once(SUBSTITUTION[1])?;
            bytes.extend(octal_bytes(escapes)?);
            rest = behind;
        } else {
            let mut positions = positions_outside_quotes(rest).into_iter();
            let substitution = positions.find(|at| rest[*at..].starts_with(SUBSTITUTION[0]));
            let (printable, behind) = rest.split_at(substitution.unwrap_or(rest.len()));
            let [text]: [String; 1] = shlex::split(printable)?.try_into().ok()?;
            bytes.extend(text.into_bytes());
            rest = behind;
        }
    }
    Some(bytes)
}

/// The bytes of octal escapes with three digits each, such as `\033\377`.
fn octal_bytes(escapes: &str) -> Option<Vec<u8>> {
    let digits = escapes.strip_prefix('\\')?.split('\\');
    digits
        .map(|digits| u8::from_str_radix(digits, 8).ok())
        .collect()
}

/// Folds a command line into lines of at most `width` columns behind its operators `&&` and `|`, where a
/// shell reads on by itself. A backslash at the end of a line would not do: terminals copy the blanks
/// behind it, and the shell would take what follows for a command of its own. `None` where a part is
/// wider than a line.
#[must_use]
pub fn fold_command(command: &str, width: usize) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts_of_command(command) {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + part.width() <= width => {
                line.push(' ');
                line.push_str(part);
            }
            Some(_) => lines.push(format!("  {part}")),
            None => lines.push(part.to_owned()),
        }
    }
    let fits = lines.iter().all(|line| line.width() <= width);
    fits.then_some(lines)
}

/// The parts of a command line, each with the operator behind it.
fn parts_of_command(command: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut begin = 0;
    for index in positions_outside_quotes(command) {
        let is_operator = |it: &&str| command[index..].starts_with(*it);
        if let Some(operator) = OPERATORS.iter().copied().find(is_operator) {
            let end = index + operator.len();
            parts.push(command[begin..end].trim_end());
            begin = end;
        }
    }
    parts.push(&command[begin..]);
    parts
}

/// The parts of a command line between blanks that are not quoted.
fn unquoted_words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = 0;
    for index in positions_outside_quotes(command) {
        if command[index..].starts_with(' ') {
            words.push(&command[begin..index]);
            begin = index + 1;
        }
    }
    words.push(&command[begin..]);
    words.retain(|word| !word.is_empty());
    words
}

/// The positions of the characters that are neither quoted nor escaped, opening quotes included.
fn positions_outside_quotes(command: &str) -> Vec<usize> {
    let mut state = QuoteState::default();
    let indices = command.char_indices();
    let outside = indices.filter(|(_, letter)| state.advance(*letter));
    outside.map(|(index, _)| index).collect()
}

/// Which quotes are open at a place of a command line.
#[derive(Debug, Default)]
struct QuoteState {
    quote: Option<char>,
    is_escaped: bool,
}

impl QuoteState {
    /// Takes the next character; true if it is neither quoted nor escaped, as are opening quotes.
    fn advance(&mut self, letter: char) -> bool {
        match (self.quote, letter) {
            _ if self.is_escaped => self.is_escaped = false,
            (None | Some('"'), '\\') => self.is_escaped = true,
            (None, '\'' | '"') => {
                self.quote = Some(letter);
                return true;
            }
            (None, _) => return true,
            (Some(open), letter) if open == letter => self.quote = None,
            _ => {}
        }
        false
    }
}

/// The path of a device node from its name in sysfs, where `!` replaces `/`; `None` for what is no
/// name of a device. A recording can contain any name, and the path could lead anywhere.
#[must_use]
pub fn device_node(name: &str) -> Option<String> {
    Some(format!("/dev/{}", device_name(name)?.replace('!', "/")))
}

/// The directory of a block device in sysfs; `None` for what is no name of a device.
#[must_use]
pub fn device_directory(name: &str) -> Option<String> {
    Some(format!("/sys/block/{}", device_name(name)?))
}

/// The name, if sysfs can have a device of this name: no part of the paths above leads upwards. A
/// backslash begins an escape of `safe_text`: the name itself is another one.
#[must_use]
pub fn device_name(name: &str) -> Option<&str> {
    let is_entry = |part: &str| !matches!(part, "" | "." | "..");
    let is_name = !name.contains(['/', '\\']) && name.split('!').all(is_entry);
    is_name.then_some(name)
}

/// Splits a word into runs of bytes that a terminal displays literally and runs of other bytes. A
/// command substitution drops trailing line breaks, so a run of other bytes that ends in one also
/// takes the next byte.
fn split_printable_runs(word: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut runs: Vec<(bool, Vec<u8>)> = Vec::new();
    for chunk in word.utf8_chunks() {
        let mut previous = None;
        for character in chunk.valid().chars() {
            let mut buffer = [0; 4];
            let bytes = character.encode_utf8(&mut buffer).as_bytes();
            let after_break = runs
                .last()
                .is_some_and(|(shown, run)| !shown && run.ends_with(b"\n"));
            // As in every name that is displayed.
            let is_second_blank = is_blank(character) && previous.is_some_and(is_blank);
            previous = Some(character);
            let is_printable = printable_bytes(bytes).as_bytes() == bytes;
            push_run(
                &mut runs,
                is_printable && !after_break && !is_second_blank,
                bytes,
            );
        }
        if !chunk.invalid().is_empty() {
            push_run(&mut runs, false, chunk.invalid());
        }
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
/// a list of options hard to read. A leading `=` is special in zsh, and a leading `%` in fish, which
/// replaces `%self` by the number of its process.
fn needs_no_quotes(run: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_./:=,%+@".contains(byte);
    run.iter().all(plain) && !matches!(run.first(), Some(b'=' | b'%'))
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
    quoted.push_str(SUBSTITUTION[0]);
    for byte in run {
        // Writing to a String cannot fail.
        let _ = write!(quoted, "\\{byte:03o}");
    }
    quoted.push_str(SUBSTITUTION[1]);
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;
    use std::process::Command;

    use proptest::prelude::*;

    use super::*;
    use crate::safe_text::SafeText;

    /// The bytes that a shell reads for a word.
    fn shell_reads_back(shell: &str, word: &[u8]) -> Vec<u8> {
        let script = format!("printf %s {}", quote_word(word).unwrap());
        let output = Command::new(shell)
            .arg("-c")
            .arg(std::ffi::OsStr::from_bytes(script.as_bytes()))
            .output()
            .unwrap();
        assert!(output.status.success(), "{script}: {output:?}");
        output.stdout
    }

    #[test]
    fn folded_command_is_the_same_for_a_shell_also_with_blanks_behind_its_lines() {
        let command = r#"[ "$(printf 'a && b | c')" = 'a && b | c' ] && printf '%s\n' one 'two | three' | cat"#;
        for width in [40, 60, 75, 200] {
            let Some(folded) = fold_command(command, width) else {
                assert_eq!(width, 40);
                continue;
            };
            let is_narrow = folded.iter().all(|line| line.width() <= width);
            assert!(is_narrow, "{folded:?}");
            for shell in ["sh", "bash"] {
                let output = Command::new(shell)
                    .args(["-c", &folded.join("   \n")])
                    .output()
                    .unwrap();
                let text = String::from_utf8(output.stdout).unwrap();
                assert_eq!(text, "one\ntwo | three\n", "{shell} {width}");
            }
        }
        assert_eq!(fold_command(command, 200).unwrap(), [command]);
    }

    #[test]
    fn command_is_folded_behind_operators_only() {
        let fold = |command, width| fold_command(command, width);
        assert_eq!(fold("cat /0123456789", 14), None);
        assert_eq!(fold("cat /01234", 12).unwrap(), ["cat /01234"]);
        assert_eq!(fold("ls -la /01234", 12), None);
        assert_eq!(fold("true && ls /01", 12).unwrap(), ["true &&", "  ls /01"]);
        assert_eq!(
            fold("a | b | c && d", 7).unwrap(),
            ["a | b |", "  c &&", "  d"]
        );
        // Two columns each.
        let wide = "a | ls \u{6f22}\u{6f22}\u{6f22}";
        assert_eq!(fold(wide, 10), None);
        assert_eq!(fold(wide, 11).unwrap().len(), 2);
        assert_eq!(fold(wide, 13).unwrap().len(), 1);
    }

    #[test]
    fn command_in_ascii_has_the_same_words() {
        for (command, ascii) in [
            ("ls /a 'b c'", "ls /a 'b c'"),
            (
                "ls '/gr\u{f6}\u{df}e x' \u{f6}",
                r#"ls '/gr'"$(printf '\303\266\303\237')"'e x' "$(printf '\303\266')""#,
            ),
            ("ls \"it's \u{f6}\"", r#"ls "it's $(printf '\303\266')""#),
        ] {
            assert_eq!(ascii_command(command), ascii);
        }
    }

    #[test]
    fn word_that_is_special_at_its_start_in_another_shell_is_quoted() {
        assert_eq!(quote_word("%self").unwrap(), "'%self'");
        assert_eq!(quote_word("=ls").unwrap(), "'=ls'");
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
            b"a\n\nb",
            b"\n%s\\n",
            b"\x1b[2J\xff\n\xfex",
            "gr\u{f6}\u{df}e \u{202e}x \u{200b}".as_bytes(),
            b"tab\tand\rreturn",
        ] {
            assert_eq!(shell_reads_back("sh", word), word, "{word:?}");
        }
    }

    #[test]
    fn shell_quoting_keeps_plain_words_unquoted() {
        for (words, line) in [
            (
                &["blockdev", "--setra", "8", "/dev/sda"][..],
                "blockdev --setra 8 /dev/sda",
            ),
            (&["--bs=4096", "a,b"], "--bs=4096 a,b"),
            (&["/srv/a disk"], "'/srv/a disk'"),
            (&["p95<=5ms"], "'p95<=5ms'"),
        ] {
            assert_eq!(command_line(words).unwrap(), line);
        }
    }

    #[test]
    fn word_that_no_line_can_contain_is_in_no_command() {
        for word in [&b"\n"[..], b"a\n", b"a\n\n", b"\xff\n", b"a\0b"] {
            assert_eq!(quote_word(word), None, "{word:?}");
            assert_eq!(command_line([b"ls", word]), None, "{word:?}");
        }
    }

    #[test]
    fn name_of_a_device_leads_nowhere_else() {
        let node = device_node("cciss!c0d0");
        assert_eq!(node.as_deref(), Some("/dev/cciss/c0d0"));
        let directory = device_directory("md127");
        assert_eq!(directory.as_deref(), Some("/sys/block/md127"));
        for name in [
            "",
            ".",
            "..",
            "../sda",
            "/etc",
            "md0/../..",
            "..!..!etc",
            "!etc",
            "a!",
            "a\\nb",
        ] {
            assert_eq!(device_node(name), None, "{name}");
            assert_eq!(device_directory(name), None, "{name}");
        }
    }

    #[test]
    fn line_that_is_not_exactly_its_words_is_not_split() {
        for line in [
            "a  b",
            "a\tb",
            "a; id",
            "a > b",
            "a \"$(id)\"",
            "a \"$(printf '\\141')\"",
            "a \"$(printf '\\12')\"",
            "a \"$(printf '\\033' ; id)\"",
            "a \"$(printf '\\033'",
            "a '",
            "a \\",
            "a \"b\"",
            "a # b",
        ] {
            assert_eq!(split_line(line), None, "{line}");
        }
    }

    #[test]
    fn shell_quoted_line_contains_no_control_characters() {
        let line = quote_word(b"a\nb\x1b[2J\xff\xc2\x9b").unwrap();
        assert_eq!(printable_bytes(line.as_bytes()), line);
    }

    /// Words of any bytes but NUL, and of those that have a meaning in a shell or a terminal.
    fn any_word() -> impl Strategy<Value = Vec<u8>> {
        let pieces = prop_oneof![
            "[ a-z'\"\\\\$`!#;=~%0-9\n\t\u{1b}\u{301}\u{202e}-]{0,3}".prop_map(String::into_bytes),
            Just(b"\"$(printf '\\033')\"".to_vec()),
            Just(b"\\n".to_vec()),
            proptest::collection::vec(1_u8..=255, 0..4),
        ];
        proptest::collection::vec(pieces, 0..8).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn shell_quoted_arbitrary_word_is_read_back(word in any_word()) {
            match quote_word(&word) {
                Some(_) => prop_assert_eq!(shell_reads_back("sh", &word), word),
                None => prop_assert!(word.ends_with(b"\n")),
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn word_in_ascii_is_read_back(word in "(\\PC|['\"\\\\$` ]|\u{f6}\u{6f22}){0,9}") {
            let quoted = ascii_command(&quote_word(&word).unwrap());
            prop_assert!(quoted.is_ascii());
            let output = Command::new("sh").args(["-c", &format!("printf %s {quoted}")]).output();
            prop_assert_eq!(output.unwrap().stdout, word.into_bytes());
        }
    }

    proptest! {
        #[test]
        fn folded_command_fits_the_width(words in proptest::collection::vec(any_word(), 1..6), width in 1..60_usize) {
            let folded = command_line(words).and_then(|line| fold_command(&line, width));
            for line in folded.unwrap_or_default() {
                prop_assert!(line.width() <= width, "{line:?}");
            }
        }

        #[test]
        fn line_shown_as_safe_text_is_split_into_its_words(
            words in proptest::collection::vec(any_word(), 1..4)
        ) {
            if let Some(line) = command_line(&words) {
                let shown = SafeText::from(line.clone());
                prop_assert_eq!(shown.as_str(), &line);
                prop_assert_eq!(split_line(&shown), Some(words));
            }
        }

        #[test]
        fn any_text_is_split_into_nothing_or_its_words(line in "(\\PC|[ '\"\\\\$(]){0,30}") {
            if let Some(words) = split_line(&line) {
                prop_assert_eq!(command_line(words), Some(line));
            }
        }
    }
}
