//! The kernel as one recording sees it: the list that fits it, or why none
//! does.

use super::lines::KernelFileQuery;
use super::load;
use super::loaded::{KernelAnchor, KernelError, KernelListNote, LoadedKernel, Recording};
use super::recorded;
use super::table::KernelSymbols;
use crate::answer::MissingDebugInfo;
use crate::dwarf::lazy_debug_file::ObjectDebug;
use crate::files::options::{KernelOffset, KernelSource};
use crate::process::objects::Objects;
use crate::{ObjectId, Reason, SymbolizerOptions};
use perfdata::kernel_list::PackedKernelList;
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The kernel's symbols, read when first needed.
#[derive(Debug)]
pub(crate) struct KernelView {
    /// None: addresses are the running kernel's.
    recording: Option<Recording>,
    state: Option<Result<ReadyKernel, Reason>>,
    /// The running kernel's symbols, where `state` has those that the
    /// recording keeps.
    live: Option<Result<ReadyKernel, Reason>>,
    /// Of the running kernel, while none of its symbols were needed.
    boot: Option<BootVerdict>,
    debug: FxHashMap<ObjectId, Result<ObjectDebug, MissingDebugInfo>>,
}

#[derive(Debug)]
struct ReadyKernel {
    symbols: KernelSymbols,
    /// Variables of the same list, once they were asked for.
    variables: Option<Result<KernelSymbols, Reason>>,
    /// Objects of the modules, by number.
    modules: Vec<ObjectId>,
    notes: Vec<KernelListNote>,
    anchors: Vec<KernelAnchor>,
    build_id: Option<Box<[u8]>>,
    /// They are those that the recording keeps.
    is_kept: bool,
}

impl ReadyKernel {
    fn object(&self, symbols: &KernelSymbols, address: u64) -> (ObjectId, u64, u64) {
        let (module, first, last) = symbols.owner(address);
        let object = module
            .and_then(|number| self.modules.get(usize::from(number)).copied())
            .unwrap_or(ObjectId::KERNEL);
        (object, first, last)
    }
}

impl KernelView {
    pub(crate) fn new() -> KernelView {
        KernelView {
            recording: None,
            state: None,
            live: None,
            boot: None,
            debug: FxHashMap::default(),
        }
    }

    /// Addresses come from a recording: without more, nothing tells where
    /// its kernel lay.
    pub(crate) fn learn_recording(&mut self) {
        if self.recording.is_none() {
            self.recording = Some(Recording::default());
            self.forget();
        }
    }

    /// What the recording says about its kernel has changed: look again.
    pub(crate) fn learn(&mut self, anchor: KernelAnchor) {
        self.change(|recording| &mut recording.anchor, anchor);
    }

    pub(crate) fn learn_release(&mut self, release: &str) {
        self.change(|recording| &mut recording.release, release.to_owned());
    }

    pub(crate) fn learn_list(&mut self, list: &Arc<PackedKernelList>) {
        let same = |known: &Arc<PackedKernelList>| Arc::ptr_eq(known, list);
        let known = self.recording.as_ref().and_then(|recording| recording.list.as_ref());
        if !known.is_some_and(same) {
            self.change(|recording| &mut recording.list, Arc::clone(list));
        }
    }

    fn forget(&mut self) {
        (self.state, self.live, self.boot) = (None, None, None);
        self.debug.clear();
    }

    fn change<T: PartialEq>(&mut self, part: fn(&mut Recording) -> &mut Option<T>, told: T) {
        self.learn_recording();
        let known = self.recording.as_mut().map(part);
        if let Some(known) = known.filter(|known| known.as_ref() != Some(&told)) {
            *known = Some(told);
            self.forget();
        }
    }

    pub(crate) fn notes(&self) -> &[KernelListNote] {
        match &self.state {
            Some(Ok(ready)) => &ready.notes,
            _ => &[],
        }
    }

    /// The object of a kernel address, and the first and last address for
    /// which that holds.
    pub(crate) fn object(
        &mut self,
        address: u64,
        options: &SymbolizerOptions,
        objects: &mut Objects,
    ) -> (ObjectId, u64, u64) {
        match self.ready(options, objects) {
            Ok(ready) => ready.object(&ready.symbols, address),
            Err(_) => (ObjectId::KERNEL, 0, u64::MAX),
        }
    }

