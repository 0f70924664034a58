//! Deserialisation of lists with a maximum length.
//!
//! A list element of a few bytes in a file takes many times that in memory. Each list of a session
//! and of a recorded view has a maximum length, far above that of real files.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
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
    struct List<T, const MOST: usize>(Vec<T>);
    impl<'de, T: Deserialize<'de>, const MOST: usize> Deserialize<'de> for List<T, MOST> {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            bounded_list::<_, _, MOST>(deserializer).map(Self)
        }
    }
    let list = Option::<List<T, MOST>>::deserialize(deserializer)?;
    Ok(list.map(|List(elements)| elements))
}

/// A map of at most `MOST` entries.
///
/// # Errors
/// When it has more, or when an entry is invalid.
pub fn bounded_map<'de, D, K, V, const MOST: usize>(
    deserializer: D,
) -> Result<BTreeMap<K, V>, D::Error>
where
    D: Deserializer<'de>,
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    deserializer.deserialize_map(BoundedMap::<K, V, MOST>(PhantomData))
}

fn too_many_elements<E: Error>(most: usize) -> E {
    E::custom(format_args!("a list has more than {most} elements"))
}

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
                return Err(too_many_elements(MOST));
            }
            list.push(element);
        }
        Ok(list)
    }
}

struct BoundedMap<K, V, const MOST: usize>(PhantomData<(K, V)>);

impl<'de, K, V, const MOST: usize> Visitor<'de> for BoundedMap<K, V, MOST>
where
    K: Deserialize<'de> + Ord,
    V: Deserialize<'de>,
{
    type Value = BTreeMap<K, V>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a map of at most {MOST} entries")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut map = BTreeMap::new();
        while let Some((key, value)) = entries.next_entry()? {
            if map.len() == MOST {
                return Err(too_many_elements(MOST));
            }
            map.insert(key, value);
        }
        Ok(map)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct BoundedDocument {
        #[serde(default, deserialize_with = "bounded_list::<_, _, 3>")]
        list: Vec<u8>,
        #[serde(default, deserialize_with = "bounded_map::<_, _, _, 2>")]
        map: BTreeMap<String, u8>,
    }

    #[test]
    fn lists_and_maps_beyond_their_limit_are_refused() {
        let read = |text: &str| serde_json::from_str::<BoundedDocument>(text);
        assert_eq!(read(r#"{"list":[1,2,3]}"#).unwrap().list, [1, 2, 3]);
        let error = read(r#"{"list":[1,2,3,4]}"#).unwrap_err().to_string();
        assert!(error.contains("more than 3 elements"), "{error}");
        assert_eq!(read(r#"{"map":{"a":1,"b":2}}"#).unwrap().map.len(), 2);
        assert!(read(r#"{"map":{"a":1,"b":2,"c":3}}"#).is_err());
    }
}
