//! Typed parameter handles: each parameter is declared once, listed in the descriptions of the
//! benchmarks that accept it, and read through the same handle.

use std::fmt::Debug;
use std::time::Duration;

use super::keyword::Keyword;
use super::kind::{ParameterError, ParameterKind};
use super::value::{ParameterValue, SizeRange, WindowPosition};
use crate::drive::Target;
use crate::engine::DataKind;
use crate::session::document::DATA_RANDOM;

/// A parameter whose values are of type `T`; `Option<T>` for one that can be unset.
#[derive(Debug, Clone, Copy)]
pub struct Parameter<T> {
    /// Name: the command-line option without its dashes, and the key in the JSON.
    pub name: &'static str,
    /// Accepted type and bounds.
    pub kind: ParameterKind,
    /// One-line help text.
    pub help: &'static str,
    /// Default value, which may depend on the target.
    pub default: fn(&Target) -> T,
}

impl<T> Parameter<T> {
    /// The same parameter with another default.
    #[must_use]
    pub const fn with_default(self, default: fn(&Target) -> T) -> Self
    where
        T: Copy,
    {
        Self { default, ..self }
    }
}

impl<T: Copy> Parameter<Option<T>> {
    /// The same parameter, which in this benchmark always has a value.
    #[must_use]
    pub const fn required(self, default: fn(&Target) -> T) -> Parameter<T> {
        Parameter {
            name: self.name,
            kind: self.kind,
            help: self.help,
            default,
        }
    }
}

/// A parameter of any type, as listed by forms, the command line and the documentation.
pub trait AnyParameter: Debug + Sync {
    /// Name: the command-line option without its dashes, and the key in the JSON.
    fn name(&self) -> &'static str;

    /// Accepted type and bounds.
    fn kind(&self) -> ParameterKind;

    /// One-line help text.
    fn help(&self) -> &'static str;

    /// Default value on this target.
    fn default_value(&self, target: &Target) -> ParameterValue;

    /// Parses a value as written by the user.
    ///
    /// # Errors
    /// When the text is malformed, ambiguous or out of bounds.
    fn parse(&self, text: &str) -> Result<ParameterValue, ParameterError> {
        self.kind()
            .parse(text.trim())
            .map_err(|reason| ParameterError {
                name: self.name(),
                text: text.to_owned(),
                reason,
            })
    }
}

impl<T: ParameterType> AnyParameter for Parameter<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn kind(&self) -> ParameterKind {
        self.kind
    }

    fn help(&self) -> &'static str {
        self.help
    }

    fn default_value(&self, target: &Target) -> ParameterValue {
        (self.default)(target).to_value(self.kind)
    }
}

/// A type that a [`Parameter`] can have.
pub trait ParameterType: Copy + Debug + 'static {
    /// The value of a parameter of this kind.
    fn to_value(self, kind: ParameterKind) -> ParameterValue;

    /// The reverse; `None` if the value is of another type.
    fn from_value(value: &ParameterValue) -> Option<Self>;
}

/// A size or an integer, depending on the parameter's kind.
impl ParameterType for u64 {
    fn to_value(self, kind: ParameterKind) -> ParameterValue {
        match kind {
            ParameterKind::Size { .. } | ParameterKind::SizeOrRange { .. } => {
                ParameterValue::Size(self)
            }
            _ => ParameterValue::Count(self),
        }
    }

    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Size(number) | ParameterValue::Count(number) => Some(*number),
            _ => None,
        }
    }
}

/// An integer whose kind limits it to 32 bits.
impl ParameterType for u32 {
    fn to_value(self, kind: ParameterKind) -> ParameterValue {
        u64::from(self).to_value(kind)
    }

    fn from_value(value: &ParameterValue) -> Option<Self> {
        u64::from_value(value).and_then(|number| Self::try_from(number).ok())
    }
}

impl ParameterType for SizeRange {
    fn to_value(self, _kind: ParameterKind) -> ParameterValue {
        match self.min == self.max {
            true => ParameterValue::Size(self.min),
            false => ParameterValue::SizeRange(self),
        }
    }

    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Size(bytes) => Some(Self {
                min: *bytes,
                max: *bytes,
            }),
            ParameterValue::SizeRange(range) => Some(*range),
            _ => None,
        }
    }
}

/// A number, rate or fraction, depending on the parameter's kind.
impl ParameterType for f64 {
    fn to_value(self, kind: ParameterKind) -> ParameterValue {
        match kind {
            ParameterKind::Fraction => ParameterValue::Fraction(self),
            ParameterKind::Rate => ParameterValue::Rate(self),
            _ => ParameterValue::Number(self),
        }
    }

    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Number(number)
            | ParameterValue::Rate(number)
            | ParameterValue::Fraction(number) => Some(*number),
            _ => None,
        }
    }
}

/// Implements [`ParameterType`] for the only type of a kind of value.
macro_rules! parameter_type {
    ($type:ty, $value:path) => {
        impl ParameterType for $type {
            fn to_value(self, _kind: ParameterKind) -> ParameterValue {
                $value(self)
            }

            fn from_value(value: &ParameterValue) -> Option<Self> {
                match value {
                    $value(value) => Some(*value),
                    _ => None,
                }
            }
        }
    };
}

parameter_type!(Duration, ParameterValue::Duration);
parameter_type!(WindowPosition, ParameterValue::Position);

impl<K: Keyword + Debug> ParameterType for K {
    fn to_value(self, _kind: ParameterKind) -> ParameterValue {
        ParameterValue::Choice(self.word())
    }

    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Choice(word) => Self::from_word(word),
            _ => None,
        }
    }
}

/// A keyword, or the percentage of zeros in compressible data.
impl ParameterType for DataKind {
    fn to_value(self, _kind: ParameterKind) -> ParameterValue {
        match self {
            Self::Random => ParameterValue::Choice(DATA_RANDOM),
            Self::Zero => ParameterValue::Choice(DATA_ZERO),
            Self::Repeated => ParameterValue::Choice(DATA_REPEATED),
            Self::Compressible(percent) => ParameterValue::Percentage(percent),
        }
    }

    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Choice(DATA_RANDOM) => Some(Self::Random),
            ParameterValue::Choice(DATA_ZERO) => Some(Self::Zero),
            ParameterValue::Choice(DATA_REPEATED) => Some(Self::Repeated),
            ParameterValue::Percentage(percent) => Some(Self::Compressible(*percent)),
            _ => None,
        }
    }
}

const DATA_ZERO: &str = "zero";
const DATA_REPEATED: &str = "repeat";
/// Keywords of [`DataKind`].
pub const DATA_WORDS: &[&str] = &[DATA_RANDOM, DATA_ZERO, DATA_REPEATED];

impl<T: ParameterType> ParameterType for Option<T> {
    fn to_value(self, kind: ParameterKind) -> ParameterValue {
        self.map_or(ParameterValue::Unset, |value| value.to_value(kind))
    }

    fn from_value(value: &ParameterValue) -> Option<Self> {
        match value {
            ParameterValue::Unset => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}
