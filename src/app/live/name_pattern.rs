//! Patterns of device names.

/// Whether a name matches a pattern, in which `*` stands for any characters.
#[must_use]
pub fn matches_pattern(name: &str, pattern: &str) -> bool {
    let Some((before, rest)) = pattern.split_once('*') else {
        return name == pattern;
    };
    let Some(mut left) = name.strip_prefix(before) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(position) => left = &left[position + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn star_in_pattern_stands_for_any_characters() {
        for (name, pattern, expected) in [
            ("loop0", "loop*", true),
            ("sr0", "sr0", true),
            ("sr01", "sr0", false),
            ("nvme0n1p2", "nvme*p*", true),
            ("nvme0n1", "nvme*p*", false),
            ("sda", "*", true),
            ("vda1", "*a1", true),
            ("ab", "ab*b", false),
            ("dm-1", "loop*", false),
        ] {
            assert_eq!(matches_pattern(name, pattern), expected, "{name} {pattern}");
        }
    }
}
