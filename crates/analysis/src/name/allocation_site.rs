//! Where a program asked for memory: the innermost of its own calls.

use crate::name::call_chains::CallChains;
use crate::name::key_value::Missing;
use crate::name::place_names::PlaceNames;
use perfdata::AllocatorCall;
use symbolizer::{Frame, Frames, Place};

/// What routines of languages' own libraries begin with, as they are demangled.
const RUNTIMES: [&str; 7] =
    ["__rustc::", "__rdl_", "std::", "core::", "alloc::", "__gnu_cxx::", "hashbrown::"];

/// Crates that a Rust program has whatever it does.
const RUST_LIBRARIES: [&str; 4] = ["std::", "core::", "alloc::", "hashbrown::"];

/// Traits of allocators, which ask for who calls them whatever their type.
const ALLOCATOR_TRAITS: &str = "core::alloc::";

/// Whether a routine of Rust belongs to a type, `<str>::to_owned` or `<T as core::..>::into`, and
/// is of the language's libraries: both its type and its trait are; or is an allocator's.
fn is_of_library_type(name: &str) -> bool {
    let is_of_library = |path: &str| RUST_LIBRARIES.iter().any(|it| path.starts_with(it));
    let Some(inside) = name.strip_prefix('<') else { return false };
    let of = inside.trim_start_matches(['&', '*', '[', '(']);
    let of =
        ["mut ", "const ", "dyn "].iter().fold(of, |of, word| of.strip_prefix(word).unwrap_or(of));
    // A program's own type has the path of its crate; a parameter or a type of the language none.
    let path = of.split(|letter: char| !letter.is_alphanumeric() && !"_:".contains(letter)).next();
    let is_library_type = path.is_some_and(|path| is_of_library(path) || !path.contains("::"));
    let of_trait = trait_of(inside);
    is_library_type && of_trait.is_none_or(is_of_library)
        || of_trait.is_some_and(|it| it.starts_with(ALLOCATOR_TRAITS))
}

/// The trait in what comes behind the first `<` of `<TYPE as TRAIT>::routine`; None: there is none.
fn trait_of(inside: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, letter) in inside.char_indices() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            // Of `->` no bracket is.
            '>' if inside[..at].ends_with('-') => {}
            '>' if depth == 0 => return None,
            '>' | ')' | ']' => depth -= 1,
            ' ' if depth == 0 => {
                if let Some(found) = inside[at..].strip_prefix(" as ") {
                    return Some(found);
                }
            }
            _ => {}
        }
    }
    None
}

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
        || is_of_library_type(name)
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

/// Where the program asked for the block that the sample at hand tells of, whose chain was
/// just asked for: the first of its callers that is no library's of its language; where
/// there is none, the first that is no allocator's.
pub(crate) fn allocation_site(
    chains: &CallChains,
    places: &mut PlaceNames,
) -> Result<Place, Missing> {
    let mut first = None;
    // The first is the allocator, or what it went on to.
    for place in chains.places.get(1..).unwrap_or_default() {
        let Ok(number) = places.routine(*place).as_name() else {
            first = first.or(Some(*place));
            continue;
        };
        let name = places.text(number);
        if !asks_for_others(name) {
            return Ok(*place);
        }
        first = match AllocatorCall::of_routine(name) {
            // Those before it were called by the allocator.
            Some(_) => None,
            None => first.or(Some(*place)),
        };
    }
    let why = "no caller of the allocation is known";
    first.ok_or_else(|| Missing::Name(places.reason(why, "[no-caller]", None)))
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
            "<T as core::convert::Into<U>>::into",
            "<T as alloc::slice::hack::ConvertVec>::to_vec::<alloc::alloc::Global>",
            "<I as core::iter::traits::collect::IntoIterator>::into_iter",
            "<str>::to_owned",
            "<str>::repeat",
            "<[T]>::to_vec",
            "<[u8] as alloc::borrow::ToOwned>::to_owned",
            "<&str as core::convert::Into<alloc::string::String>>::into",
            "<(A, B) as core::iter::traits::collect::Extend<(C, D)>>::extend",
            "<alloc::boxed::Box<dyn core::ops::function::Fn(u8) -> u8> as core::clone::Clone>::clone",
            "<std::collections::hash::map::HashMap<u32, app::Item>>::insert",
            "<hashbrown::raw::RawTable<(u64, u64)>>::reserve_rehash",
            "<mimalloc::MiMalloc as core::alloc::global::GlobalAlloc>::alloc",
            "<app::Arena as core::alloc::Allocator>::allocate",
        ] {
            assert!(asks_for_others(name), "{name}");
        }
        for name in [
            "main",
            "standard",
            "parse(std::string const&)",
            "my::std::vec",
            "xmalloc",
            "<app::Item as core::clone::Clone>::clone",
            "<app::Item as core::convert::From<alloc::string::String>>::from",
            "<app::Item>::new",
            "<alloc::vec::Vec<u8> as app::Parse>::parse",
            "<T as app::Parse>::parse",
            "<str as app::Parse>::parse",
            "<app::Tree<std::string::String>>::grow",
            "<dyn app::Parse>::parse",
        ] {
            assert!(!asks_for_others(name), "{name}");
        }
    }
}
