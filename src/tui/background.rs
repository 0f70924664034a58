//! Asks the terminal for its background colour (OSC 11). Nothing waits for the answer: the first frame
//! is drawn without it, and the answer is taken out of the input whenever it arrives, so that none of its
//! characters is a key.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use futures_util::{Stream, StreamExt};

use crate::ui::theme::Background;

/// The question. The answer is `ESC ] 11 ; rgb:RRRR/GGGG/BBBB`, ended as the question is (BEL) or by
/// `ESC \`.
pub(super) const BACKGROUND_QUERY: &str = "\x1b]11;?\x07";

/// How every answer begins.
const ANSWER_START: &str = "11;rgb";
/// Longest answer in characters; what is longer is not one.
const MAX_ANSWER: usize = 64;

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

/// The background of an answer without its frame: `11;rgb:ffff/ffff/ffff`.
fn parse_answer(answer: &str) -> Option<Background> {
    let colour = answer.strip_prefix("11;rgb")?.trim_start_matches('a');
    let mut parts = colour.strip_prefix(':')?.split('/').map(|part| {
        let most = 16_u32
            .checked_pow(part.len().try_into().ok()?)?
            .checked_sub(1)?;
        let value = u32::from_str_radix(part, 16).ok()?;
        (most > 0).then(|| f64::from(value) / f64::from(most))
    });
    let (red, green, blue) = (parts.next()??, parts.next()??, parts.next()??);
    // Relative luminance of ITU-R BT.709, without gamma: enough to tell dark from light.
    let luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    Some(match luminance > 0.5 {
        true => Background::Light,
        false => Background::Dark,
    })
}

/// What an event is to the filter.
#[derive(Debug, PartialEq, Eq)]
enum Filtered {
    /// An event of the user.
    Pass,
    /// A part of the answer.
    Swallow,
    /// The end of the answer, with what it says.
    Answer(Option<Background>),
}

/// Recognizes the answer among key events: crossterm passes its characters on as keys, the first one,
/// `ESC ]`, as Alt-].
#[derive(Debug, Default)]
struct AnswerFilter {
    answer: Option<String>,
}

impl AnswerFilter {
    fn filter(&mut self, event: &Event) -> Filtered {
        let Event::Key(KeyEvent {
            code: KeyCode::Char(letter),
            modifiers,
            ..
        }) = event
        else {
            return Filtered::Pass;
        };
        let has = |modifier| modifiers.contains(modifier);
        let Some(answer) = &mut self.answer else {
            if *letter == ']' && has(KeyModifiers::ALT) {
                self.answer = Some(String::new());
                return Filtered::Swallow;
            }
            return Filtered::Pass;
        };
        let is_end = (*letter == 'g' && has(KeyModifiers::CONTROL))
            || (*letter == '\\' && has(KeyModifiers::ALT));
        if is_end || answer.len() >= MAX_ANSWER {
            let background = parse_answer(answer);
            self.answer = None;
            return Filtered::Answer(background);
        }
        answer.push(*letter);
        if !ANSWER_START.starts_with(answer.as_str()) && !answer.starts_with(ANSWER_START) {
            // Not the answer: the keys that follow are the user's.
            self.answer = None;
            return Filtered::Pass;
        }
        Filtered::Swallow
    }
}

/// Events of the terminal without the answer, which is passed to a function.
pub(super) struct WithoutAnswer<S, F> {
    events: S,
    filter: AnswerFilter,
    tell: F,
}

impl<S, F> WithoutAnswer<S, F> {
    pub(super) fn new(events: S, tell: F) -> Self {
        Self {
            events,
            filter: AnswerFilter::default(),
            tell,
        }
    }
}

impl<S, F> Stream for WithoutAnswer<S, F>
where
    S: Stream<Item = io::Result<Event>> + Unpin,
    F: FnMut(Background) + Unpin,
{
    type Item = io::Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let polled = self.events.poll_next_unpin(cx);
            let Poll::Ready(Some(Ok(event))) = &polled else {
                return polled;
            };
            match self.filter.filter(event) {
                Filtered::Pass => return polled,
                Filtered::Swallow | Filtered::Answer(None) => {}
                Filtered::Answer(Some(background)) => {
                    (self.tell)(background);
                    // Draws the screen in the colours for this background.
                    return match crossterm::terminal::size() {
                        Ok((columns, rows)) => Poll::Ready(Some(Ok(Event::Resize(columns, rows)))),
                        Err(error) => Poll::Ready(Some(Err(error))),
                    };
                }
            }
        }
    }
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
            ("11;rgba:0000/2b2b/3636/ffff", Some(Background::Dark)),
            ("10;rgb:ffff/ffff/ffff", None),
            ("11;rgb:", None),
            ("11;rgb:gg/00/00", None),
            ("", None),
        ] {
            assert_eq!(parse_answer(answer), expected, "{answer}");
        }
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
    fn answer_in_the_input_is_no_key() {
        let key = |letter, modifiers| Event::Key(KeyEvent::new(KeyCode::Char(letter), modifiers));
        for end in [
            key('g', KeyModifiers::CONTROL),
            key('\\', KeyModifiers::ALT),
        ] {
            let mut filter = AnswerFilter::default();
            let typed = key('q', KeyModifiers::NONE);
            assert_eq!(filter.filter(&typed), Filtered::Pass);
            assert_eq!(
                filter.filter(&key(']', KeyModifiers::ALT)),
                Filtered::Swallow
            );
            for letter in "11;rgb:ffff/ffff/ffff".chars() {
                let event = key(letter, KeyModifiers::NONE);
                assert_eq!(filter.filter(&event), Filtered::Swallow);
            }
            assert_eq!(
                filter.filter(&end),
                Filtered::Answer(Some(Background::Light))
            );
            assert_eq!(filter.filter(&typed), Filtered::Pass);
        }
    }

    #[test]
    fn only_known_terminals_are_asked() {
        assert!(can_be_asked("xterm-256color") && can_be_asked("tmux-256color"));
        assert!(!can_be_asked("linux") && !can_be_asked("dumb") && !can_be_asked("vt100"));
    }
}