    pub(crate) fn data_object(
        &mut self,
        address: u64,
        options: &SymbolizerOptions,
        objects: &mut Objects,
    ) -> (ObjectId, u64, u64) {
        let _ = self.variables(options, objects);
        match &self.state {
            Some(Ok(ready)) => {
                let variables = ready.variables.as_ref().and_then(|known| known.as_ref().ok());
                ready.object(variables.unwrap_or(&ready.symbols), address)
            }
            _ => (ObjectId::KERNEL, 0, u64::MAX),
        }
    }

    /// Why the recording was not made under the running kernel, if that is
    /// known. That this kernel's symbols cannot be read says nothing.
    pub(crate) fn elsewhere(
        &mut self,
        options: &SymbolizerOptions,
        objects: &mut Objects,
    ) -> Option<Reason> {
        let recording = self.recording.as_ref()?;
        match options.kernel {
            KernelSource::File { .. } => {
                let why = "its symbols come from a file".to_owned();
                return Some(Reason::KernelUnlisted { why });
            }
            KernelSource::None => return None,
            KernelSource::Running => {}
        }
        let verdict = || BootVerdict::of(&options.root, recording);
        match self.boot.get_or_insert_with(verdict) {
            BootVerdict::Here => return None,
            BootVerdict::Other(reason) => return Some(reason.clone()),
            BootVerdict::Untold => {}
        }
        match self.live(options, objects) {
            Err(reason @ (Reason::KernelOtherBoot { .. } | Reason::KernelOtherRelease { .. })) => {
                Some(reason.clone())
            }
            _ => None,
        }
    }

    pub(crate) fn symbols(
        &mut self,
        options: &SymbolizerOptions,
        objects: &mut Objects,
    ) -> Result<&KernelSymbols, Reason> {
        match self.ready(options, objects) {
            Ok(ready) => Ok(&ready.symbols),
            Err(reason) => Err(reason.clone()),
        }
    }

    /// Takes the debug info of the kernel proper, or of a module whose name in
    /// brackets is given; it comes back by [`KernelView::put_debug`].
    pub(crate) fn take_debug(
        &mut self,
        object: ObjectId,
        module: Option<&str>,
        options: &SymbolizerOptions,
        objects: &mut Objects,
    ) -> Result<ObjectDebug, MissingDebugInfo> {
        match self.debug.remove(&object) {
            Some(known) => known,
            None => self.sought(module, options, objects)?.open(module),
        }
    }

    pub(crate) fn put_debug(
        &mut self,
        object: ObjectId,
        debug: Result<ObjectDebug, MissingDebugInfo>,
    ) {
        self.debug.insert(object, debug);
    }

