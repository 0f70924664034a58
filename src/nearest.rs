//! Suggests the known name nearest to a misspelt one.

/// Maximum edit distance for a name of that many letters.
fn max_edit_distance(letters: usize) -> usize {
    match letters {
        0..=2 => 0,
        3..=4 => 1,
        5..=8 => 2,
        _ => 3,
    }
}

/// The nearest of the known names; `None` if none is similar enough.
pub fn nearest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = max_edit_distance(name.chars().count());
    let distances = known
        .into_iter()
        .map(|other| (edit_distance(name, other), other));
    let (least, other) = distances.min()?;
    (least <= most).then_some(other)
}

/// `, did you mean depth?`; empty if no known name is similar enough.
pub fn suggestion<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest_name(name, known).map_or_else(String::new, |other| format!(", did you mean {other}?"))
}

/// Number of insertions, deletions, replacements and transpositions of adjacent letters (optimal
/// string alignment).
fn edit_distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows = vec![(0..=other.len()).collect::<Vec<usize>>()];
    for (i, letter) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, against) in other.iter().enumerate() {
            let replaced = rows[i][j] + usize::from(letter != against);
            let least = replaced.min(rows[i][j + 1] + 1).min(row[j] + 1);
            let exchanged = i > 0 && j > 0 && *letter == other[j - 1] && one[i - 1] == *against;
            row.push(match exchanged {
                true => least.min(rows[i - 1][j - 1] + 1),
                false => least,
            });
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_name_of_misspelt_name_is_found() {
        let known = [
            "depth",
            "block-size",
            "workers",
            "window-end",
            "window-begin",
        ];
        for (name, expected) in [
            ("dept", Some("depth")),
            ("detph", Some("depth")),
            ("blocksize", Some("block-size")),
            ("window-edn", Some("window-end")),
            ("colour", None),
            ("x", None),
        ] {
            assert_eq!(nearest_name(name, known), expected, "{name}");
        }
        assert_eq!(nearest_name("depth", []), None);
    }

    #[test]
    fn edit_distance_counts_letters() {
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("kitten", "sitting", 3),
            ("ab", "ba", 1),
        ] {
            assert_eq!(edit_distance(one, other), expected, "{one} {other}");
        }
    }
}
