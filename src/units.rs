//! Parses and formats sizes, rates and durations.
//!
//! Rates and capacities are decimal (MB/s, GB), block sizes and buffers binary (KiB, MiB), and
//! labelled as such. An ambiguous unit is an error that states both ways to write it.

pub mod nanoseconds;

use std::time::Duration;

use jiff::SignedDuration;

/// Decimal and binary units by power, largest first.
const UNITS: [(&str, u64); 10] = [
    ("PiB", 1 << 50),
    ("PB", 1_000_000_000_000_000),
    ("TiB", 1 << 40),
    ("TB", 1_000_000_000_000),
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("kB", 1_000),
];

/// Unit of a metric of the running machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// No number.
    Text,
    /// A number of things.
    Count,
    /// Events per second.
    PerSecond,
    /// Bytes per second.
    BytesPerSecond,
    /// An amount of data.
    Bytes,
    /// Size of a request.
    RequestBytes,
    /// Nanoseconds.
    Nanoseconds,
    /// A fraction: 1 is the whole.
    Ratio,
}

impl Unit {
    /// Its symbol in JSON, in which values are unrounded; empty for texts.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Text => "",
            Self::Count => "1",
            Self::PerSecond => "1/s",
            Self::BytesPerSecond => "B/s",
            Self::Bytes | Self::RequestBytes => "B",
            Self::Nanoseconds => "ns",
            Self::Ratio => "ratio",
        }
    }

    /// The base unit of OpenMetrics, which ends the name of a gauge, and how many of this unit it is;
    /// empty for numbers and rates.
    #[must_use]
    pub fn base(self) -> (&'static str, f64) {
        match self {
            Self::Text | Self::Count | Self::PerSecond | Self::BytesPerSecond => ("", 1.0),
            Self::Bytes | Self::RequestBytes => ("bytes", 1.0),
            Self::Nanoseconds => ("seconds", 1e9),
            Self::Ratio => ("ratio", 1.0),
        }
    }

    /// The unit of [`cell`](Self::cell); empty for numbers.
    #[must_use]
    pub fn cell_unit(self) -> &'static str {
        match self {
            Self::Text | Self::Count => "",
            Self::PerSecond => "1/s",
            Self::BytesPerSecond => "MB/s",
            Self::Bytes => "MB",
            Self::RequestBytes => "KiB",
            Self::Nanoseconds => "ms",
            Self::Ratio => "%",
        }
    }

    /// Formats a value for a column of a table, in the same unit for all values.
    #[must_use]
    pub fn cell(self, value: f64) -> String {
        match self {
            Self::BytesPerSecond | Self::Bytes => small_number(value / 1e6),
            Self::RequestBytes => small_number(value / 1024.0),
            Self::Nanoseconds => small_number(value / 1e6),
            Self::Ratio => format!("{:.0}", value * 100.0),
            Self::Count if value.fract() == 0.0 => format!("{value:.0}"),
            Self::Text | Self::Count | Self::PerSecond => small_number(value),
        }
    }

    /// Formats a value with the unit that suits it: `61.2 ms`, `20 %`, `512 MB/s`.
    #[must_use]
    pub fn format(self, value: f64) -> String {
        match self {
            Self::Text | Self::Count => format_count(value),
            Self::PerSecond => format!("{} /s", format_count(value)),
            Self::BytesPerSecond => format_throughput(value),
            Self::Bytes | Self::RequestBytes => format_capacity(value),
            Self::Nanoseconds if value >= 1e9 => format_wait(Duration::from_nanos(value as u64)),
            Self::Nanoseconds => format_latency(value),
            Self::Ratio => format_percent(value),
        }
    }
}

/// Three digits; what is not 0 is not rounded to 0.
fn small_number(value: f64) -> String {
    if value > 0.0 && value < 0.005 {
        "<0.01".to_owned()
    } else {
        format_three_digits(value)
    }
}

/// A hundred years; its nanoseconds fit into 64 bits.
const MAX_DURATION: Duration = Duration::from_secs(100 * 365 * 86_400);

/// The text is not a valid size, rate or duration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct UnitError(String);

