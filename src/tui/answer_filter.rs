//! Takes the terminal's answer about its background out of the input, whenever it arrives and in
//! whatever pieces, so that none of its characters acts as a key. No key is lost: what could be the
//! beginning of the answer and is not, is passed on.
//!
//! crossterm passes the characters of the answer on as keys. The first one, `ESC ]`, is Alt-], or
//! Escape and ] if the bytes arrive apart. Nothing waits for the answer: waiting would delay the first
//! frame by the round trip of the connection, and a time limit would leave a late answer in the input.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use futures_util::{Stream, StreamExt};
use tokio::time::{Instant, Sleep};

use super::background::{AnswerPart, answer_part, parse_answer};
use crate::tui::theme::Background;

/// How long an Escape is held, because it may be the first byte of the answer. Bytes of an answer
/// are apart by the time of a byte: 3 ms at 300 bytes per second.
const ESCAPE_HOLD: Duration = Duration::from_millis(50);
/// How long the beginning of an answer is held; a person who types it waits for as long.
const PART_HOLD: Duration = Duration::from_secs(2);
/// How long after the question the answer is expected. Later, nothing is held.
const ANSWER_WINDOW: Duration = Duration::from_secs(60);
/// How long after the question the end of the program waits for the answer: later, the terminal
/// does not answer.
const ROUND_TRIP: Duration = Duration::from_secs(2);
/// How long the end of the program waits then. The answer would appear at the prompt of the shell.
const END_WAIT: Duration = Duration::from_millis(300);

/// Events of the terminal without the answer, which is passed to a function.
pub(super) struct AnswerFilter<S, F> {
    events: S,
    tell: F,
    /// When the question was sent; `None` if it was not, or is answered.
    asked: Option<Instant>,
    held: HeldKeys,
    ready: VecDeque<Event>,
    /// Ends the hold.
    timer: Pin<Box<Sleep>>,
}

/// Keys that can be the beginning of the answer.
#[derive(Debug, Default)]
struct HeldKeys {
    events: Vec<Event>,
    /// Characters after `ESC ]`; `None` while only the Escape was seen.
    text: Option<String>,
    /// Whether an Escape came after the text: the first half of `ESC \`.
    is_ending: bool,
}

/// What a key is to the answer.
enum Step {
    /// It may belong to the answer: hold it for so long.
    Hold(Duration),
    /// It ends the answer.
    Complete(Option<Background>),
    /// It does not belong to the answer.
    Foreign,
}

impl HeldKeys {
    fn is_certain(&self) -> bool {
        let text = self.text.as_deref();
        text.is_some_and(|text| answer_part(text) == AnswerPart::Certain)
    }

    fn step(&mut self, event: &Event) -> Step {
        let Event::Key(KeyEvent {
            code, modifiers, ..
        }) = event
        else {
            return Step::Foreign;
        };
        let has = |modifier| modifiers.contains(modifier);
        let plain = !has(KeyModifiers::ALT) && !has(KeyModifiers::CONTROL);
        match (&mut self.text, code) {
            // After a held Escape, or a while after it.
            (None, KeyCode::Char(']')) if plain => self.start_text(),
            (None, KeyCode::Char(']')) if has(KeyModifiers::ALT) && self.events.is_empty() => {
                self.start_text()
            }
            (None, KeyCode::Esc) if self.events.is_empty() => Step::Hold(ESCAPE_HOLD),
            (Some(text), KeyCode::Char('\\')) if self.is_ending || has(KeyModifiers::ALT) => {
                Step::Complete(parse_answer(text))
            }
            (Some(text), KeyCode::Char('g')) if has(KeyModifiers::CONTROL) => {
                Step::Complete(parse_answer(text))
            }
            (Some(text), KeyCode::Esc)
                if !self.is_ending && answer_part(text) == AnswerPart::Certain =>
            {
                self.is_ending = true;
                Step::Hold(PART_HOLD)
            }
            (Some(text), KeyCode::Char(letter)) if plain && !self.is_ending => {
                text.push(*letter);
                let part = answer_part(text);
                if part == AnswerPart::No {
                    text.pop();
                    return Step::Foreign;
                }
                Step::Hold(PART_HOLD)
            }
            _ => Step::Foreign,
        }
    }

