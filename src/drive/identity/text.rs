//! Makes text reported by drives and files safe for display.

use crate::safe_text::printable::is_invisible;

/// Trims the text and replaces everything that could move the cursor, change colours or change the
/// writing direction: a drive can report any name.
#[must_use]
pub fn sanitized(text: &str) -> String {
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
    fn sanitized_text_contains_no_control_characters() {
        assert_eq!(sanitized("  Samsung SSD 980 \n"), "Samsung SSD 980");
        assert_eq!(sanitized("evil\x1b[2Jdisk\u{9b}1m"), "evil?[2Jdisk?1m");
        assert_eq!(sanitized("right\u{202e}left"), "right?left");
        assert_eq!(sanitized("padded\0\0\0"), "padded");
    }
}
