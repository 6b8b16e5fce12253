//! Parameters that are not learnt, chosen by path.

use pellucid::{Error, Result};

use super::{Module, Param, VisitMut, VisitorMut};

/// Whether a pattern names a path or something above it.
fn matches(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern, path) {
        ([], _) => true,
        (["**", rest @ ..], _) if matches(rest, path) => true,
        (["**", ..], [_, below @ ..]) => matches(pattern, below),
        (_, []) => false,
        ([first, rest @ ..], [part, below @ ..]) => (*first == "*" || first == part) && matches(rest, below),
    }
}

pub(super) fn set(
    module: &mut (impl Module + ?Sized),
    function: &'static str,
    pattern: &str,
    frozen: bool,
) -> Result<usize> {
    struct Set<'a> {
        pattern: &'a [&'a str],
        frozen: bool,
        count: usize,
    }
    impl VisitorMut for Set<'_> {
        fn parameter(&mut self, path: &str, parameter: &mut Param) {
            if matches(self.pattern, &path.split('.').collect::<Vec<_>>()) {
                parameter.set_frozen(self.frozen);
                self.count += 1;
            }
        }
    }
    let parts: Vec<&str> = pattern.split('.').collect();
    let mut set = Set { pattern: &parts, frozen, count: 0 };
    VisitMut::all(module, &mut set);
    if set.count > 0 {
        return Ok(set.count);
    }
    let paths: Vec<String> = module.parameters().into_iter().map(|(path, _)| path).collect();
    let shown = paths.iter().take(8).map(String::as_str).collect::<Vec<_>>().join(", ");
    let more = if paths.len() > 8 { format!(" and {} more", paths.len() - 8) } else { String::new() };
    let message = format!("no parameter is at or below {pattern:?}; there are {shown}{more}");
    Err(Error::Argument { function, message })
}

pub(super) fn set_all(module: &mut (impl Module + ?Sized), frozen: bool) {
    struct Set(bool);
    impl VisitorMut for Set {
        fn parameter(&mut self, _: &str, parameter: &mut Param) {
            parameter.set_frozen(self.0);
        }
    }
    VisitMut::all(module, &mut Set(frozen));
}

#[cfg(test)]
mod tests {
    use super::matches;

    fn named(pattern: &str, path: &str) -> bool {
        matches(&pattern.split('.').collect::<Vec<_>>(), &path.split('.').collect::<Vec<_>>())
    }

    #[test]
    fn a_pattern_names_what_is_at_and_below_it() {
        assert!(named("layers.0", "layers.0.weight"));
        assert!(named("layers.0.weight", "layers.0.weight"));
        assert!(!named("layers.0", "layers.01.weight"));
        assert!(!named("layers.0.weight.x", "layers.0.weight"));
    }

    #[test]
    fn stars_stand_for_one_part_or_any_number() {
        assert!(named("layers.*.bias", "layers.3.bias"));
        assert!(!named("layers.*.bias", "layers.3.inner.bias"));
        assert!(named("**.bias", "layers.3.inner.bias"));
        assert!(named("**.bias", "bias"));
        assert!(named("**", "anything.at.all"));
        assert!(!named("**.bias", "layers.3.weight"));
    }
}
