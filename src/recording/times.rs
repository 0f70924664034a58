//! Times of a recording as the user writes them.

use jiff::civil::{DateTime, Time};
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};
use jiff::{Timestamp, ToSpan};

/// The times of a recording, in the local time of the machine that recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RecordingTimes {
    /// Time of the first view in milliseconds since 1970.
    pub first_ms: u64,
    /// Time of the last view in milliseconds since 1970.
    pub last_ms: u64,
    /// Offset of the local time from UTC.
    pub offset: Offset,
}

/// A text is no time of the recording: why, and how to write one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ViewTimeError(String);

impl RecordingTimes {
    /// The times between two views; `first_time` is the RFC 3339 time of the first, whose offset
    /// counts. UTC where it has none.
    #[must_use]
    pub fn new(first_ms: u64, last_ms: u64, first_time: &str) -> Self {
        let pieces = Pieces::parse(first_time).ok();
        let offset = pieces.and_then(|pieces| pieces.to_numeric_offset());
        Self {
            first_ms,
            last_ms: last_ms.max(first_ms),
            offset: offset.unwrap_or(Offset::UTC),
        }
    }

    /// The time as the user reads it; `None` for one beyond the range of dates.
    fn local(&self, time_ms: u64) -> Option<DateTime> {
        let time = Timestamp::from_millisecond(i64::try_from(time_ms).ok()?).ok()?;
        Some(self.offset.to_datetime(time))
    }

    /// Whether the recording spans several days.
    fn spans_days(&self) -> bool {
        let [first, last] = [self.first_ms, self.last_ms].map(|it| self.local(it));
        first.map(DateTime::date) != last.map(DateTime::date)
    }

    fn text(&self, time_ms: u64, date: &str) -> String {
        let format = format!("{date}%H:%M:%S");
        let local = self.local(time_ms);
        local.map_or_else(|| "n/a".to_owned(), |it| it.strftime(&format).to_string())
    }

    /// The time of day, `22:26:19`, with month and day where the recording spans several days.
    #[must_use]
    pub fn label(&self, time_ms: u64) -> String {
        let date = if self.spans_days() { "%m-%d " } else { "" };
        self.text(time_ms, date)
    }

    /// First and last time with their dates.
    #[must_use]
    pub fn range(&self) -> String {
        let date = "%Y-%m-%d ";
        let last_date = if self.spans_days() { date } else { "" };
        let (first, last) = (
            self.text(self.first_ms, date),
            self.text(self.last_ms, last_date),
        );
        format!("{first} to {last}")
    }

    /// The time in milliseconds since 1970 for a text: `HH:MM:SS` or `HH:MM`, of which the last one in the
    /// recording counts, or with a date before it, or RFC 3339. A time without a fraction means the
    /// whole second: the last view within it counts.
    ///
    /// # Errors
    /// If it is no time, or is outside the recording.
    pub fn parse(&self, text: &str) -> Result<u64, ViewTimeError> {
        let text = text.trim();
        let Some(time_ms) = self.milliseconds_of(text) else {
            return Err(ViewTimeError(format!(
                "{text:?} is not a time: write HH:MM:SS, or with the date YYYY-MM-DD HH:MM:SS"
            )));
        };
        if !(self.first_ms / 1000..=self.last_ms / 1000).contains(&(time_ms / 1000)) {
            let range = self.range();
            return Err(ViewTimeError(format!(
                "{text} is outside the recording, which is from {range}"
            )));
        }
        let is_whole = time_ms.is_multiple_of(1000);
        Ok(if is_whole { time_ms + 999 } else { time_ms })
    }

    fn milliseconds_of(&self, text: &str) -> Option<u64> {
        if let Ok(time) = text.parse::<Timestamp>() {
            return u64::try_from(time.as_millisecond()).ok();
        }
        // A time of day is also read from a text with a date: that one comes first.
        let local = match text.parse::<DateTime>() {
            Ok(local) => local,
            Err(_) => {
                let last = self.local(self.last_ms)?;
                let time = DateTime::from_parts(last.date(), text.parse::<Time>().ok()?);
                let is_of_day_before = time > last;
                time.checked_sub(i64::from(is_of_day_before).days()).ok()?
            }
        };
        let zoned = local.to_zoned(TimeZone::fixed(self.offset)).ok()?;
        u64::try_from(zoned.timestamp().as_millisecond()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(first: &str, last: &str) -> RecordingTimes {
        let ms = |text: &str| {
            let time: Timestamp = text.parse().unwrap();
            time.as_millisecond() as u64
        };
        RecordingTimes::new(ms(first), ms(last), first)
    }

    #[test]
    fn time_of_day_is_local_to_the_recording() {
        let day = times("2026-11-21T22:26:19.532+01:00", "2026-11-21T23:10:00+01:00");
        assert_eq!(day.range(), "2026-11-21 22:26:19 to 23:10:00");
        assert_eq!(day.label(day.first_ms), "22:26:19");
        let at = |text: &str| day.parse(text);
        // The second of the first view, which begins before that view.
        assert_eq!(at("22:26:19"), Ok(day.first_ms - 532 + 999));
        assert_eq!(at("2026-11-21T21:26:19.532Z"), Ok(day.first_ms));
        assert_eq!(at("2026-11-21 22:30:00"), at("22:30"));
        assert_eq!(at(" 22:30:00 "), at("22:30"));
    }

    #[test]
    fn time_outside_the_recording_is_refused_with_its_range() {
        let day = times("2026-11-21T22:26:19+01:00", "2026-11-21T23:10:00+01:00");
        for text in [
            "22:26:18",
            "23:10:01",
            "2025-11-21 22:30:00",
            "1960-01-01 00:00:00",
        ] {
            let error = day.parse(text).unwrap_err().to_string();
            let named = error.contains("2026-11-21 22:26:19 to 23:10:00");
            assert!(named || text.starts_with("1960"), "{text}: {error}");
        }
        for text in ["", "soon", "25:00:00", "22-26-19"] {
            let error = day.parse(text).unwrap_err();
            assert!(error.to_string().contains("is not a time"), "{error}");
        }
    }

    #[test]
    fn time_without_a_date_is_the_last_one_of_several_days() {
        let nights = times("2026-11-20T22:00:00Z", "2026-11-22T04:00:00Z");
        for (text, day) in [("03:00:00", 22), ("04:00", 22), ("22:30", 21)] {
            let dated = nights.parse(&format!("2026-11-{day} {text}"));
            assert_eq!(nights.parse(text), dated, "{text}");
        }
        assert_eq!(nights.label(nights.last_ms), "11-22 04:00:00");
    }
}
