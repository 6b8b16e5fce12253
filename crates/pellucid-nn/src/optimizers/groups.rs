//! Several optimisers, each for a part of the parameters.

use std::hash::Hasher;
use std::sync::Arc;

use pellucid::io::Arrays;
use pellucid::transform::Tree;
use pellucid::{Array, Result};

use super::{Item, Optimize, constants, rebuild};

type Filter = Arc<dyn Fn(&str, &Array) -> bool + Send + Sync>;

/// Several optimisers, each for the parameters that its filter, a function of path and array, is first to accept.
///
/// ```
/// use pellucid_nn::prelude::*;
/// // Matrices by Muon, everything else by Adam.
/// let optimizer = MultiOptimizer::new(Adam::new(1e-3)).group(Muon::new(0.02), |_, array| array.ndim() == 2);
/// # let _ = optimizer;
/// ```
#[derive(Clone)]
pub struct MultiOptimizer {
    groups: Vec<(Filter, Box<dyn Optimize>)>,
    rest: Box<dyn Optimize>,
}

impl MultiOptimizer {
    /// An optimiser for everything that no group takes.
    pub fn new(rest: impl Optimize + 'static) -> MultiOptimizer {
        MultiOptimizer { groups: Vec::new(), rest: Box::new(rest) }
    }

    /// A group that comes after those before it.
    #[must_use]
    pub fn group(
        mut self,
        optimizer: impl Optimize + 'static,
        filter: impl Fn(&str, &Array) -> bool + Send + Sync + 'static,
    ) -> MultiOptimizer {
        self.groups.push((Arc::new(filter), Box::new(optimizer)));
        self
    }

    /// Which optimiser takes a parameter.
    fn chosen(&self, path: &str, array: &Array) -> usize {
        let found = self.groups.iter().position(|(filter, _)| filter(path, array));
        found.unwrap_or(self.groups.len())
    }

    fn all(&self) -> impl Iterator<Item = &(dyn Optimize + 'static)> {
        self.groups.iter().map(|(_, optimizer)| &**optimizer).chain([&*self.rest])
    }

    fn all_mut(&mut self) -> impl Iterator<Item = &mut (dyn Optimize + 'static)> {
        self.groups.iter_mut().map(|(_, optimizer)| &mut **optimizer).chain([&mut *self.rest])
    }
}

impl Optimize for MultiOptimizer {
    #[track_caller]
    fn apply(&mut self, items: &[Item]) -> Vec<Array> {
        let chosen: Vec<usize> = items.iter().map(|item| self.chosen(item.path, item.gradient)).collect();
        let mut new: Vec<Array> = items.iter().map(|item| item.parameter.clone()).collect();
        for (number, optimizer) in self.all_mut().enumerate() {
            let places: Vec<usize> = (0..items.len()).filter(|&place| chosen[place] == number).collect();
            let part: Vec<Item> = places
                .iter()
                .map(|&place| {
                    let Item { path, gradient, parameter } = items[place];
                    Item { path, gradient, parameter }
                })
                .collect();
            for (place, array) in places.into_iter().zip(optimizer.apply(&part)) {
                new[place] = array;
            }
        }
        new
    }

    fn init_for(&mut self, parameters: &[(String, Array)]) {
        let chosen: Vec<usize> = parameters.iter().map(|(path, array)| self.chosen(path, array)).collect();
        for (number, optimizer) in self.all_mut().enumerate() {
            let part: Vec<(String, Array)> = parameters
                .iter()
                .zip(&chosen)
                .filter(|(_, chosen)| **chosen == number)
                .map(|(parameter, _)| parameter.clone())
                .collect();
            optimizer.init_for(&part);
        }
    }

    fn state(&self) -> Vec<(String, Array)> {
        let mut state = Vec::new();
        for (number, optimizer) in self.all().enumerate() {
            let own = optimizer.state().into_iter();
            state.extend(own.map(|(name, array)| (format!("states.{number}.{name}"), array)));
        }
        state
    }

    fn state_mut(&mut self) -> Vec<&mut Array> {
        self.all_mut().flat_map(Optimize::state_mut).collect()
    }

    fn set_state(&mut self, state: &Arrays) -> Result<()> {
        for (number, optimizer) in self.all_mut().enumerate() {
            let prefix = format!("states.{number}.");
            let own = |(name, array): (&String, &Array)| {
                name.strip_prefix(&prefix).map(|name| (name.to_owned(), array.clone()))
            };
            optimizer.set_state(&state.iter().filter_map(own).collect())?;
        }
        Ok(())
    }

    fn boxed(&self) -> Box<dyn Optimize> {
        Box::new(self.clone())
    }

    /// That of the first optimiser.
    fn learning_rate(&self) -> Option<Array> {
        self.all().next().and_then(|optimizer| optimizer.learning_rate())
    }

    /// Another one for all optimisers.
    fn set_learning_rate(&mut self, rate: f64) {
        self.all_mut().for_each(|optimizer| optimizer.set_learning_rate(rate));
    }

    fn steps(&self) -> Result<u64> {
        self.rest.steps()
    }
}

impl Tree for MultiOptimizer {
    fn leaves(&self, to: &mut Vec<Array>) {
        to.extend(self.state().into_iter().map(|(_, array)| array));
    }

    fn rebuild(&self, leaves: &mut dyn Iterator<Item = Array>) -> Self {
        rebuild(self, leaves)
    }

    fn constants(&self, to: &mut dyn Hasher) {
        constants(self, to);
    }
}
