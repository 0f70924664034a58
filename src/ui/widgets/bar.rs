//! Bars and sparklines of one line.

use crate::ui::look::Look;

/// A bar filled to a share (0 to 1) of `width` columns.
#[must_use]
pub fn bar(share: f64, width: u16, look: Look) -> String {
    let glyphs = look.glyphs();
    let eighths = (share.clamp(0.0, 1.0) * f64::from(width) * 8.0).round() as usize;
    let width = usize::from(width);
    let full = (eighths / 8).min(width);
    let mut text: String = std::iter::repeat_n(glyphs.parts[7], full).collect();
    if !eighths.is_multiple_of(8) && full < width {
        text.push(glyphs.parts[eighths % 8 - 1]);
    }
    let drawn = text.chars().count();
    text.extend(std::iter::repeat_n(glyphs.groove, width - drawn));
    text
}

/// The character for a share (0 to 1) of a column's height.
#[must_use]
pub fn level(share: f64, look: Look) -> char {
    let step = (share.clamp(0.0, 1.0) * 8.0).ceil() as usize;
    look.glyphs().levels[step.clamp(1, 8) - 1]
}

/// One column for each value, as high as its share of the largest; blank where it is unknown.
#[must_use]
pub fn sparkline(values: &[Option<f64>], look: Look) -> String {
    let largest = values.iter().flatten().copied().fold(0.0, f64::max);
    values
        .iter()
        .map(|value| match value {
            None => ' ',
            Some(_) if largest <= 0.0 => level(0.0, look),
            Some(value) => level(value / largest, look),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_has_its_width_at_every_share() {
        for tenth in 0..=20 {
            let text = bar(f64::from(tenth) / 10.0, 7, Look::FULL);
            assert_eq!(text.chars().count(), 7, "{text}");
        }
        assert_eq!(bar(0.5, 4, Look::FULL), "██░░");
        assert_eq!(bar(1.0, 4, Look::FULL), "████");
        assert_eq!(bar(f64::NAN, 4, Look::FULL), "░░░░");
    }

    #[test]
    fn a_sparkline_leaves_the_unknown_blank() {
        let values = [None, Some(0.0), Some(4.0), Some(8.0)];
        assert_eq!(sparkline(&values, Look::FULL), " ▁▄█");
        assert_eq!(sparkline(&[Some(0.0); 2], Look::FULL), "▁▁");
    }
}
