//! Cells of the tables: exactly as wide as they shall be, and n/a where nothing is known.

use unicode_width::UnicodeWidthChar;

use crate::units::three_digits;

/// Columns of a terminal that has not been asked.
pub(super) const WIDTH: usize = 80;
/// Stands for what is not known.
pub(super) const UNKNOWN: &str = "n/a";

/// A value as text, or that it is not known.
pub(super) fn known<T>(value: Option<T>, format: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| UNKNOWN.to_owned(), format)
}

/// Bytes per second in MB/s.
pub(super) fn megabytes(bytes: Option<f64>) -> String {
    known(bytes, |bytes| {
        if bytes == 0.0 {
            "0".to_owned()
        } else {
            three_digits(bytes / 1e6)
        }
    })
}

/// Columns that a terminal needs for it.
pub(super) fn columns(text: &str) -> usize {
    text.chars().map(|letter| letter.width().unwrap_or(0)).sum()
}

/// Exactly so many columns: cut at the end, or filled with spaces.
pub(super) fn fitted(text: &str, width: usize) -> String {
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
pub(super) fn shortened(text: &str, width: usize) -> String {
    if columns(text) <= width {
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
