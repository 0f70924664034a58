//! The kernel's RWBS flags in words (kernel `blk_fill_rwbs`, kernel/trace/blktrace.c).

/// The meaning of each letter, in order: the operation, before it a flush where one is requested,
/// after it the modifiers.
pub(super) fn meanings(letters: &[u8]) -> Vec<&'static str> {
    let mut words = Vec::new();
    let mut rest = letters;
    match letters {
        [b'F', b'F', ..] => return vec!["flush of the drive's cache"],
        // A leading F requests a flush before the operation, if one follows.
        [b'F', b'R' | b'W' | b'D' | b'N' | b'Z', ..] => {
            words.push("flush before it");
            rest = &letters[1..];
        }
        _ => {}
    }
    let Some((operation, modifiers)) = rest.split_first() else {
        return words;
    };
    words.push(match operation {
        b'R' => "read",
        b'W' => "write",
        b'D' => "discard",
        b'E' => "secure erase",
        b'F' => "flush of the drive's cache",
        b'Z' => "zone management",
        b'N' => "other command",
        _ => "unknown operation",
    });
    for letter in modifiers {
        words.push(match letter {
            b'F' => "forced unit access (FUA)",
            b'A' => "read-ahead",
            b'S' => "synchronous",
            b'M' => "metadata",
            b'U' => "atomic",
            b'E' => "secure erase",
            _ => "unknown flag",
        });
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_spelled_out_in_order() {
        assert_eq!(meanings(b"RA"), ["read", "read-ahead"]);
        assert_eq!(meanings(b"WSM"), ["write", "synchronous", "metadata"]);
        assert_eq!(
            meanings(b"FWFS"),
            [
                "flush before it",
                "write",
                "forced unit access (FUA)",
                "synchronous"
            ]
        );
        assert_eq!(meanings(b"FF"), ["flush of the drive's cache"]);
        assert!(meanings(b"").is_empty());
    }
}
