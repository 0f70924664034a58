//! The text of a document, changed in one member: everything else stays as it is, byte by byte,
//! fields that this program does not know included.

use std::fmt::{self, Formatter};
use std::ops::Range;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::files::safe_text::SafeText;

/// Name of the member that holds the note.
const NOTE: &str = "note";
/// The member that a new note is placed before, as in a document that this program writes.
const MEMBER_AFTER_NOTE: &str = "runs";

/// A document with another note, or without one. `None` if it is no JSON object of several members.
pub(super) fn with_note(document: &str, note: Option<&SafeText>) -> Option<String> {
    let members = members(document)?;
    let present = members.iter().position(|member| member.name == NOTE);
    let note = note.map(serde_json::to_string).transpose().ok()?;
    match (present, note) {
        (Some(index), Some(note)) => Some(spliced(document, members[index].value.clone(), &note)),
        (Some(index), None) => {
            let range = range_to_remove(document, &members, index)?;
            Some(spliced(document, range, ""))
        }
        (None, Some(note)) => inserted(document, &members, &note),
        (None, None) => Some(document.to_owned()),
    }
}

/// A member of the document's object.
struct DocumentMember {
    name: String,
    /// What is between the value before, or the opening brace, and the value: comma, name, colon and
    /// white space.
    lead: Range<usize>,
    value: Range<usize>,
}

/// The members in the order of the text.
fn members(document: &str) -> Option<Vec<DocumentMember>> {
    let MemberList(values) = serde_json::from_str(document).ok()?;
    let mut end = document.find('{')? + 1;
    let member = |(name, value): (String, &RawValue)| {
        let start = value.get().as_ptr().addr() - document.as_ptr().addr();
        let lead = end..start;
        end = start + value.get().len();
        let value = start..end;
        DocumentMember { name, lead, value }
    };
    Some(values.into_iter().map(member).collect())
}

/// The range of a member, with the comma that separates it from the others.
fn range_to_remove(
    document: &str,
    members: &[DocumentMember],
    index: usize,
) -> Option<Range<usize>> {
    let member = &members[index];
    if index > 0 {
        return Some(member.lead.start..member.value.end);
    }
    let next = members.get(1)?;
    let comma = next.lead.start + document[next.lead.clone()].find(',')?;
    Some(member.lead.start..comma + 1)
}

/// The document with a new member, in the layout of its neighbours.
fn inserted(document: &str, members: &[DocumentMember], note: &str) -> Option<String> {
    let after = members
        .iter()
        .position(|member| member.name == MEMBER_AFTER_NOTE);
    let before = match after {
        Some(index) if index > 0 => index - 1,
        _ => members.len().checked_sub(1)?,
    };
    // Only the first member has no comma.
    let like = members.get(before.max(1))?;
    let lead = &document[like.lead.clone()];
    let (name_start, name_end) = (lead.find('"')?, lead.rfind('"')? + 1);
    let member = format!(
        "{}\"{NOTE}\"{}{note}",
        &lead[..name_start],
        &lead[name_end..]
    );
    let end = members[before].value.end;
    Some(spliced(document, end..end, &member))
}

fn spliced(document: &str, range: Range<usize>, text: &str) -> String {
    [&document[..range.start], text, &document[range.end..]].concat()
}

/// The members of an object with their values as text, in order.
struct MemberList<'d>(Vec<(String, &'d RawValue)>);

impl<'d> Deserialize<'d> for MemberList<'d> {
    fn deserialize<D: Deserializer<'d>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MemberVisitor)
    }
}

struct MemberVisitor;

impl<'d> Visitor<'d> for MemberVisitor {
    type Value = MemberList<'d>;

    fn expecting(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("an object")
    }

    fn visit_map<A: MapAccess<'d>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = map.next_entry()? {
            members.push(member);
        }
        Ok(MemberList(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(document: &str, note: &str) -> String {
        with_note(document, Some(&SafeText::from(note))).unwrap()
    }

    #[test]
    fn note_changes_no_other_byte_of_a_document() {
        let cases = [
            // Compact.
            (
                r#"{"schema":"s","x":{"b":1,"a":[2e1,2.50]},"runs":[]}"#,
                r#"{"schema":"s","x":{"b":1,"a":[2e1,2.50]},"note":"new","runs":[]}"#,
            ),
            // Indented, with white space that no program of ours writes.
            (
                "\n{\n \"schema\" : \"{,\\\"\",\n \"runs\" :\t[ ]  ,\n \"x\" : 1e400\n}\n\n",
                "\n{\n \"schema\" : \"{,\\\"\",\n \"note\" :\t\"new\",\n \"runs\" :\t[ ]  ,\n \"x\" : 1e400\n}\n\n",
            ),
            // The runs first, or none.
            (r#"{"runs":[],"b":1}"#, r#"{"runs":[],"b":1,"note":"new"}"#),
            (r#"{"a": 1, "b": 2}"#, r#"{"a": 1, "b": 2, "note": "new"}"#),
        ];
        for (without, with) in cases {
            assert_eq!(noted(without, "new"), with);
            assert_eq!(noted(&noted(without, "an old one"), "new"), with);
            assert_eq!(with_note(with, None).unwrap(), without);
            assert_eq!(with_note(without, None).unwrap(), without);
        }
    }

    #[test]
    fn note_is_found_wherever_and_however_it_is_written() {
        assert_eq!(
            noted(r#"{"note":null,"a":1}"#, "n"),
            r#"{"note":"n","a":1}"#
        );
        let first = "{\n  \"note\": \"o\" ,\n  \"a\": 1\n}";
        assert_eq!(with_note(first, None).unwrap(), "{\n  \"a\": 1\n}");
        let escaped = r#"{"a":{"note":"inner"},"\u006eote":"o"}"#;
        assert_eq!(
            noted(escaped, "\"n"),
            r#"{"a":{"note":"inner"},"\u006eote":"\"n"}"#
        );
        assert_eq!(
            with_note(escaped, None).unwrap(),
            r#"{"a":{"note":"inner"}}"#
        );
    }

    #[test]
    fn text_that_is_no_object_of_several_members_has_no_note() {
        for text in ["", "[]", "{", "{}", r#"{"a":1}"#, r#"{"a":1}{}"#] {
            assert_eq!(with_note(text, Some(&SafeText::from("n"))), None, "{text}");
        }
    }
}