    fn sought<'a>(
        &'a mut self,
        module: Option<&str>,
        options: &'a SymbolizerOptions,
        objects: &mut Objects,
    ) -> Result<KernelFileQuery<'a>, MissingDebugInfo> {
        let recording = self.recording.clone();
        let kept = recording.as_ref().and_then(|recording| recording.list.clone());
        let is_here = match &recording {
            None => self.is_of_running(options, objects),
            Some(_) => kept.is_none() && self.elsewhere(options, objects).is_none(),
        };
        let root = is_here.then_some(&options.root);
        let release = recording.and_then(|recording| recording.release);
        let release = release.unwrap_or_else(|| load::release(&options.root));
        let ready = self
            .ready(options, objects)
            .map_err(|reason| MissingDebugInfo::Never { object: reason.tag().into() })?;
        let own = ready.build_id.clone();
        let build_id = match module {
            None => own.or_else(|| load::build_id(root?)),
            Some(module) => module_build_id(module, kept.as_deref(), root),
        };
        let (anchors, symbols) = (&ready.anchors, &ready.symbols);
        Ok(KernelFileQuery { options, release, build_id, anchors, symbols })
    }

    /// Whether the symbols in use are surely the running kernel's: lines of
    /// that one are no other's.
    fn is_of_running(&mut self, options: &SymbolizerOptions, objects: &mut Objects) -> bool {
        match &options.kernel {
            KernelSource::Running => true,
            KernelSource::None | KernelSource::File { offset: KernelOffset::Given(_), .. } => false,
            // It was compared, unless it is of another boot.
            KernelSource::File { offset: KernelOffset::Detect, .. } => {
                let running = load::running(&options.root).anchor;
                let ready = self.ready(options, objects);
                running.is_some()
                    && ready.is_ok_and(|ready| ready.anchors.first() == running.as_ref())
            }
        }
    }

    /// What lies in the running kernel where the recorded one had the same.
    /// Others may lie by now where a module or a BPF program lay then.
    pub(crate) fn unchanged(
        &mut self,
        address: u64,
        options: &SymbolizerOptions,
        objects: &mut Objects,
    ) -> Result<Option<&KernelSymbols>, Reason> {
        let found = |symbols: &KernelSymbols| {
            symbols.find(address).map(|routine| (routine.start, routine.name.to_vec()))
        };
        let ready = self.ready(options, objects).map_err(|reason| reason.clone())?;
        let then = ready.is_kept.then(|| found(&ready.symbols));
        let live = self.live(options, objects).map_err(|reason| reason.clone())?;
        let same = then.is_none_or(|then| then == found(&live.symbols));
        Ok(same.then_some(&live.symbols))
    }

    /// The running kernel's symbols, if it is the recorded one; those of a
    /// file when one was given.
    fn live(
        &mut self,
        options: &SymbolizerOptions,
        objects: &mut Objects,
    ) -> Result<&mut ReadyKernel, &mut Reason> {
        let is_kept = matches!(self.ready(options, objects), Ok(ready) if ready.is_kept);
        if !is_kept {
            return self.ready(options, objects);
        }
        let recording =
            self.recording.as_ref().map(|recording| Recording { list: None, ..recording.clone() });
        let load = || ReadyKernel::load(options, recording.as_ref(), objects);
        self.live.get_or_insert_with(load).as_mut()
    }

    /// The variables of the list that names the routines; of the running
    /// kernel's where the recording has none.
    pub(crate) fn variables(
        &mut self,
        options: &SymbolizerOptions,
        objects: &mut Objects,
    ) -> Result<&KernelSymbols, Reason> {
        let ready = self.ready(options, objects).map_err(|reason| reason.clone())?;
        let lacks = ready.is_kept
            && ready.listed_variables().is_err_and(|why| why == Reason::KernelVariablesUnlisted);
        let ready = match lacks {
            true => self.live(options, objects).map_err(|_| Reason::KernelVariablesUnlisted)?,
            false => self.ready(options, objects).map_err(|reason| reason.clone())?,
        };
        ready.listed_variables()
    }

    fn ready(
        &mut self,
        options: &SymbolizerOptions,
        objects: &mut Objects,
    ) -> Result<&mut ReadyKernel, &mut Reason> {
        let recording = self.recording.as_ref();
        let load = || ReadyKernel::load(options, recording, objects);
        self.state.get_or_insert_with(load).as_mut()
    }
}

impl ReadyKernel {
    fn load(
        options: &SymbolizerOptions,
        recording: Option<&Recording>,
        objects: &mut Objects,
    ) -> Result<ReadyKernel, Reason> {
        let (loaded, is_kept) = load(options, recording)?;
        let modules = loaded.symbols.modules().iter().map(|name| objects.module(name)).collect();
        let LoadedKernel { symbols, notes, anchors, build_id, .. } = loaded;
        Ok(ReadyKernel { symbols, variables: None, modules, notes, anchors, build_id, is_kept })
    }

    fn listed_variables(&mut self) -> Result<&KernelSymbols, Reason> {
        let ready = self;
        let (symbols, variables) = (&ready.symbols, &mut ready.variables);
        let known = variables.get_or_insert_with(|| match symbols.variables() {
            Ok(Some(variables)) => Ok(variables),
            Ok(None) => Err(Reason::KernelVariablesUnlisted),
            Err(error) => Err(Reason::KernelUnlisted { why: error.to_string() }),
        });
        known.as_ref().map_err(Clone::clone)
    }
}

/// The build of a module: of the recorded kernel, else of the running one.
fn module_build_id(
    shown: &str,
    kept: Option<&PackedKernelList>,
    root: Option<&PathBuf>,
) -> Option<Box<[u8]>> {
    let name = shown.trim_start_matches('[').trim_end_matches(']');
    if let Some(kept) = kept {
        let list = kept.unpack().ok()?;
        let module = list.modules.into_iter().find(|module| module.name == name.as_bytes())?;
        return Some(module.build_id).filter(|id| !id.is_empty()).map(Into::into);
    }
    let plain = !name.is_empty() && !name.contains('/');
    let notes = root?.join("sys/module").join(name).join("notes/.note.gnu.build-id");
    plain.then(|| load::noted(&notes)).flatten()
}

