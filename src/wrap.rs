//! Wraps text into lines, for the terminal interface and for text on stdout.

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
}
