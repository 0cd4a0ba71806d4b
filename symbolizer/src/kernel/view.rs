//! The kernel as one recording sees it: the list that fits it, or why none
//! does.

use super::load::{self, Anchor, KernelError, Loaded, Note};
use super::table::KernelSymbols;
use crate::options::{KernelOffset, KernelSource};
use crate::{ObjectId, Options, Reason, object::Objects};

/// The kernel's symbols, read when first needed.
#[derive(Debug)]
pub(crate) struct KernelView {
    /// Where the recording says that `_text` was.
    pub(crate) recorded: Option<Anchor>,
    /// Release of the recorded kernel.
    pub(crate) release: Option<String>,
    state: Option<Result<Ready, Reason>>,
}

#[derive(Debug)]
struct Ready {
    symbols: KernelSymbols,
    /// Objects of the modules, by number.
    modules: Vec<ObjectId>,
    notes: Vec<Note>,
}

impl KernelView {
    pub(crate) fn new() -> KernelView {
        KernelView { recorded: None, release: None, state: None }
    }

    /// What the recording says about its kernel has changed: look again.
    pub(crate) fn learn(&mut self, anchor: Anchor) {
        if self.recorded.as_ref() != Some(&anchor) {
            self.recorded = Some(anchor);
            self.state = None;
        }
    }

    pub(crate) fn learn_release(&mut self, release: &str) {
        self.release = Some(release.to_owned());
        self.state = None;
    }

    pub(crate) fn notes(&self) -> &[Note] {
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
        options: &Options,
        objects: &mut Objects,
    ) -> (ObjectId, u64, u64) {
        let Ok(ready) = self.ready(options, objects) else {
            return (ObjectId::KERNEL, 0, u64::MAX);
        };
        let (module, first, last) = ready.symbols.owner(address);
        let object = module
            .and_then(|number| ready.modules.get(usize::from(number)).copied())
            .unwrap_or(ObjectId::KERNEL);
        (object, first, last)
    }

    /// Why the recording was not made under the running kernel, if so.
    pub(crate) fn elsewhere(&mut self, options: &Options, objects: &mut Objects) -> Option<Reason> {
        if self.recorded.is_none() && self.release.is_none() {
            return None;
        }
        match (&options.kernel, self.ready(options, objects)) {
            (KernelSource::Running, Ok(_)) => None,
            (_, Err(reason)) => Some(reason.clone()),
            _ => Some(Reason::KernelUnlisted { why: "its symbols come from a file".to_owned() }),
        }
    }

    pub(crate) fn symbols(
        &mut self,
        options: &Options,
        objects: &mut Objects,
    ) -> Result<&KernelSymbols, Reason> {
        match self.ready(options, objects) {
            Ok(ready) => Ok(&ready.symbols),
            Err(reason) => Err(reason.clone()),
        }
    }

    fn ready(&mut self, options: &Options, objects: &mut Objects) -> Result<&Ready, &Reason> {
        let (recorded, release) = (self.recorded.as_ref(), self.release.as_deref());
        self.state
            .get_or_insert_with(|| {
                let loaded = load(options, recorded, release)?;
                let modules =
                    loaded.symbols.modules().iter().map(|name| objects.module(name)).collect();
                Ok(Ready { symbols: loaded.symbols, modules, notes: loaded.notes })
            })
            .as_ref()
    }
}

fn load(
    options: &Options,
    recorded: Option<&Anchor>,
    release: Option<&str>,
) -> Result<Loaded, Reason> {
    let failed = |error: KernelError| match error.is_hidden() {
        true => Reason::KernelHidden,
        false => Reason::KernelUnlisted { why: error.to_string() },
    };
    match (&options.kernel, recorded) {
        (KernelSource::None, _) => Err(Reason::KernelUnlisted { why: "not asked for".to_owned() }),
        (KernelSource::File { path, offset: KernelOffset::Detect }, Some(anchor)) => {
            load::load_anchored(path, anchor).map_err(failed)
        }
        (KernelSource::File { path, offset }, _) => {
            load::load_file(&options.root, path, *offset).map_err(failed)
        }
        (KernelSource::Running, _) => {
            let here = load::release(&options.root);
            if let Some(recorded) = release.filter(|&recorded| recorded != here) {
                return Err(Reason::KernelOtherRelease { recorded: recorded.to_owned(), here });
            }
            let loaded = load::load_running(&options.root).map_err(failed)?;
            match recorded {
                Some(anchor) => check(&loaded, anchor).map(|()| loaded),
                None => Ok(loaded),
            }
        }
    }
}

/// Whether the running kernel lies where the recording says its kernel lay.
fn check(loaded: &Loaded, recorded: &Anchor) -> Result<(), Reason> {
    let here = loaded.address_of(&recorded.symbol);
    match here {
        Some(here) if here != recorded.address => Err(Reason::KernelOtherBoot {
            symbol: recorded.symbol.clone(),
            recorded: recorded.address,
            here,
        }),
        _ => Ok(()),
    }
}