    fn start_text(&mut self) -> Step {
        self.text = Some(String::new());
        Step::Hold(PART_HOLD)
    }
}

impl<S, F> AnswerFilter<S, F>
where
    S: Stream<Item = io::Result<Event>> + Unpin,
    F: FnMut(Background) + Unpin,
{
    /// Filters events; `is_asked` if the question was just sent.
    pub(super) fn new(events: S, is_asked: bool, tell: F) -> Self {
        Self {
            events,
            tell,
            asked: is_asked.then(Instant::now),
            held: HeldKeys::default(),
            ready: VecDeque::new(),
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
        }
    }

    /// Waits for an answer that is still on its way, for a short time, at the end of the program.
    pub(super) async fn wait_for_answer(&mut self) {
        let is_expected = |asked: Instant| asked.elapsed() < ROUND_TRIP;
        let deadline = Instant::now() + END_WAIT;
        while self.asked.is_some_and(is_expected) {
            let next = tokio::time::timeout_at(deadline, self.events.next()).await;
            let Ok(Some(Ok(event))) = next else {
                return;
            };
            self.accept(event);
        }
    }

    fn accept(&mut self, event: Event) {
        if self
            .asked
            .is_none_or(|asked| asked.elapsed() > ANSWER_WINDOW)
        {
            self.release();
            self.ready.push_back(event);
            return;
        }
        match self.held.step(&event) {
            Step::Hold(time) => {
                self.held.events.push(event);
                self.timer.as_mut().reset(Instant::now() + time);
            }
            Step::Complete(background) => {
                self.held = HeldKeys::default();
                self.asked = None;
                if let Some(background) = background {
                    (self.tell)(background);
                }
            }
            Step::Foreign if self.held.events.is_empty() => self.ready.push_back(event),
            Step::Foreign => {
                self.release();
                // It can be the beginning of the answer itself.
                self.accept(event);
            }
        }
    }

    /// Passes on what was held, unless it is a part of the answer.
    fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if !held.is_certain() {
            self.ready.extend(held.events);
        }
    }
}

