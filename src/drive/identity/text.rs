//! What drives and files say of themselves, made harmless to print.

use crate::printable::is_invisible;

/// Text without its surrounding space and with everything replaced that could move the cursor,
/// change colours or turn the writing direction: a drive may call itself whatever it likes.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0')
        .chars()
        .map(|letter| {
            if letter.is_control() || is_invisible(letter) {
                '?'
            } else {
                letter
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_reaches_the_terminal_that_moves_it() {
        assert_eq!(harmless("  Samsung SSD 980 \n"), "Samsung SSD 980");
        assert_eq!(harmless("evil\x1b[2Jdisk\u{9b}1m"), "evil?[2Jdisk?1m");
        assert_eq!(harmless("right\u{202e}left"), "right?left");
        assert_eq!(harmless("padded\0\0\0"), "padded");
    }
}