/// A duration in whole milliseconds; the largest number if they are more.
#[must_use]
pub fn whole_milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Parses a size in bytes: `4096`, `4096B`, `4KiB`, `1.5GB`.
///
/// # Errors
/// When it is not a size, not a whole number of bytes, too large, or ambiguous: `4K` may mean 4000
/// or 4096, and the message states both ways to write it.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let text = text.trim();
    let digits = text
        .find(|letter: char| !letter.is_ascii_digit() && letter != '.')
        .unwrap_or(text.len());
    let (number, unit) = (&text[..digits], text[digits..].trim_start());
    let factor = factor_of(unit, number)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(UnitError(
            "write a size such as 4096, 4KiB or 1GB".to_owned(),
        ));
    }
    let whole = digits_times(whole, factor).ok_or_else(too_large)?;
    whole
        .checked_add(fraction_times(fraction, factor)?)
        .ok_or_else(too_large)
}

fn too_large() -> UnitError {
    UnitError("is too large".to_owned())
}

fn digits_times(digits: &str, factor: u64) -> Option<u64> {
    let number = match digits {
        "" => 0,
        digits => digits.parse::<u64>().ok()?,
    };
    number.checked_mul(factor)
}

/// The exact value of the digits after the decimal point. In floating point, 1.001 kB would not be
/// a whole number of bytes. Uses long division from the last digit on, where every step must have
/// no remainder.
///
/// As many digits as this program prints are rounded to whole bytes, so that its output can be used
/// as input.
fn fraction_times(digits: &str, factor: u64) -> Result<u64, UnitError> {
    const MAX_FRACTION_DIGITS: usize = 3;
    if digits.len() <= MAX_FRACTION_DIGITS && factor >= 1000 {
        let thousandths: u64 = format!("{digits:0<MAX_FRACTION_DIGITS$}")
            .parse()
            .unwrap_or(0);
        let product = u128::from(thousandths) * u128::from(factor);
        return u64::try_from((product + 500) / 1000).map_err(|_| too_large());
    }
    let mut digits = digits.trim_end_matches('0').bytes().rev();
    digits
        .try_fold(0, |below, digit| {
            let tenfold = u64::from(digit - b'0') * factor + below;
            tenfold.is_multiple_of(10).then_some(tenfold / 10)
        })
        .ok_or_else(|| UnitError("is not a whole number of bytes".to_owned()))
}

fn factor_of(unit: &str, number: &str) -> Result<u64, UnitError> {
    if unit.is_empty() || unit == "B" {
        return Ok(1);
    }
    if let Some((_, factor)) = UNITS
        .iter()
        .find(|(name, _)| *name == unit || unit == normalized_unit_name(name))
    {
        return Ok(*factor);
    }
    let letter = unit.chars().next().unwrap_or_default().to_ascii_uppercase();
    if "KMGTP".contains(letter) {
        let decimal = if letter == 'K' { 'k' } else { letter };
        let bytes = |unit: &str| match parse_size(&format!("{number}{unit}")) {
            Ok(bytes) => format!(", {bytes} bytes"),
            Err(_) => String::new(),
        };
        let (decimal, binary) = (format!("{decimal}B"), format!("{letter}iB"));
        return Err(UnitError(format!(
            "is ambiguous: write {number}{binary} (binary{}) or {number}{decimal} (decimal{})",
            bytes(&binary),
            bytes(&decimal)
        )));
    }
    Err(UnitError(format!(
        "has no unit {unit:?}: write B, kB, MB, GB, TB, PB (decimal) or KiB, MiB, GiB, TiB, PiB (binary)"
    )))
}

/// `KB` for `kB`: the case of the prefix is irrelevant.
fn normalized_unit_name(name: &str) -> &str {
    if name == "kB" { "KB" } else { name }
}

