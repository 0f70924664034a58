//! Times for the reader of the page.

/// Formats a time as `2 January 2026, 03:04 +00:00`; RFC 3339 has a `T` and many decimals.
pub(super) fn format_timestamp(rfc3339: &str) -> String {
    let Ok(time) = rfc3339.parse::<jiff::Timestamp>() else {
        return rfc3339.to_owned();
    };
    let offset = jiff::fmt::strtime::parse("%Y-%m-%dT%H:%M:%S%.f%:z", rfc3339)
        .ok()
        .and_then(|parsed| parsed.offset())
        .unwrap_or(jiff::tz::Offset::UTC);
    let zoned = time.to_zoned(jiff::tz::TimeZone::fixed(offset));
    zoned.strftime("%-d %B %Y, %H:%M %:z").to_string()
}
