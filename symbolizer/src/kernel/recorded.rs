//! A list for the kernel that a recording was made under.

use super::list::SymbolList;
use super::load::{self, Anchor, KernelError, Loaded, Note};
use super::vmlinux::{self, Known};
use crate::kernel::table::{KernelSymbols, ModuleExtent};
use perfdata::kernel_list::{KernelModule, PackedKernelList};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a recording says about its kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recording {
    /// Where `_text` was; none when kptr_restrict hid it from the recorder.
    pub(crate) anchor: Option<Anchor>,
    /// `uname -r`.
    pub(crate) release: Option<String>,
    /// Its symbols.
    pub(crate) list: Option<Arc<PackedKernelList>>,
}

/// The symbols that the recording has of its kernel.
pub(super) fn kept(
    packed: &Arc<PackedKernelList>,
    anchor: Option<&Anchor>,
) -> Result<Loaded, String> {
    let list = packed.unpack().map_err(|error| error.to_string())?;
    let build_id = Some(list.build_id.clone()).filter(|id| !id.is_empty()).map(Into::into);
    let extents: Vec<ModuleExtent> = list.modules.iter().filter_map(extent).collect();
    let list = SymbolList::recorded(list).map_err(|error| error.to_string())?;
    let anchors = load::anchors(&list, 0);
    if let Some(Anchor { symbol, address }) = anchor
        && !anchors.iter().any(|known| known.symbol == *symbol && known.address == *address)
    {
        return Err(format!("they are of a kernel that has no {symbol} at {address:#x}"));
    }
    let symbols = KernelSymbols::recorded(list, packed, &extents);
    match symbols.is_empty() {
        true => Err("none of them is of type t, T, w or W".to_owned()),
        false => Ok(Loaded {
            symbols,
            path: PathBuf::from("the recording"),
            anchors,
            build_id,
            notes: Vec::new(),
        }),
    }
}

fn extent(module: &KernelModule) -> Option<ModuleExtent> {
    let KernelModule { name, base, size, .. } = module;
    (*base != 0).then(|| ModuleExtent { name: name.clone(), base: *base, size: *size })
}

/// The symbols of a System.map or a saved /proc/kallsyms, moved to where the
/// recorded kernel lay. The list must be that kernel's as far as can be told.
pub(crate) fn load(root: &Path, path: &Path, recording: &Recording) -> Result<Loaded, KernelError> {
    if vmlinux::is_image(path) {
        return vmlinux::load(path, known(root, recording));
    }
    let list = load::read_list(path)?;
    let (offset, moved) = distance(path, &list, recording)?;
    let unchecked = check(root, path, &list, recording)?;
    let mut loaded = load::table(path, list, offset, &[])?;
    loaded.notes.extend(moved.into_iter().chain(unchecked));
    Ok(loaded)
}

/// What is known of the recorded kernel: by what the recording keeps, else
/// by the running kernel, if that is the recorded one.
pub(super) fn known<'a>(root: &Path, recording: &'a Recording) -> Known<'a> {
    let kept = recording.list.as_ref().and_then(|packed| packed.unpack().ok());
    let anchor = recording.anchor.clone();
    let recording = Some(recording);
    if let Some(list) = kept {
        let build_id = Some(list.build_id.clone()).filter(|id| !id.is_empty()).map(Into::into);
        let extents = list.modules.iter().filter_map(extent).collect();
        let modules = SymbolList::recorded(list).ok().map(|list| (list, extents));
        let own = modules.as_ref().and_then(|(list, _)| load::anchors(list, 0).into_iter().next());
        return Known { anchor: anchor.or(own), build_id, modules, recording };
    }
    let Some(head) = load::read_head(&root.join("proc/kallsyms")).ok() else {
        return Known { anchor, build_id: None, modules: None, recording };
    };
    let is_recorded = recording.is_some_and(|recording| is_recorded(root, &head, recording));
    let build_id = is_recorded.then(|| load::build_id(root)).flatten();
    let is_same_boot = is_recorded
        && anchor.as_ref().is_some_and(|at| head.address_of(&at.symbol) == Some(at.address));
    let modules = is_same_boot.then(|| load::running(root).modules).flatten();
    Known { anchor, build_id, modules, recording }
}

fn distance(
    path: &Path,
    list: &SymbolList,
    recording: &Recording,
) -> Result<(u64, Option<Note>), KernelError> {
    let differs = |difference| not_recorded(path, difference);
    let Some(Anchor { symbol, address }) = &recording.anchor else {
        let linked =
            load::anchor(list).is_none_or(|(_, address)| load::is_as_linked(path, address));
        return match linked {
            true => Err(differs("the recording does not say where its kernel lay".to_owned())),
            false => Ok((0, None)),
        };
    };
    let listed =
        list.address_of(symbol).ok_or_else(|| differs(format!("{symbol} is not in it")))?;
    let offset = address.wrapping_sub(listed);
    if !offset.is_multiple_of(load::KASLR_STEP) {
        return Err(differs(format!(
            "{symbol} is at {listed:#x} in it, was recorded at {address:#x}"
        )));
    }
    let path = path.to_path_buf();
    Ok((offset, (offset != 0).then_some(Note::Moved { path, offset })))
}

/// Refuses a list that is known to be another kernel's: by the running
/// kernel's routines if that one was recorded, else by the list's own name.
fn check(
    root: &Path,
    path: &Path,
    list: &SymbolList,
    recording: &Recording,
) -> Result<Option<Note>, KernelError> {
    let head = load::read_head(&root.join("proc/kallsyms")).ok();
    let running = head.filter(|head| is_recorded(root, head, recording));
    let compared = running.and_then(|head| {
        let (symbol, listed) = load::anchor(list)?;
        let offset = head.address_of(symbol)?.wrapping_sub(listed);
        Some(load::difference(list, &head, offset))
    });
    let release = recording.release.as_deref();
    match (compared, named_release(path).zip(release)) {
        (Some(Some(difference)), _) => Err(not_recorded(path, difference)),
        (Some(None), _) => Ok(None),
        (None, Some((named, recorded))) if named != recorded => {
            Err(not_recorded(path, format!("recorded was {recorded}, its name says {named}")))
        }
        (None, Some(_)) => Ok(None),
        (None, None) => {
            let (path, release) = (path.to_path_buf(), recording.release.clone());
            Ok(Some(Note::Unchecked { path, release }))
        }
    }
}

/// Whether the running kernel is the recorded one, of this boot or another.
fn is_recorded(root: &Path, head: &SymbolList, recording: &Recording) -> bool {
    let here = load::release(root);
    match (&recording.release, &recording.anchor) {
        (Some(recorded), _) if !here.is_empty() => *recorded == here,
        (_, Some(Anchor { symbol, address })) => head.address_of(symbol) == Some(*address),
        (_, None) => false,
    }
}

/// RELEASE of a file called System.map-RELEASE; releases begin with a digit.
fn named_release(path: &Path) -> Option<&str> {
    let release = path.file_name()?.to_str()?.strip_prefix("System.map-")?;
    release.starts_with(|first: char| first.is_ascii_digit()).then_some(release)
}

fn not_recorded(path: &Path, difference: String) -> KernelError {
    KernelError::NotRecorded { path: path.to_path_buf(), difference }
}

#[cfg(test)]
mod tests;