/// Parses a duration: `500us`, `10ms`, `2s`, `1m`, `1.5s`.
///
/// # Errors
/// When it is not a duration, is negative, has no unit, or exceeds a hundred years, because clocks
/// to which it is added would overflow.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let text = text.trim();
    if text.parse::<f64>().is_ok() {
        return Err(UnitError(format!("has no unit: write {text}s or {text}ms")));
    }
    text.parse::<SignedDuration>()
        .ok()
        .and_then(|duration| Duration::try_from(duration).ok())
        .filter(|duration| *duration <= MAX_DURATION)
        .ok_or_else(|| UnitError("write a duration such as 500us, 10ms, 2s or 1m".to_owned()))
}

/// Parses a time to wait or to run, as [`parse_duration`]; a bare number is seconds, as in the
/// interval of iostat and the runtime of fio.
///
/// # Errors
/// As [`parse_duration`], except for a missing unit.
pub fn parse_time(text: &str) -> Result<Duration, UnitError> {
    match text.trim().parse::<f64>() {
        Ok(_) => parse_duration(&format!("{}s", text.trim())),
        Err(_) => parse_duration(text),
    }
}

/// The size, or range of sizes, with fio's prefixes `k`, `m`, `g`, `t` and `p` written as binary units:
/// `4k` becomes `4KiB`, `4k-64k` becomes `4KiB-64KiB`. Everything else is unchanged.
#[must_use]
pub fn expand_fio_units(text: &str) -> String {
    let expanded = text.split('-').map(|size| {
        let size = size.trim();
        let prefix = size.chars().next_back().map(|it| it.to_ascii_uppercase());
        match prefix.filter(|it| "KMGTP".contains(*it)) {
            Some(prefix) => format!("{}{prefix}iB", &size[..size.len() - 1]),
            None => size.to_owned(),
        }
    });
    expanded.collect::<Vec<_>>().join("-")
}

/// Parses a rate per second: `1000/s`, `2.5k/s`, or a bare number.
///
/// # Errors
/// When it is not a rate, or not above 0.
pub fn parse_rate(text: &str) -> Result<f64, UnitError> {
    let number = text.trim().trim_end_matches("/s");
    let (number, factor) = match number.strip_suffix('k') {
        Some(thousands) => (thousands, 1e3),
        None => (
            number.strip_suffix('M').unwrap_or(number),
            if number.ends_with('M') { 1e6 } else { 1.0 },
        ),
    };
    number
        .parse::<f64>()
        .ok()
        .map(|rate| rate * factor)
        .filter(|rate| rate.is_finite() && *rate > 0.0)
        .ok_or_else(|| UnitError("write a rate per second such as 1000/s".to_owned()))
}

/// Formats a size exactly, so that [`parse_size`] returns the same value, with as few digits as any
/// unit allows: `12.5GiB`, `1.5GB`, `4097B`. On a tie the larger unit comes first.
#[must_use]
pub fn format_exact_size(bytes: u64) -> String {
    let (number, unit) = shortest_exact_form(bytes);
    format!("{number}{unit}")
}

/// The shortest exact number for that many bytes, and its unit.
fn shortest_exact_form(bytes: u64) -> (String, &'static str) {
    let scaled = |(name, factor): &(&'static str, u64)| {
        (bytes >= *factor)
            .then(|| exact_decimal(bytes.into(), (*factor).into()).map(|number| (number, *name)))?
    };
    UNITS
        .iter()
        .filter_map(scaled)
        .chain([(bytes.to_string(), "B")])
        .min_by_key(|(number, _)| number.len())
        .unwrap_or_default()
}

/// A quotient with at most three decimal places; `None` where that is not exact.
fn exact_decimal(value: u128, factor: u128) -> Option<String> {
    const THOUSAND: u128 = 1000;
    let thousandths = value * THOUSAND;
    if !thousandths.is_multiple_of(factor) {
        return None;
    }
    let fraction = format!("{:03}", thousandths / factor % THOUSAND);
    Some(match fraction.trim_end_matches('0') {
        "" => (value / factor).to_string(),
        digits => format!("{}.{digits}", value / factor),
    })
}

/// Maximum number of characters, decimal point included, of an exact size.
const MAX_EXACT_DIGITS: usize = 6;

