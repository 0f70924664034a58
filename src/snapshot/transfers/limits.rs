//! Whether the arguments of a program limit its rate.

/// Programs with the options that limit their rate: a word, or the prefix of one.
const RATE_LIMIT_OPTIONS: [(&[u8], &[&str]); 7] = [
    (b"rsync", &["--bwlimit"]),
    (b"pv", &["-L", "--rate-limit"]),
    (b"scp", &["-l"]),
    (b"curl", &["--limit-rate"]),
    (b"wget", &["--limit-rate"]),
    (b"mbuffer", &["-r", "-R"]),
    (b"cstream", &["-t"]),
];

/// Whether the arguments, each terminated by a zero byte, limit the rate of the program with this
/// name.
#[must_use]
pub fn is_rate_limited(name: &[u8], arguments: &[u8]) -> bool {
    let options = RATE_LIMIT_OPTIONS
        .iter()
        .find(|(program, _)| *program == name)
        .map_or(&[][..], |(_, options)| options);
    arguments.split(|byte| *byte == 0).any(|word| {
        options
            .iter()
            .any(|option| word.starts_with(option.as_bytes()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_limit_options_are_recognized() {
        assert!(is_rate_limited(
            b"rsync",
            b"rsync\0-a\0--bwlimit=8m\0a\0b\0"
        ));
        assert!(is_rate_limited(b"pv", b"pv\0-L\x001m\0"));
        assert!(!is_rate_limited(b"rsync", b"rsync\0-a\0a\0b\0"));
        assert!(!is_rate_limited(b"cp", b"cp\0--bwlimit=8m\0"));
    }
}
