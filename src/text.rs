//! Text for people: wrapped into lines, suggestions for misspelt names, advice to run as root.

use rustix::process::geteuid;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

/// Lines of at most `width` columns. Line breaks are kept, other white space becomes one blank, and
/// a word that is longer than a line, such as a path, is broken at its end.
#[must_use]
pub fn wrap_text(text: &str, width: usize) -> Vec<String> {
    wrap_lines(text, width, true)
}

/// As [`wrap_text`], but a longer word is kept whole and exceeds the line: a path that is printed
/// can be copied.
#[must_use]
pub fn wrap_words(text: &str, width: usize) -> Vec<String> {
    wrap_lines(text, width, false)
}

fn wrap_lines(text: &str, width: usize, break_words: bool) -> Vec<String> {
    let options = Options::new(width.max(1))
        .break_words(break_words)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit);
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let words: Vec<&str> = line.split_whitespace().collect();
        let spaced = words.join(" ");
        let wrapped = textwrap::wrap(&spaced, &options).into_iter();
        lines.extend(wrapped.map(std::borrow::Cow::into_owned));
    }
    lines
}

/// The nearest of the known names; `None` if none is similar enough.
pub fn nearest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let max_distance = match name.chars().count() {
        0..=2 => 0,
        3..=4 => 1,
        5..=8 => 2,
        _ => 3,
    };
    let known = known.into_iter();
    let distances = known.map(|other| (strsim::osa_distance(name, other), other));
    let (distance, other) = distances.min()?;
    (distance <= max_distance).then_some(other)
}

/// `, did you mean depth?`; empty if no known name is similar enough.
pub fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest_name(name, known).map_or_else(String::new, |other| format!(", did you mean {other}?"))
}

/// `try as root ...` with the given text, or other advice for root.
#[must_use]
pub fn root_advice(with: &str, otherwise: &str) -> String {
    if geteuid().is_root() {
        return otherwise.to_owned();
    }
    format!("try as root{with}")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use unicode_width::UnicodeWidthStr;

    use super::*;

    #[test]
    fn wrapped_text_keeps_line_breaks_and_breaks_long_words() {
        let text = "one  two three\n\nfour /srv/images/vm7";
        assert_eq!(
            wrap_text(text, 8),
            ["one two", "three", "", "four", "/srv/ima", "ges/vm7"]
        );
        assert_eq!(
            wrap_words(text, 8),
            ["one two", "three", "", "four", "/srv/images/vm7"]
        );
    }

    proptest! {
        #[test]
        fn wrapped_text_fits_the_width(text in "\\PC*", width in 2..40_usize) {
            for line in wrap_text(&text, width) {
                prop_assert!(line.width() <= width, "{line:?}");
            }
        }
    }

    #[test]
    fn nearest_name_of_misspelt_name_is_found() {
        let known = [
            "depth",
            "block-size",
            "workers",
            "window-end",
            "window-begin",
        ];
        for (name, expected) in [
            ("dept", Some("depth")),
            ("detph", Some("depth")),
            ("blocksize", Some("block-size")),
            ("window-edn", Some("window-end")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest_name(name, known), expected, "{name}");
        }
        assert_eq!(nearest_name("depth", []), None);
    }
}