/// Formats the size of a target, of a scratch file or of planned I/O: exactly, in the unit in which
/// it was probably specified, where that is short (`12.5 GiB`, `1.5 GB`), otherwise in decimal
/// units with three digits. [`parse_size`] parses both.
#[must_use]
pub fn format_size(bytes: u64) -> String {
    match shortest_exact_form(bytes) {
        (number, unit) if number.len() <= MAX_EXACT_DIGITS => format!("{number} {unit}"),
        _ => format_capacity(bytes as f64),
    }
}

/// Formats a duration exactly, so that [`parse_duration`] returns the same value.
#[must_use]
pub fn format_exact_duration(duration: Duration) -> String {
    if duration.is_zero() {
        return "0s".to_owned();
    }
    let nanoseconds = duration.as_nanos();
    [
        ("h", 3_600_000_000_000),
        ("m", 60_000_000_000),
        ("s", 1_000_000_000),
        ("ms", 1_000_000),
        ("us", 1_000),
    ]
    .iter()
    .filter(|(_, factor)| nanoseconds >= *factor)
    .filter_map(|(name, factor)| Some((exact_decimal(nanoseconds, *factor)?, *name)))
    .chain([(nanoseconds.to_string(), "ns")])
    .min_by_key(|(number, _)| number.len())
    .map(|(number, name)| format!("{number}{name}"))
    .unwrap_or_default()
}

