//! Makes text reported by drives and files safe for display.

use crate::safe_text::printable::{is_blank, is_invisible};

/// Trims the text and replaces everything that could move the cursor, change colours or change the
/// writing direction: a drive can report any name. Of blanks in succession, with which drives pad their
/// names, one is kept.
#[must_use]
pub fn sanitized(text: &str) -> String {
    let trimmed = text.trim_matches(|letter: char| letter.is_whitespace() || letter == '\0');
    let mut shown = String::with_capacity(trimmed.len());
    for letter in trimmed.chars() {
        if letter.is_control() || is_invisible(letter) {
            shown.push('?');
        } else if !(is_blank(letter) && shown.chars().next_back().is_some_and(is_blank)) {
            shown.push(letter);
        }
    }
    shown
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
        assert_eq!(sanitized("ATA     WDC  WD40 "), "ATA WDC WD40");
    }
}
