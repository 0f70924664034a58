//! Cells of the tables: exactly as wide as they shall be, and n/a where nothing is known.

use unicode_width::UnicodeWidthChar;

use crate::units::format_three_digits;

/// Columns of a terminal that has not been asked.
pub(super) const DEFAULT_TERMINAL_WIDTH: usize = 80;
/// Stands for what is not known.
pub(super) const UNKNOWN_VALUE: &str = "n/a";

/// A value as text, or that it is not known.
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

/// Columns that a terminal needs for it.
pub(super) fn display_width(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// Exactly so many columns: cut at the end, or filled with spaces.
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

/// At most so many columns: of a path the end says more than the beginning.
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
