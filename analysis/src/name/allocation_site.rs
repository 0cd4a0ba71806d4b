//! Where a program asked for memory: the innermost of its own calls.

use crate::name::atom::{Atom, Lack};
use crate::name::lookup::Lookup;
use record::AllocatorCall;
use symbolizer::{Frame, Frames, Place};

/// What routines of languages' own libraries begin with, as they are demangled.
const RUNTIMES: [&str; 11] = [
    "__rustc::",
    "__rdl_",
    "std::",
    "core::",
    "alloc::",
    "__gnu_cxx::",
    "<std::",
    "<core::",
    "<alloc::",
    "<T as alloc::",
    "hashbrown::",
];

/// Whether a routine asks for memory on behalf of who called it: an allocator's, or a
/// container's of the language.
pub(crate) fn asks_for_others(name: &str) -> bool {
    // C++ tells what instances of templates return.
    let own =
        name.split_once(' ').map_or(name, |(returned, rest)| match rest.starts_with("std::") {
            true if !returned.contains('(') => rest,
            _ => name,
        });
    AllocatorCall::of_routine(name).is_some()
        || RUNTIMES.iter().any(|runtime| own.starts_with(runtime))
}

/// Where the sources of such libraries lie, by what their paths hold.
const LIBRARIES: [&str; 3] = ["/include/c++/", "/rustc/", "/.rustup/toolchains/"];

/// `file:line` of the innermost frame that is of the program's own text, among what was inlined
/// at a place. None: all is of libraries.
pub(crate) fn own_source(frames: &Frames) -> Option<String> {
    let is_own = |frame: &&Frame| {
        let is_library = |file: &str| LIBRARIES.iter().any(|part| file.contains(part));
        let asks = frame.name.as_ref().is_some_and(|name| asks_for_others(name));
        !asks && frame.source.as_ref().is_some_and(|source| !is_library(&source.file))
    };
    let source = frames.frames.iter().find(is_own)?.source.as_ref().filter(|it| it.line > 0)?;
    Some(format!("{}:{}", source.file, source.line))
}

impl Lookup {
    /// The number of a block's life as that of the block in words.
    pub(crate) fn named_block(&mut self, life: Atom) -> Atom {
        let begin = self.heap.begin.unwrap_or_default();
        let text = life.as_name().ok().and_then(|life| self.heap.lives.text(life, begin));
        text.map_or(life, |text| Atom::number(u64::from(self.names.number(&text))))
    }

    /// Where the program asked for the block that the sample at hand tells of, whose chain was
    /// just asked for: the first of its callers that is no library's of its language; where
    /// there is none, the first that is no allocator's.
    pub(crate) fn allocation_site(&mut self) -> Result<Place, Lack> {
        // The first is the allocator, or what it went on to.
        let callers = self.chains.places.get(1..).unwrap_or_default().to_vec();
        let mut first = None;
        for place in callers {
            let Ok(number) = self.routine(place).as_name() else {
                first = first.or(Some(place));
                continue;
            };
            let name = self.name(number);
            if !asks_for_others(&name) {
                return Ok(place);
            }
            if AllocatorCall::of_routine(&name).is_none() {
                first = first.or(Some(place));
            }
        }
        let why = "no caller of the allocation is known";
        first.ok_or_else(|| Lack::Name(self.reason(why, "[no-caller]", None)))
    }
}

#[cfg(test)]
mod tests {
    use super::asks_for_others;

    #[test]
    fn containers_ask_for_others() {
        for name in [
            "malloc",
            "operator new(unsigned long)",
            "std::vector<int, std::allocator<int> >::reserve(unsigned long)",
            "void std::vector<int>::_M_realloc_insert<int>(int&&)",
            "alloc::raw_vec::finish_grow",
            "__rustc::__rdl_alloc",
            "<alloc::vec::Vec<T,A> as core::clone::Clone>::clone",
        ] {
            assert!(asks_for_others(name), "{name}");
        }
        for name in ["main", "standard", "parse(std::string const&)", "my::std::vec", "xmalloc"] {
            assert!(!asks_for_others(name), "{name}");
        }
    }
}
