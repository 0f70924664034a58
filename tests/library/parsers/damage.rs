//! Ways to damage a file and a document.

use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

/// Something done to bytes at a place.
#[derive(Debug, Clone)]
pub enum ByteEdit {
    /// One byte is another.
    Byte(u8),
    /// These come in between.
    Insert(Vec<u8>),
    /// So many are missing.
    Remove(usize),
    /// The digits there are another number.
    Number(u64),
    /// Nothing comes after it.
    Cut,
    /// From here on it is there twice.
    Twice,
}

fn any_edit() -> impl Strategy<Value = ByteEdit> {
    let numbers = prop_oneof![
        Just(0),
        Just(u64::MAX),
        Just(u64::MAX / 2 + 1),
        Just(u64::from(u32::MAX)),
        any::<u64>(),
    ];
    prop_oneof![
        4 => any::<u8>().prop_map(ByteEdit::Byte),
        4 => prop::sample::select(&b" \n\t:()[]{}\"\\-.,0\0\x1b\xff"[..]).prop_map(ByteEdit::Byte),
        2 => prop::collection::vec(any::<u8>(), 1..8).prop_map(ByteEdit::Insert),
        2 => (1_usize..40).prop_map(ByteEdit::Remove),
        6 => numbers.prop_map(ByteEdit::Number),
        1 => Just(ByteEdit::Cut),
        1 => Just(ByteEdit::Twice),
    ]
}

/// Edits and where they are made.
pub fn any_edits(most: usize) -> impl Strategy<Value = Vec<(Index, ByteEdit)>> {
    prop::collection::vec((any::<Index>(), any_edit()), 0..most)
}

/// What is left of a file after all that.
pub fn apply_edits(mut bytes: Vec<u8>, edits: &[(Index, ByteEdit)]) -> Vec<u8> {
    for (index, edit) in edits {
        let at = index.index(bytes.len() + 1);
        edit.apply(&mut bytes, at);
    }
    bytes
}

impl ByteEdit {
    /// Does it at that place, which may be the end.
    pub fn apply(&self, bytes: &mut Vec<u8>, at: usize) {
        match self {
            Self::Byte(byte) => {
                if let Some(one) = bytes.get_mut(at) {
                    *one = *byte;
                }
            }
            Self::Insert(more) => drop(bytes.splice(at..at, more.iter().copied())),
            Self::Remove(count) => drop(bytes.drain(at..(at + count).min(bytes.len()))),
            Self::Number(number) => {
                let rest = bytes[at..].iter();
                let digits = rest.take_while(|one| one.is_ascii_digit()).count();
                bytes.splice(at..at + digits, number.to_string().into_bytes());
            }
            Self::Cut => bytes.truncate(at),
            Self::Twice => bytes.extend_from_within(at..),
        }
    }
}

/// A value somewhere in a document is another.
#[derive(Debug, Clone)]
pub struct ValueChange {
    index: Index,
    value: Value,
}

fn any_value() -> impl Strategy<Value = Value> {
    const NUMBERS: &[f64] = &[0.0, -1.0, 1e-300, 1e300, f64::MAX, f64::MIN, 0.5, 1e18];
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        prop::sample::select(NUMBERS).prop_map(Value::from),
        prop::sample::select(&[0, 1, u64::MAX, 1 << 53][..]).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        prop::sample::select(
            &[
                "",
                "\u{1b}[2J",
                "\r\n\u{7}",
                "<script>",
                "\u{202e}a",
                "x=\"'&"
            ][..]
        )
        .prop_map(Value::from),
        Just(Value::Array(Vec::new())),
        Just(Value::Object(serde_json::Map::new())),
    ]
}

/// So many changes at most.
pub fn any_changes(most: usize) -> impl Strategy<Value = Vec<ValueChange>> {
    let change = (any::<Index>(), any_value()).prop_map(|(place, value)| ValueChange {
        index: place,
        value,
    });
    prop::collection::vec(change, 1..most)
}

impl ValueChange {
    /// Puts the value in the place of another of its kind: anything else would be refused before it
    /// comes to matter.
    pub fn apply(&self, document: &mut Value) {
        let mut places = Vec::new();
        collect_paths(document, String::new(), &mut places);
        places.retain(|place| {
            let there = document.pointer(place);
            there.is_some_and(|there| has_same_type(there, &self.value))
        });
        if places.is_empty() {
            return;
        }
        let place = &places[self.index.index(places.len())];
        if let Some(there) = document.pointer_mut(place) {
            *there = self.value.clone();
        }
    }
}

fn has_same_type(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.is_f64() || other.is_u64(),
        (one, other) => std::mem::discriminant(one) == std::mem::discriminant(other),
    }
}

/// Pointers (RFC 6901) to every value; of long lists only to the first few, which would crowd out
/// everything else.
fn collect_paths(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate().take(4) {
                collect_paths(item, format!("{at}/{index}"), found);
            }
        }
        Value::Object(fields) => {
            for (name, field) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect_paths(field, format!("{at}/{name}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}