/// Formats three significant digits for a column of values: `1.23`, `12.3`, `123`.
#[must_use]
pub fn format_three_digits(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude >= 99.95 || magnitude == 0.0 {
        format!("{value:.0}")
    } else if magnitude >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

fn scale_to_unit(value: f64, base: f64, units: &[&'static str]) -> (f64, &'static str) {
    let mut value = value;
    let mut unit = 0;
    // 999.5 would be formatted as 1000 of the smaller unit.
    while value.abs() >= base - 0.5 && unit + 1 < units.len() {
        value /= base;
        unit += 1;
    }
    (value, units[unit])
}

/// Formats a capacity or an amount of data in decimal units: `1.92 TB`.
#[must_use]
pub fn format_capacity(bytes: f64) -> String {
    let (value, unit) = scale_to_unit(bytes, 1000.0, &["B", "kB", "MB", "GB", "TB", "PB"]);
    if unit == "B" {
        format!("{value:.0} B")
    } else {
        format!("{} {unit}", format_three_digits(value))
    }
}

/// Formats a throughput in decimal units: `512 MB/s`.
#[must_use]
pub fn format_throughput(bytes_per_second: f64) -> String {
    format!("{}/s", format_capacity(bytes_per_second))
}

/// Formats a block or buffer size in binary units: `4 KiB`.
#[must_use]
pub fn format_block_size(bytes: f64) -> String {
    let (value, unit) = scale_to_unit(bytes, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]);
    if value.fract() == 0.0 {
        format!("{value} {unit}")
    } else {
        format!("{} {unit}", format_three_digits(value))
    }
}

/// Formats a number of events in decimal units: `12.3k`.
#[must_use]
pub fn format_count(value: f64) -> String {
    let (scaled_value, unit) = scale_to_unit(value, 1000.0, &["", "k", "M", "G", "T"]);
    if unit.is_empty() && value.fract() == 0.0 {
        return format!("{value:.0}");
    }
    format!("{}{unit}", format_three_digits(scaled_value))
}

/// Formats a latency: `78.1 us`, `11.2 ms`.
#[must_use]
pub fn format_latency(nanoseconds: f64) -> String {
    let (value, unit) = scale_to_unit(nanoseconds, 1000.0, &["ns", "us", "ms", "s"]);
    format!("{} {unit}", format_three_digits(value))
}

/// Formats a long duration: `2.8 s`, `6m04s`, `3h12m`, `4d06h`.
#[must_use]
pub fn format_wait(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 9.95 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.round() as u64;
    match whole {
        0..=59 => format!("{whole} s"),
        60..=3599 => format!("{}m{:02}s", whole / 60, whole % 60),
        3600..=86_399 => format!("{}h{:02}m", whole / 3600, whole % 3600 / 60),
        _ => format!("{}d{:02}h", whole / 86_400, whole % 86_400 / 3600),
    }
}

/// Formats an RFC 3339 time as `2026-02-03 14:05:06`; adds that it is UTC where it is.
#[must_use]
pub fn format_time(rfc3339: &str) -> String {
    let end = rfc3339
        .char_indices()
        .nth(19)
        .map_or(rfc3339.len(), |(end, _)| end);
    let zone = if rfc3339.ends_with('Z') { " UTC" } else { "" };
    format!("{}{zone}", rfc3339[..end].replacen('T', " ", 1))
}

/// Formats a predicted duration, marked as such and in whole seconds: `~9 s`, `~6m04s`.
#[must_use]
pub fn format_estimate(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if (1.0..9.95).contains(&seconds) {
        format!("~{seconds:.0} s")
    } else {
        format!("~{}", format_wait(duration))
    }
}

/// Formats a fraction (0 to 1) in percent: `12 %`, `0.3 %`.
#[must_use]
pub fn format_percent(share: f64) -> String {
    let percent = share * 100.0;
    if percent != 0.0 && percent.abs() < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn parse_size_accepts_decimal_and_binary_units() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("512B", 512),
            ("4KiB", 4096),
            ("4kB", 4000),
            ("4KB", 4000),
            (" 1.5 GiB ", 1_610_612_736),
            ("1.001kB", 1001),
            (".5KiB", 512),
            ("18014398509481985.0", 18_014_398_509_481_985),
            ("0.0000000000009094947017729282379150390625TiB", 1),
            ("2TB", 2_000_000_000_000),
            ("1TiB", 1 << 40),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn parse_size_of_ambiguous_unit_names_both_spellings() {
        for text in ["4K", "4k", "1M", "2g", "4mb", "4kib"] {
            let message = parse_size(text).unwrap_err().to_string();
            assert!(
                message.contains("decimal") && message.contains("binary"),
                "{text}: {message}"
            );
        }
        assert_eq!(
            parse_size("4k").unwrap_err().to_string(),
            "is ambiguous: write 4KiB (binary, 4096 bytes) or 4kB (decimal, 4000 bytes)"
        );
    }

    #[test]
    fn parse_size_of_invalid_text_is_refused() {
        for text in [
            "",
            "KiB",
            "-1",
            "1.2.3GB",
            ".",
            ".B",
            "0.0005kB",
            "1.0001kB5",
            "ten",
            "99999999999TB",
            "0.1B",
            "4 parsecs",
            "NaN",
        ] {
            assert!(parse_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parse_duration_without_unit_is_refused() {
        assert_eq!(parse_duration("500us"), Ok(Duration::from_micros(500)));
        assert_eq!(parse_duration("10ms"), Ok(Duration::from_millis(10)));
        assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse_duration("1m"), Ok(Duration::from_secs(60)));
        for text in ["10", "", "-1s", "soon", "1 parsec", "876001h"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parse_time_of_bare_number_is_seconds() {
        assert_eq!(parse_time("10"), Ok(Duration::from_secs(10)));
        assert_eq!(parse_time(" 0.5 "), Ok(Duration::from_millis(500)));
        assert_eq!(parse_time("500ms"), Ok(Duration::from_millis(500)));
        for text in ["", "-1", "soon", "NaN", "inf", "1e400", "4e9"] {
            assert!(parse_time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn fio_units_are_binary() {
        for (text, expanded) in [
            ("4k", "4KiB"),
            ("4K", "4KiB"),
            ("1m", "1MiB"),
            ("4k-64k", "4KiB-64KiB"),
            ("4096", "4096"),
            ("4kB", "4kB"),
            ("4KiB", "4KiB"),
            ("", ""),
            ("k", "KiB"),
        ] {
            assert_eq!(expand_fio_units(text), expanded);
        }
    }

    #[test]
    fn parse_rate_is_per_second() {
        assert_eq!(parse_rate("1000/s"), Ok(1000.0));
        assert_eq!(parse_rate("2.5k/s"), Ok(2500.0));
        assert_eq!(parse_rate("1M"), Ok(1e6));
        for text in ["0", "-1/s", "fast", "", "inf", "NaN"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn formatted_values_keep_three_digits() {
        assert_eq!(format_capacity(999.0), "999 B");
        assert_eq!(format_capacity(999_600.0), "1.00 MB");
        assert_eq!(format_capacity(1_920_383_410_176.0), "1.92 TB");
        assert_eq!(format_throughput(98_300_000.0), "98.3 MB/s");
        assert_eq!(format_block_size(4096.0), "4 KiB");
        assert_eq!(format_block_size(5000.0), "4.88 KiB");
        assert_eq!(format_latency(78_125.0), "78.1 us");
        assert_eq!(format_count(83_915.2), "83.9k");
        assert_eq!(format_count(310.0), "310");
        assert_eq!(format_percent(0.003), "0.3 %");
        assert_eq!(format_percent(0.0), "0 %");
        assert_eq!(format_wait(Duration::from_millis(2800)), "2.8 s");
        assert_eq!(format_wait(Duration::from_secs(364)), "6m04s");
        assert_eq!(format_wait(Duration::from_secs(11_520)), "3h12m");
    }

    #[test]
    fn zero_duration_is_formatted_in_seconds() {
        assert_eq!(format_exact_duration(Duration::ZERO), "0s");
        assert_eq!(parse_duration("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn formatted_size_equals_typed_size() {
        for text in [
            "12.5GiB", "1GiB", "1.5GB", "100GB", "4KiB", "512B", "2.5PiB",
        ] {
            let bytes = parse_size(text).unwrap();
            assert_eq!(format_exact_size(bytes), text);
            assert_eq!(format_size(bytes).replace(' ', ""), text);
        }
        assert_eq!(format_size(500_107_862_016), "500 GB");
        assert_eq!(format_size(4097), "4097 B");
        assert_eq!(format_size(0), "0 B");
        assert_eq!(format_exact_duration(Duration::from_millis(1500)), "1.5s");
        assert_eq!(format_exact_duration(Duration::from_secs(90)), "90s");
    }

    /// The parsed value differs by at most half of the last digit.
    fn reads_back_within_precision(bytes: u64, text: &str) -> bool {
        let read = parse_size(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        // Three digits: half a unit of the last one in 1.00 is half a percent.
        bytes.abs_diff(read) as f64 <= 0.005 * bytes as f64 + 0.5
    }

    proptest! {
        #[test]
        fn formatted_size_parses_back_within_precision(bytes in any::<u64>(), shift in 0_u32..64) {
            let bytes = bytes >> shift;
            prop_assume!(bytes < 1 << 60);
            for text in [format_size(bytes), format_capacity(bytes as f64), format_block_size(bytes as f64)] {
                prop_assert!(reads_back_within_precision(bytes, &text), "{} {}", bytes, text);
            }
        }

        #[test]
        fn formatted_whole_and_half_binary_sizes_are_exact(number in 1_u64..2000, power in 1_u32..5) {
            for bytes in [number << (10 * power), (number << (10 * power)) + (1 << (10 * power - 1))] {
                prop_assert_eq!(parse_size(&format_size(bytes)), Ok(bytes));
                prop_assert_eq!(parse_size(&format_exact_size(bytes)), Ok(bytes));
            }
        }

        #[test]
        fn formatted_exact_size_parses_back(bytes in any::<u64>()) {
            prop_assert_eq!(parse_size(&format_exact_size(bytes)), Ok(bytes));
        }

        #[test]
        fn formatted_exact_duration_parses_back(nanoseconds in 0..MAX_DURATION.as_nanos() as u64) {
            let duration = Duration::from_nanos(nanoseconds);
            prop_assert_eq!(parse_duration(&format_exact_duration(duration)), Ok(duration));
        }

        #[test]
        fn unit_parsers_never_panic(text in ".*") {
            let _ = (parse_size(&text), parse_duration(&text), parse_rate(&text));
        }
    }

    #[test]
    fn times_are_formatted_to_seconds() {
        for (rfc3339, text) in [
            ("2026-02-03T14:05:06.123456789Z", "2026-02-03 14:05:06 UTC"),
            ("2026-02-03T14:05:06+01:00", "2026-02-03 14:05:06"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(format_time(rfc3339), text);
        }
    }
}
