//! Text from outside, made harmless for HTML.

use crate::printable::printable;

/// The text as it may stand between tags and within quoted attributes: markup is escaped, and what
/// would move a cursor or turn the direction of writing around is shown as an escape.
#[must_use]
pub fn text(outside: &str) -> String {
    let mut safe = String::with_capacity(outside.len());
    for character in printable(outside.as_bytes()).chars() {
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
    fn markup_stays_text() {
        assert_eq!(
            text("<script>\"a\" & 'b'</script>\u{202e}"),
            "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;&lt;/script&gt;\\u{202e}"
        );
    }

    proptest! {
        #[test]
        fn nothing_opens_a_tag_or_ends_an_attribute(outside in ".*") {
            prop_assert!(!text(&outside).contains(['<', '>', '"', '\'']));
        }
    }
}
