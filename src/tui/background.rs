//! The background colour of the terminal: the question, the answer, and the variable of terminals
//! that state it in the environment.

use crate::tui::theme::Background;

/// The question (OSC 11). The answer is `ESC ] 11 ; rgb:RRRR/GGGG/BBBB`, ended as the question is
/// (BEL) or by `ESC \`.
pub(super) const BACKGROUND_QUERY: &[u8] = b"\x1b]11;?\x07";

/// How every answer begins, after `ESC ]`. Nobody types this.
const ANSWER_START: &str = "11;rgb";
/// Longest answer in characters: four numbers of four digits (`rgba`).
const MAX_ANSWER: usize = "11;rgba:ffff/ffff/ffff/ffff".len();

/// Terminals that answer or ignore the question. Others, such as old consoles, may print it.
const KNOWN_TERMINALS: [&str; 12] = [
    "xterm",
    "tmux",
    "screen",
    "rxvt",
    "alacritty",
    "foot",
    "kitty",
    "wezterm",
    "ghostty",
    "contour",
    "konsole",
    "st-",
];

/// Whether the terminal of this name can be asked.
pub(super) fn can_be_asked(term: &str) -> bool {
    KNOWN_TERMINALS.iter().any(|known| term.starts_with(known))
}

/// The background that `COLORFGBG` states, such as `15;0`: the last number is that of the colour.
pub(super) fn from_colorfgbg(value: &str) -> Option<Background> {
    match value.rsplit(';').next()?.parse::<u8>().ok()? {
        0..=6 | 8 => Some(Background::Dark),
        7 | 9..=15 => Some(Background::Light),
        _ => None,
    }
}

/// How much of an answer a text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AnswerPart {
    /// It can become an answer, and keys that a person types can look the same.
    Possible,
    /// It is the beginning of an answer.
    Certain,
    /// It is no answer.
    No,
}

/// How much of an answer this text is, without the `ESC ]` before it.
pub(super) fn answer_part(text: &str) -> AnswerPart {
    if ANSWER_START.starts_with(text) && text.len() < ANSWER_START.len() {
        return AnswerPart::Possible;
    }
    let Some(colour) = text.strip_prefix(ANSWER_START) else {
        return AnswerPart::No;
    };
    let colour = colour.strip_prefix('a').unwrap_or(colour);
    let mut letters = colour.chars();
    let fits = matches!(letters.next(), None | Some(':'))
        && letters.all(|letter| letter.is_ascii_hexdigit() || letter == '/')
        && text.len() <= MAX_ANSWER;
    if fits {
        AnswerPart::Certain
    } else {
        AnswerPart::No
    }
}

/// The background of an answer without its frame: `11;rgb:ffff/ffff/ffff`.
pub(super) fn parse_answer(answer: &str) -> Option<Background> {
    let colour = answer.strip_prefix(ANSWER_START)?;
    let colour = colour.strip_prefix('a').unwrap_or(colour);
    let mut parts = colour.strip_prefix(':')?.split('/').map(|part| {
        let most = 16_u32
            .checked_pow(part.len().try_into().ok()?)?
            .checked_sub(1)?;
        let value = u32::from_str_radix(part, 16).ok()?;
        (most > 0).then(|| f64::from(value) / f64::from(most))
    });
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    // Luma of ITU-R BT.709: enough to tell dark from light.
    let luma = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    Some(match luma > 0.5 {
        true => Background::Light,
        false => Background::Dark,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answer_tells_dark_from_light() {
        for (answer, expected) in [
            ("11;rgb:0000/0000/0000", Some(Background::Dark)),
            ("11;rgb:ffff/ffff/ffff", Some(Background::Light)),
            ("11;rgb:fd/f6/e3", Some(Background::Light)),
            ("11;rgb:f/f/f", Some(Background::Light)),
            ("11;rgba:0000/2b2b/3636/ffff", Some(Background::Dark)),
            ("10;rgb:ffff/ffff/ffff", None),
            ("11;rgb:", None),
            ("11;rgb:ffff/ffff", None),
            ("11;rgb:gg/00/00", None),
            ("11;rgb:fffffffff/0/0", None),
            ("", None),
        ] {
            assert_eq!(parse_answer(answer), expected, "{answer}");
        }
    }

    #[test]
    fn part_of_an_answer_is_recognized() {
        for (text, expected) in [
            ("", AnswerPart::Possible),
            ("11;rg", AnswerPart::Possible),
            ("11;rgb", AnswerPart::Certain),
            ("11;rgba:00/", AnswerPart::Certain),
            ("11;rgb:ffff/ffff/ffff", AnswerPart::Certain),
            ("11;rgbq", AnswerPart::No),
            ("11;rgb:fq", AnswerPart::No),
            ("12", AnswerPart::No),
            ("q", AnswerPart::No),
        ] {
            assert_eq!(answer_part(text), expected, "{text}");
        }
        let long = format!("11;rgb:{}", "f".repeat(MAX_ANSWER));
        assert_eq!(answer_part(&long), AnswerPart::No);
    }

    #[test]
    fn colorfgbg_names_the_background_last() {
        for (value, expected) in [
            ("15;0", Some(Background::Dark)),
            ("0;default;15", Some(Background::Light)),
            ("0;7", Some(Background::Light)),
            ("default", None),
            ("", None),
        ] {
            assert_eq!(from_colorfgbg(value), expected, "{value}");
        }
    }

    #[test]
    fn only_known_terminals_are_asked() {
        assert!(can_be_asked("xterm-256color") && can_be_asked("tmux-256color"));
        assert!(!can_be_asked("linux") && !can_be_asked("dumb") && !can_be_asked("vt100"));
    }
}
