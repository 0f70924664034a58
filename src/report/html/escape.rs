//! Escapes untrusted text for HTML.

use crate::safe_text::printable::printable_bytes;

/// Escapes text for use between tags and within quoted attributes: markup is escaped, and control
/// characters and characters that change the writing direction are shown as escapes.
#[must_use]
pub fn escape_html(outside: &str) -> String {
    let mut safe = String::with_capacity(outside.len());
    for character in printable_bytes(outside.as_bytes()).chars() {
        match character {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            other => safe.push(other),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn markup_is_escaped_as_text() {
        assert_eq!(
            escape_html("<script>\"a\" & 'b'</script>\u{202e}"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;\\u{202e}"
        );
    }

    proptest! {
        #[test]
        fn escaped_text_contains_no_markup_characters(outside in ".*") {
            prop_assert!(!escape_html(&outside).contains(['<', '>', '"', '\'']));
        }
    }
}
