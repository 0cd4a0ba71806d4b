//! Names with `*` and `?`.

use crate::query::parameters::{without_clones, without_parameters};
use std::fmt;

/// A pattern over a whole name: `*` stands for any run of characters, `?`
/// for one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Glob(String);

impl Glob {
    /// Every text is a pattern.
    pub fn new(pattern: impl Into<String>) -> Glob {
        Glob(pattern.into())
    }

    /// Whether the whole of `name` fits. Takes time at most proportional to
    /// both lengths multiplied.
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name): (Vec<char>, Vec<char>) =
            (self.0.chars().collect(), name.chars().collect());
        let (mut p, mut n) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while n < name.len() {
            if pattern.get(p) == Some(&'*') {
                retry = Some((p + 1, n));
                p += 1;
            } else if pattern.get(p).is_some_and(|c| *c == '?' || *c == name[n]) {
                p += 1;
                n += 1;
            } else if let Some((after_star, from)) = retry {
                // The last star takes one character more.
                retry = Some((after_star, from + 1));
                (p, n) = (after_star, from + 1);
            } else {
                return false;
            }
        }
        pattern[p..].iter().all(|c| *c == '*')
    }
}

impl Glob {
    /// Whether a routine's name fits, with its parameters or without, or that of
    /// the routine that it is a clone or a part of.
    pub fn matches_routine(&self, name: &str) -> bool {
        let (short, original) = (without_parameters(name), without_clones(name));
        self.matches(name)
            || (short.len() < name.len() && self.matches(&short))
            || (original.len() < name.len() && self.matches(original))
    }

    /// Whether an object fits, by its whole path or its file name.
    pub(crate) fn matches_object(&self, path: &str) -> bool {
        let file = symbolizer::file_name(path);
        self.matches(path) || self.matches(file)
    }

    /// Whether a frame of a call chain fits, by its routine or its object.
    pub(crate) fn matches_frame(&self, routine: &str, object: &str) -> bool {
        self.matches_routine(routine) || self.matches_object(object)
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Glob;

    #[test]
    fn matches_whole_names() {
        for (pattern, name, fits) in [
            ("main", "main", true),
            ("main", "main2", false),
            ("*", "", true),
            ("", "", true),
            ("", "a", false),
            ("copy_*", "copy_page", true),
            ("copy_*", "clear_page", false),
            ("*page*", "clear_page_erms", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b-", false),
            ("?b", "ab", true),
            ("?b", "b", false),
            ("**x", "yx", true),
            ("größe?", "größen", true),
            ("operator*", "operator*", true),
        ] {
            assert_eq!(Glob::new(pattern).matches(name), fits, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_routine_means_its_clones() {
        for (pattern, name, fits) in [
            ("work", "work._omp_fn.0", true),
            ("wor?", "work.isra.0.cold", true),
            ("work._omp_fn.0", "work._omp_fn.0", true),
            ("work._omp_fn.0", "work._omp_fn.1", false),
            ("work", "rework._omp_fn.0", false),
            ("work", "work.other", false),
            ("refresh", "refresh(Autonoma*) [clone ._omp_fn.0]", true),
        ] {
            assert_eq!(Glob::new(pattern).matches_routine(name), fits, "{pattern} on {name}");
        }
    }

    #[test]
    fn many_stars_do_not_explode() {
        let pattern = Glob::new("*a".repeat(40) + "b");
        assert!(!pattern.matches(&"a".repeat(4000)));
    }
}
