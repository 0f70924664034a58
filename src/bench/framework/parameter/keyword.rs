//! Enums whose values the user writes as keywords.

use crate::engine::{CacheMode, EngineChoice, SyncMode, WaitMode};
use crate::session::document::{CACHE_BYPASS, SYNC_NONE};

/// An enum whose values have a keyword each: on the command line, in forms and in the JSON.
pub trait Keyword: Copy + PartialEq + 'static {
    /// The values that the user can choose, in listing order.
    const VALUES: &'static [Self];
    /// Their keywords, in the same order.
    const WORDS: &'static [&'static str];

    /// The keyword of this value.
    fn word(self) -> &'static str;

    /// The value of a keyword; `None` if there is no such keyword.
    #[must_use]
    fn from_word(word: &str) -> Option<Self> {
        let position = Self::WORDS.iter().position(|known| *known == word)?;
        Self::VALUES.get(position).copied()
    }
}

/// Implements [`Keyword`]. Values after `hidden` have a word, but cannot be chosen.
macro_rules! keywords {
    (
        $type:ty { $($value:path = $word:expr),+ $(,)? }
        $(hidden { $($hidden:path = $hidden_word:expr),+ })?
    ) => {
        impl $crate::bench::framework::parameter::Keyword for $type {
            const VALUES: &'static [Self] = &[$($value),+];
            const WORDS: &'static [&'static str] = &[$($word),+];

            fn word(self) -> &'static str {
                match self {
                    $($value => $word,)+
                    $($($hidden => $hidden_word,)+)?
                }
            }
        }
    };
}
pub(crate) use keywords;

keywords!(CacheMode {
    CacheMode::Bypass = CACHE_BYPASS,
    CacheMode::Drop = "drop",
    CacheMode::Keep = "keep",
});

keywords!(SyncMode {
    SyncMode::None = SYNC_NONE,
    SyncMode::DataSync = "dsync",
    SyncMode::Sync = "sync",
} hidden {
    SyncMode::Flush = "flush"
});

keywords!(WaitMode {
    WaitMode::Sleep = "sleep",
    WaitMode::Spin = "spin",
} hidden {
    WaitMode::Alternate = "alternate"
});

keywords!(EngineChoice {
    EngineChoice::Auto = "auto",
    EngineChoice::Uring = "uring",
    EngineChoice::Pread = "pread",
} hidden {
    EngineChoice::Nop = "nop"
});

impl Keyword for bool {
    const VALUES: &'static [Self] = &[true, false];
    const WORDS: &'static [&'static str] = &["yes", "no"];

    fn word(self) -> &'static str {
        if self { "yes" } else { "no" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words_of<K: Keyword + std::fmt::Debug>() -> Vec<&'static str> {
        for value in K::VALUES {
            assert_eq!(K::from_word(value.word()), Some(*value));
        }
        assert_eq!(K::from_word("neither"), None);
        K::WORDS.to_vec()
    }

    #[test]
    fn keyword_and_value_convert_into_each_other() {
        assert_eq!(words_of::<CacheMode>(), ["bypass", "drop", "keep"]);
        assert_eq!(words_of::<SyncMode>(), ["none", "dsync", "sync"]);
        assert_eq!(words_of::<bool>(), ["yes", "no"]);
    }

    #[test]
    fn engine_without_requests_cannot_be_chosen() {
        assert_eq!(words_of::<EngineChoice>(), ["auto", "uring", "pread"]);
        assert_eq!(EngineChoice::from_word("nop"), None);
    }
}
