//! The kernel's own description of an event: `events/SYSTEM/EVENT/format`
//! (kernel Documentation/trace/events.rst, section 4).

use std::ops::Range;

/// Position of a field in an event's record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FieldFormat {
    /// First byte.
    pub offset: usize,
    /// Length in bytes.
    pub size: usize,
}

impl FieldFormat {
    /// The byte range of the field. No record is so long that the end would overflow.
    #[must_use]
    pub fn byte_range(self) -> Range<usize> {
        self.offset..self.offset.saturating_add(self.size)
    }

    /// Its value as an unsigned number, zero-extended; `None` where the record is too short or
    /// the field is no number.
    #[must_use]
    pub fn read_number(self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.byte_range())?;
        Some(match bytes.len() {
            1 => u64::from(bytes[0]),
            2 => u64::from(u16::from_ne_bytes(bytes.try_into().ok()?)),
            4 => u64::from(u32::from_ne_bytes(bytes.try_into().ok()?)),
            8 => u64::from_ne_bytes(bytes.try_into().ok()?),
            _ => return None,
        })
    }
}

/// Id and fields of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventFormat {
    /// The value of `common_type` in its records.
    pub id: u16,
    fields: Vec<(String, FieldFormat)>,
}

impl EventFormat {
    /// Parses a format file; `None` where it has no id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let id = text
            .lines()
            .find_map(|line| line.strip_prefix("ID:"))?
            .trim()
            .parse()
            .ok()?;
        Some(Self {
            id,
            fields: text.lines().filter_map(parse_field).collect(),
        })
    }

    /// The field of that name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<FieldFormat> {
        self.fields
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, field)| *field)
    }
}

/// `field:char rwbs[8]; offset:32; size:8; signed:1;`: the name is the last word of the
/// declaration, without the brackets.
pub fn parse_field(line: &str) -> Option<(String, FieldFormat)> {
    let (declaration, attributes) = line.trim().strip_prefix("field:")?.split_once(';')?;
    let name = declaration.split_whitespace().last()?;
    let name = name.split('[').next()?.trim_start_matches('*');
    let position = |key: &str| -> Option<usize> {
        attributes
            .split(';')
            .find_map(|position| position.trim().strip_prefix(key))?
            .parse()
            .ok()
    };
    let field = FieldFormat {
        offset: position("offset:")?,
        size: position("size:")?,
    };
    (!name.is_empty()).then(|| (name.to_owned(), field))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_field_name_is_parsed_from_any_declaration() {
        let of = |line| parse_field(line).unwrap();
        let (name, field) = of("\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;");
        assert_eq!((name.as_str(), field.byte_range()), ("rwbs", 34..44));
        let (name, _) = of("field:__data_loc char[] cmd; offset:60; size:4; signed:0;");
        assert_eq!(name, "cmd");
        let (name, _) = of("field: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;");
        assert_eq!(name, "timestamp");
        let (name, _) = of("field:void *ptr;\toffset:8;\tsize:8;");
        assert_eq!(name, "ptr");
        assert_eq!(parse_field("print fmt: \"%d\""), None);
        assert_eq!(parse_field("field:int x; offset:y; size:4;"), None);
    }

    #[test]
    fn field_beyond_record_end_yields_none() {
        let field = FieldFormat { offset: 2, size: 4 };
        assert_eq!(field.read_number(&[0, 0, 1, 0, 0, 0]), Some(1));
        assert_eq!(field.read_number(&[0, 0, 1, 0, 0]), None);
        assert_eq!(
            FieldFormat { offset: 0, size: 3 }.read_number(&[0; 8]),
            None
        );
    }

    #[test]
    fn format_without_id_is_rejected() {
        assert_eq!(EventFormat::parse("name: x\nformat:\n"), None);
        assert_eq!(EventFormat::parse("ID: many\n"), None);
    }
}
