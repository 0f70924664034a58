//! Times of a recording as the user writes them.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::fmt::temporal::Pieces;
use jiff::tz::{Offset, TimeZone};

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

/// Why a time is not in a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ViewTimeError {
    /// It cannot be parsed.
    #[error("{text:?} is not a time: write HH:MM:SS, or with the date YYYY-MM-DD HH:MM:SS")]
    Invalid {
        /// As typed.
        text: String,
    },
    /// The time of day is not unique.
    #[error("the recording is from {range}: write the date too, such as {example}")]
    DateMissing {
        /// First and last time.
        range: String,
        /// The time with a date.
        example: String,
    },
    /// The recording has no view at that time.
    #[error("{text} is outside the recording, which is from {range}")]
    Outside {
        /// As typed.
        text: String,
        /// First and last time.
        range: String,
    },
}

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

    fn dates(&self) -> Option<[Date; 2]> {
        Some([
            self.local(self.first_ms)?.date(),
            self.local(self.last_ms)?.date(),
        ])
    }

    /// Whether the recording spans several days.
    #[must_use]
    pub fn spans_days(&self) -> bool {
        self.dates().is_some_and(|[first, last]| first != last)
    }

    /// The time of day, `22:26:19`, with month and day where the recording spans several days.
    #[must_use]
    pub fn label(&self, time_ms: u64) -> String {
        let format = if self.spans_days() {
            "%m-%d %H:%M:%S"
        } else {
            "%H:%M:%S"
        };
        let local = self.local(time_ms);
        local.map_or_else(
            || "n/a".to_owned(),
            |time| time.strftime(format).to_string(),
        )
    }

    /// First and last time with their dates.
    #[must_use]
    pub fn range(&self) -> String {
        let text = |time_ms, format| {
            let local = self.local(time_ms);
            local.map_or_else(
                || "n/a".to_owned(),
                |time| time.strftime(format).to_string(),
            )
        };
        let whole = "%Y-%m-%d %H:%M:%S";
        let end = if self.spans_days() { whole } else { "%H:%M:%S" };
        format!(
            "{} to {}",
            text(self.first_ms, whole),
            text(self.last_ms, end)
        )
    }

    /// The time in milliseconds since 1970 for a text: `HH:MM:SS` or `HH:MM`, with a date before it
    /// where the recording spans several days, or RFC 3339. A time without a fraction means the
    /// whole second: the last view within it counts.
    ///
    /// # Errors
    /// If it is no time, is not unique, or is outside the recording.
    pub fn parse(&self, text: &str) -> Result<u64, ViewTimeError> {
        let text = text.trim();
        let invalid = || ViewTimeError::Invalid {
            text: text.to_owned(),
        };
        let time = match text.parse::<Timestamp>() {
            Ok(time) => time,
            Err(_) => {
                let local = self.parse_local(text)?;
                let zoned = local.to_zoned(TimeZone::fixed(self.offset));
                zoned.map_err(|_| invalid())?.timestamp()
            }
        };
        let milliseconds = u64::try_from(time.as_millisecond()).map_err(|_| invalid())?;
        let second = milliseconds / 1000;
        if second < self.first_ms / 1000 || second > self.last_ms / 1000 {
            return Err(ViewTimeError::Outside {
                text: text.to_owned(),
                range: self.range(),
            });
        }
        Ok(if milliseconds.is_multiple_of(1000) {
            milliseconds + 999
        } else {
            milliseconds
        })
    }

    fn parse_local(&self, text: &str) -> Result<DateTime, ViewTimeError> {
        // A time of day is also read from a text with a date: that one comes first.
        if let Ok(time) = text.parse::<DateTime>() {
            return Ok(time);
        }
        if let Ok(time) = text.parse::<Time>() {
            let example = |day: Date| {
                let time = DateTime::from_parts(day, time);
                time.strftime("%Y-%m-%d %H:%M:%S").to_string()
            };
            return match self.dates() {
                Some([first, last]) if first == last => Ok(DateTime::from_parts(first, time)),
                dates => Err(ViewTimeError::DateMissing {
                    range: self.range(),
                    example: dates.map_or_else(String::new, |[first, _]| example(first)),
                }),
            };
        }
        Err(ViewTimeError::Invalid {
            text: text.to_owned(),
        })
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
            assert!(
                matches!(error, ViewTimeError::Invalid { .. }),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn recording_of_several_days_needs_the_date() {
        let night = times("2026-11-21T22:00:00Z", "2026-11-22T04:00:00Z");
        assert_eq!(
            night.parse("03:00:00").unwrap_err().to_string(),
            "the recording is from 2026-11-21 22:00:00 to 2026-11-22 04:00:00: write the date \
             too, such as 2026-11-21 03:00:00"
        );
        assert!(night.parse("2026-11-22 03:00:00").is_ok());
        assert_eq!(night.label(night.last_ms), "11-22 04:00:00");
    }
}
