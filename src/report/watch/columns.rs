//! Table cells of fixed width; unknown values are n/a.

use unicode_width::UnicodeWidthChar;

use crate::units::format_three_digits;

/// Assumed width of a terminal of unknown size.
pub(super) const DEFAULT_TERMINAL_WIDTH: usize = 80;
/// Represents an unknown value.
pub(super) const UNKNOWN_VALUE: &str = "n/a";

/// Formats a value, or `n/a` if it is unknown.
pub(super) fn format_known<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN_VALUE.to_owned(), format)
}

/// Bytes per second in MB/s.
pub(super) fn format_megabytes_per_s(bytes: Option<f64>) -> String {
    format_known(bytes, |bytes| {
        if bytes == 0.0 {
            "0".to_owned()
        } else {
            format_three_digits(bytes / 1e6)
        }
    })
}

/// Number of terminal columns that a text occupies.
pub(super) fn display_width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// Truncates or pads a text to exactly `width` columns.
pub(super) fn fit_to_width(text: &str, width: usize) -> String {
    let mut fitted = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let own = letter.width().unwrap_or(0);
        if used + own > width {
            break;
        }
        fitted.push(letter);
        used += own;
    }
    fitted.extend(std::iter::repeat_n(' ', width - used));
    fitted
}

/// Truncates a text to at most `width` columns: the end of a path is more specific than its
/// beginning.
pub(super) fn keep_end(text: &str, width: usize) -> String {
    if display_width(text) <= width {
        return text.to_owned();
    }
    let mut kept: Vec<char> = Vec::new();
    let mut used = 3;
    for letter in text.chars().rev() {
        let own = letter.width().unwrap_or(0);
        if used + own > width {
            break;
        }
        kept.push(letter);
        used += own;
    }
    "...".chars().chain(kept.into_iter().rev()).collect()
}