impl<S, F> Stream for AnswerFilter<S, F>
where
    S: Stream<Item = io::Result<Event>> + Unpin,
    F: FnMut(Background) + Unpin,
{
    type Item = io::Result<Event>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Poll::Ready(Some(Ok(event)));
            }
            match self.events.poll_next_unpin(cx) {
                Poll::Ready(Some(Ok(event))) => self.accept(event),
                Poll::Ready(None) if !self.held.events.is_empty() => self.release(),
                Poll::Ready(end) => return Poll::Ready(end),
                Poll::Pending if self.held.events.is_empty() => return Poll::Pending,
                Poll::Pending => match self.timer.as_mut().poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(()) => self.release(),
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use futures_util::stream;

    use super::*;

    /// The events of a piece of input, as crossterm makes them of bytes that arrive together.
    fn events_of(bytes: &str) -> Vec<Event> {
        let mut events = Vec::new();
        let mut letters = bytes.chars();
        while let Some(letter) = letters.next() {
            let (code, modifiers) = match letter {
                '\x1b' => match letters.next() {
                    Some(next) => (KeyCode::Char(next), KeyModifiers::ALT),
                    None => (KeyCode::Esc, KeyModifiers::NONE),
                },
                '\x07' => (KeyCode::Char('g'), KeyModifiers::CONTROL),
                letter => (KeyCode::Char(letter), KeyModifiers::NONE),
            };
            events.push(Event::Key(KeyEvent::new(code, modifiers)));
        }
        events
    }

    /// What comes out for pieces of input that arrive after a number of milliseconds each: keys (an
    /// Escape as `^`), and the background. The time until the last key is out is below `within`.
    async fn filtered(pieces: Vec<(u64, &'static str)>) -> (String, Option<Background>) {
        let told = Cell::new(None);
        let input = stream::iter(pieces).then(|(after, piece)| async move {
            tokio::time::sleep(Duration::from_millis(after)).await;
            stream::iter(events_of(piece)).map(Ok)
        });
        let input = Box::pin(input.flatten());
        let filter = AnswerFilter::new(input, true, |background| told.set(Some(background)));
        let keys = filter.map(|event| match event.unwrap() {
            Event::Key(KeyEvent {
                code: KeyCode::Char(letter),
                ..
            }) => letter,
            _ => '^',
        });
        let keys: String = keys.collect().await;
        (keys, told.get())
    }

    #[tokio::test(start_paused = true)]
    async fn answer_is_no_key_in_whatever_pieces_it_arrives() {
        let light = Some(Background::Light);
        for answer in [
            "\x1b]11;rgb:ffff/ffff/ffff\x07",
            "\x1b]11;rgb:ffff/ffff/ffff\x1b\\",
            "\x1b]11;rgba:ff/ff/ff/ff\x1b\\",
        ] {
            for cut in 0..=answer.len() {
                for gap in [0, 20, 1_000] {
                    let (first, second) = answer.split_at(cut);
                    // An Escape alone for a second is a key, and it is the only one.
                    let escape = match first == "\x1b" && gap > 50 {
                        true => "^",
                        false => "",
                    };
                    let found = filtered(vec![(900, "a"), (30, first), (gap, second), (1, "z")]);
                    let expected = (format!("a{escape}z"), light);
                    assert_eq!(found.await, expected, "{answer:?} {cut} {gap}");
                }
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn answer_that_arrives_byte_by_byte_is_no_key() {
        let answer = "\x1b]11;rgb:0000/0000/0000\x1b\\";
        let pieces = (0..answer.len()).map(|index| (30, &answer[index..=index]));
        let found = filtered(pieces.collect()).await;
        assert_eq!(found, (String::new(), Some(Background::Dark)));
    }

    #[tokio::test(start_paused = true)]
    async fn typed_keys_are_passed_on() {
        for (typed, expected) in [
            ("]1q", "]1q"),
            ("\x1b]1q", "]1q"),
            ("11;rgb", "11;rgb"),
            ("\x1b", "^"),
            ("]]", "]]"),
            ("]", "]"),
            ("]11;r", "]11;r"),
            ("2q", "2q"),
        ] {
            let found = filtered(vec![(5, typed)]).await;
            assert_eq!(found, (expected.to_owned(), None), "{typed:?}");
            let apart = typed.char_indices().map(|(at, letter)| {
                let end = at + letter.len_utf8();
                (100, &typed[at..end])
            });
            let keys = filtered(apart.collect()).await.0;
            assert_eq!(
                keys.replace('^', ""),
                expected.replace('^', ""),
                "{typed:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn held_keys_are_passed_on_after_a_while() {
        for (typed, hold) in [("\x1b", ESCAPE_HOLD), ("]1", PART_HOLD)] {
            let input = stream::iter(events_of(typed))
                .map(Ok)
                .chain(stream::pending());
            let mut filter = AnswerFilter::new(Box::pin(input), true, |_| {});
            let start = Instant::now();
            filter.next().await.unwrap().unwrap();
            assert!(
                start.elapsed() >= hold && start.elapsed() < hold * 2,
                "{typed:?}"
            );
        }
    }

    #[tokio::test(start_paused = true)]
    async fn half_an_answer_is_no_key_and_the_keys_after_it_are() {
        let found = filtered(vec![(5, "\x1b]11;rgb:ffff/ff"), (100, "q")]).await;
        assert_eq!(found, ("q".to_owned(), None));
        let found = filtered(vec![(5, "\x1b]11;rgb:ffff/ff"), (9_000, "2")]).await;
        assert_eq!(found, ("2".to_owned(), None));
    }

    #[tokio::test(start_paused = true)]
    async fn end_of_the_program_waits_for_an_answer_that_is_on_its_way() {
        for (after, is_answered) in [(200, true), (400, false)] {
            let answer = stream::once(tokio::time::sleep(Duration::from_millis(after)))
                .map(|()| stream::iter(events_of("\x1b]11;rgb:0/0/0\x07")).map(Ok))
                .flatten();
            let told = Cell::new(false);
            let mut filter = AnswerFilter::new(Box::pin(answer), true, |_| told.set(true));
            let start = Instant::now();
            filter.wait_for_answer().await;
            assert_eq!(told.get(), is_answered);
            assert!(start.elapsed() <= END_WAIT + Duration::from_millis(5));
        }
        let mut silent = AnswerFilter::new(stream::pending(), true, |_| {});
        tokio::time::advance(ROUND_TRIP).await;
        let start = Instant::now();
        silent.wait_for_answer().await;
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