/// The symbols, and whether they are those that the recording keeps.
fn load(
    options: &SymbolizerOptions,
    recording: Option<&Recording>,
) -> Result<(LoadedKernel, bool), Reason> {
    let list = recording.and_then(|recording| recording.list.as_ref());
    let (KernelSource::Running, Some(recording), Some(list)) = (&options.kernel, recording, list)
    else {
        return load_elsewhere(options, recording).map(|loaded| (loaded, false));
    };
    match recorded::kept(list, recording.anchor.as_ref()) {
        Ok(loaded) => Ok((loaded, true)),
        Err(why) => {
            let mut loaded = load_elsewhere(options, Some(recording))?;
            loaded.notes.push(KernelListNote::RecordedUnusable { why });
            Ok((loaded, false))
        }
    }
}

fn load_elsewhere(
    options: &SymbolizerOptions,
    recording: Option<&Recording>,
) -> Result<LoadedKernel, Reason> {
    let root = &options.root;
    match (&options.kernel, recording) {
        (KernelSource::None, _) => Err(Reason::KernelUnlisted { why: "not asked for".to_owned() }),
        (KernelSource::File { path, offset: KernelOffset::Detect }, Some(recording)) => {
            recorded::load(root, path, recording).map_err(failed)
        }
        (KernelSource::File { path, offset }, _) => {
            load::load_file(root, path, *offset).map_err(failed)
        }
        (KernelSource::Running, None) => running(root),
        (KernelSource::Running, Some(Recording { anchor, release, .. })) => {
            let here = load::release(root);
            if let Some(recorded) = release.as_ref().filter(|&recorded| *recorded != here) {
                return Err(Reason::KernelOtherRelease { recorded: recorded.clone(), here });
            }
            let loaded = running(root)?;
            check(|symbol| loaded.address_of(symbol), anchor.as_ref()).map(|()| loaded)
        }
    }
}

fn running(root: &Path) -> Result<LoadedKernel, Reason> {
    load::load_running(root).map_err(|error| match error.is_hidden() {
        true => Reason::KernelHidden,
        false => failed(error),
    })
}

fn failed(error: KernelError) -> Reason {
    let why = error.to_string();
    match error {
        KernelError::NotRecorded { .. } => Reason::KernelOtherList { why },
        _ => Reason::KernelUnlisted { why },
    }
}

/// Whether the running kernel lies where the recording says its kernel lay.
pub(super) fn check(
    address_of: impl Fn(&str) -> Option<u64>,
    recorded: Option<&KernelAnchor>,
) -> Result<(), Reason> {
    let Some(KernelAnchor { symbol, address }) = recorded else {
        let why = "its addresses were hidden from the recorder (kptr_restrict)".to_owned();
        return Err(Reason::KernelUnplaced { why });
    };
    match address_of(symbol) {
        Some(here) if here == *address => Ok(()),
        Some(here) => {
            Err(Reason::KernelOtherBoot { symbol: symbol.clone(), recorded: *address, here })
        }
        None => {
            let why = format!("it told the address of {symbol}, which is not listed here");
            Err(Reason::KernelUnplaced { why })
        }
    }
}

/// What the running kernel's first symbols tell of a recording.
#[derive(Debug)]
pub(super) enum BootVerdict {
    /// Nothing says that it is of another.
    Here,
    Other(Reason),
    /// They are hidden, or lack what the recording names.
    Untold,
}

impl BootVerdict {
    pub(super) fn of(root: &Path, recording: &Recording) -> BootVerdict {
        let Recording { anchor, release, .. } = recording;
        let here = load::release(root);
        if let Some(recorded) = release.clone().filter(|recorded| *recorded != here) {
            return BootVerdict::Other(Reason::KernelOtherRelease { recorded, here });
        }
        if anchor.is_none() {
            return BootVerdict::Here;
        }
        let Ok(head) = load::read_head(&root.join("proc/kallsyms")) else {
            return BootVerdict::Untold;
        };
        match check(|symbol| head.address_of(symbol), anchor.as_ref()) {
            Ok(()) => BootVerdict::Here,
            Err(reason @ Reason::KernelOtherBoot { .. }) => BootVerdict::Other(reason),
            Err(_) => BootVerdict::Untold,
        }
    }
}
