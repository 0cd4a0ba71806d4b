//! Which object is the program that was sampled.

use super::SampleKey;
use super::tables::MappedObject;
use analysis::SampleNames;
use rustc_hash::FxHashMap;

/// Bytes of a thread's name that the kernel keeps.
const COMM: usize = 15;

/// Of the objects in the stacks of samples, each with its events, the program: one
/// that threads are called by before others, then the one with the most events.
/// None: the samples saw libraries and the kernel alone.
pub(super) fn main_object(
    samples: impl Iterator<Item = (SampleKey, u64)>,
    names: &SampleNames<'_>,
) -> Option<MappedObject> {
    let mut weights: FxHashMap<MappedObject, (bool, u64)> = FxHashMap::default();
    for (key, events) in samples {
        let comm = key.labels.comm().map_or("", |comm| names.name(comm));
        for frame in names.frames(key.stack).filter_map(|frame| names.frame(frame)) {
            let Some(object) = frame.object else { continue };
            let Some(program) = program_name(names.name(object)) else { continue };
            let of = MappedObject { object, build_id: frame.build_id };
            let (is_named, weight) = weights.entry(of).or_default();
            *is_named |= is_called(program, comm);
            *weight = weight.saturating_add(events);
        }
    }
    let order = |of: &(MappedObject, (bool, u64))| (of.1, std::cmp::Reverse(of.0));
    weights.into_iter().max_by_key(order).map(|(object, _)| object)
}

/// The name of a file that is neither a library nor a loader.
fn program_name(object: &str) -> Option<&str> {
    let file =
        object.strip_prefix('/').filter(|path| !path.starts_with('/'))?.rsplit('/').next()?;
    (!file.contains(".so")).then_some(file)
}

/// Whether a thread has the name that exec gives it.
fn is_called(program: &str, comm: &str) -> bool {
    !comm.is_empty()
        && program.as_bytes().get(..COMM).unwrap_or(program.as_bytes()) == comm.as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_loaders_are_no_programs() {
        for object in [
            "/lib64/ld-linux-x86-64.so.2",
            "/lib/libc.so.6",
            "/lib/ld-2.31.so",
            "//anon",
            "[kernel]",
        ] {
            assert_eq!(program_name(object), None, "{object}");
        }
        assert_eq!(program_name("/usr/bin/true"), Some("true"));
    }

    #[test]
    fn threads_are_called_as_exec_calls_them() {
        assert!(is_called("true", "true"));
        assert!(is_called("a-long-name-of-a-program", "a-long-name-of-"));
        assert!(!is_called("true", "tru") && !is_called("", ""));
    }
}
