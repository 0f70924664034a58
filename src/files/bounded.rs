//! Deserialisation of lists with a maximum length.
//!
//! A list element of a few bytes in a file takes many times that in memory. Each list of a session
//! and of a recorded view has a maximum length, far above that of real files.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A list of at most `MOST` elements: `#[serde(deserialize_with = "bounded::bounded_list::<_, _, 1000>")]`.
///
/// # Errors
/// When it is longer, or when an element is invalid.
pub fn bounded_list<'de, D, T, const MOST: usize>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_seq(BoundedList::<T, MOST>(PhantomData))
}

/// A list of at most `MOST` elements, or null.
///
/// # Errors
/// When it is longer, or when an element is invalid.
pub fn optional_bounded_list<'de, D, T, const MOST: usize>(
    deserializer: D,
) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let list = Option::<WholeList<T, MOST>>::deserialize(deserializer)?;
    Ok(list.map(|WholeList(elements)| elements))
}

#[derive(Deserialize)]
#[serde(bound = "T: Deserialize<'de>")]
struct WholeList<T, const MOST: usize>(
    #[serde(deserialize_with = "bounded_list::<_, _, MOST>")] Vec<T>,
);

struct BoundedList<T, const MOST: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MOST: usize> Visitor<'de> for BoundedList<T, MOST> {
    type Value = Vec<T>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a list of at most {MOST} elements")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Vec<T>, A::Error> {
        let mut list = Vec::new();
        while let Some(element) = elements.next_element()? {
            if list.len() == MOST {
                return Err(A::Error::custom(format_args!(
                    "a list has more than {MOST} elements"
                )));
            }
            list.push(element);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct BoundedDocument {
        #[serde(default, deserialize_with = "bounded_list::<_, _, 3>")]
        list: Vec<u8>,
        #[serde(default, deserialize_with = "optional_bounded_list::<_, _, 2>")]
        optional: Option<Vec<u8>>,
    }

    #[test]
    fn lists_beyond_their_limit_are_refused() {
        let read = |text: &str| serde_json::from_str::<BoundedDocument>(text);
        assert_eq!(read(r#"{"list":[1,2,3]}"#).unwrap().list, [1, 2, 3]);
        let error = read(r#"{"list":[1,2,3,4]}"#).unwrap_err().to_string();
        assert!(error.contains("more than 3 elements"), "{error}");
        assert_eq!(read(r#"{"optional":null}"#).unwrap().optional, None);
        assert!(read(r#"{"optional":[1,2,3]}"#).is_err());
    }
}
