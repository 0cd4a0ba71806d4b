//! On whose behalf a program maps memory: by the calls that led to mmap(2).

use crate::name::allocation_site::asks_for_others;
use crate::name::call_chains::CallChains;
use crate::name::key_value::Missing;
use crate::name::mappings::MappingMaker;
use crate::name::place_names::PlaceNames;
use perfdata::AllocatorCall;
use symbolizer::Place;

/// Functions of C that do nothing but the call, and the preloaded library's before them.
const WRAPPERS: [&str; 8] =
    ["mmap", "mmap64", "__mmap", "__mmap64", "mremap", "__mremap", "syscall", "__syscall_mmap"];
/// Who makes stacks: what is there is told by whose they are.
const STACK_MAKERS: [&str; 4] =
    ["pthread_create", "__pthread_create", "__pthread_create_2_1", "allocate_stack"];
/// What loaders' files are called.
const LOADERS: [&str; 4] = ["ld-linux", "ld-musl", "ld.so", "ld-2."];

/// A routine's name without its version.
fn bare(name: &str) -> &str {
    name.split('@').next().unwrap_or(name)
}

fn is_loader(object: &str) -> bool {
    let file = symbolizer::file_name(object);
    LOADERS.iter().any(|loader| file.starts_with(loader))
}

/// Who mapped what the sample at hand tells of, whose chain was just asked for: the first of
/// the calls, from the innermost on, that is neither a wrapper of the system call nor a
/// container of the language's library; an allocator, where one is among its callers.
pub(crate) fn mapping_maker(chains: &CallChains, places: &mut PlaceNames) -> MappingMaker {
    let is_of_loader = |it: &Place| is_loader(places.symbolizer.object_name(it.object));
    if chains.places.first().is_some_and(is_of_loader) {
        return MappingMaker::System;
    }
    let mut site = None;
    for place in &chains.places {
        let Ok(number) = places.routine(*place).as_name() else {
            site = site.or(Some(*place));
            continue;
        };
        let name = places.text(number);
        if AllocatorCall::of_routine(name).is_some() {
            return MappingMaker::Allocator;
        }
        if STACK_MAKERS.contains(&bare(name)) {
            return MappingMaker::System;
        }
        if !WRAPPERS.contains(&bare(name)) && !asks_for_others(name) {
            site = site.or(Some(*place));
        }
    }
    let why = "no caller of the mapping is known";
    MappingMaker::Program(
        site.ok_or_else(|| Missing::Name(places.reason(why, "[no-caller]", None))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loaders_are_known_by_their_files() {
        for file in ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1", "ld-2.31.so"] {
            assert!(is_loader(file), "{file}");
        }
        for file in ["/usr/lib/libld-linux.so", "/ld-linux/program", "[vdso]", ""] {
            assert!(!is_loader(file), "{file}");
        }
        assert!(STACK_MAKERS.contains(&bare("pthread_create@@GLIBC_2.34")));
    }
}
