//! The parameters of one run.

use std::collections::BTreeMap;

use super::handle::{AnyParameter, Parameter, ParameterType};
use super::value::ParameterValue;
use crate::drive::Target;

/// All parameters of one run, each with a value.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParameterSet(BTreeMap<&'static str, ParameterValue>);

impl ParameterSet {
    /// Default values on this target.
    #[must_use]
    pub fn defaults(parameters: &[&dyn AnyParameter], target: &Target) -> Self {
        let default =
            |parameter: &&dyn AnyParameter| (parameter.name(), parameter.default_value(target));
        Self(parameters.iter().map(default).collect())
    }

    /// Value of a parameter that the benchmark lists in its description.
    ///
    /// # Panics
    /// When the benchmark does not list it, a programming error. The tests run every benchmark with
    /// its defaults to find these.
    #[must_use]
    #[track_caller]
    pub fn get<T: ParameterType>(&self, parameter: Parameter<T>) -> T {
        match self.find(parameter) {
            Some(value) => value,
            None => panic!("the benchmark has no parameter {}", parameter.name),
        }
    }

    /// Value of a parameter; `None` if the benchmark does not list it.
    #[must_use]
    pub fn find<T: ParameterType>(&self, parameter: Parameter<T>) -> Option<T> {
        self.0.get(parameter.name).and_then(T::from_value)
    }

    /// Value of a parameter that can be unset; `None` if it is unset, or the benchmark does not
    /// list it.
    #[must_use]
    pub fn find_set<T: ParameterType>(&self, parameter: Parameter<Option<T>>) -> Option<T> {
        self.find(parameter).flatten()
    }

    /// Sets one parameter.
    pub fn set<T: ParameterType>(&mut self, parameter: Parameter<T>, value: T) {
        self.set_value(parameter.name, value.to_value(parameter.kind));
    }

    /// Sets one parameter to a value that [`AnyParameter::parse`] returned.
    pub fn set_value(&mut self, name: &'static str, value: ParameterValue) {
        self.0.insert(name, value);
    }

    /// Sets those of these parameters that both sets contain to their values in the other one.
    pub fn copy_from(&mut self, other: &Self, parameters: &[&dyn AnyParameter]) {
        for parameter in parameters {
            let (own, value) = (
                self.0.get_mut(parameter.name()),
                other.0.get(parameter.name()),
            );
            if let (Some(own), Some(value)) = (own, value) {
                own.clone_from(value);
            }
        }
    }

    /// All values by name.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &ParameterValue)> {
        self.0.iter().map(|(name, value)| (*name, value))
    }
}
