//! The symbols of a recorded kernel, as far as they name its addresses: what
//! a recording keeps so that it is read on another boot or machine.

mod columns;
mod packed;
mod part;

pub use columns::ColumnError;
pub use packed::{PackError, PackedKernelList, UnpackError};
pub(crate) use part::KernelListAssembler;
pub use part::{IncompleteKernelList, KernelListPart, KernelListPartError, TEXT};

/// Symbols in order of their addresses, and the modules that they are of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelList {
    /// The kernel's build id; empty: not known.
    pub build_id: Vec<u8>,
    /// Modules by number, fewer than [`KernelSymbol::NO_MODULE`].
    pub modules: Vec<KernelModule>,
    /// Symbols, by address; of one address in the order that the kernel lists
    /// them in.
    pub symbols: Vec<KernelSymbol>,
    /// All names, each followed by a line end.
    pub names: Vec<u8>,
}

/// A module, or what the kernel lists as one (`bpf`, `__builtin__ftrace`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelModule {
    /// Without brackets.
    pub name: Vec<u8>,
    /// Where it lies, by /proc/modules; 0: that does not say.
    pub base: u64,
    /// Bytes there.
    pub size: u64,
    /// Its build id; empty: not known.
    pub build_id: Vec<u8>,
}

/// One symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelSymbol {
    /// Run-time address.
    pub address: u64,
    /// Where its name begins in [`KernelList::names`].
    pub name: u32,
    /// Bytes of its name.
    pub length: u16,
    /// Its module's number; [`KernelSymbol::NO_MODULE`]: the kernel proper.
    pub module: u16,
    /// nm's type letter.
    pub kind: u8,
}

impl KernelSymbol {
    /// The module number of the kernel proper.
    pub const NO_MODULE: u16 = u16::MAX;

    /// Whether nm's letter says code: text, or weak.
    pub fn is_text(&self) -> bool {
        matches!(self.kind, b't' | b'T' | b'w' | b'W')
    }
}

impl KernelList {
    pub fn name(&self, symbol: &KernelSymbol) -> &[u8] {
        let start = usize::try_from(symbol.name).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::from(symbol.length));
        self.names.get(start..end).unwrap_or_default()
    }

    /// Keeps what names code: routines, the first symbol of any type after
    /// each, where it ends, and nothing else. Sorts by address.
    pub fn keep_code(&mut self) {
        let all = std::mem::take(&mut self.symbols);
        let all = sorted(all);
        let mut follows = false;
        for group in all.chunk_by(|a, b| a.address == b.address) {
            let has_text = group.iter().any(KernelSymbol::is_text);
            for (place, symbol) in group.iter().enumerate() {
                if symbol.is_text() || (follows && place == 0) {
                    self.symbols.push(*symbol);
                }
            }
            follows = has_text;
        }
        self.forget_unused_names();
    }

    /// Keeps all, sorted by address.
    pub fn keep_all(&mut self) {
        self.symbols = sorted(std::mem::take(&mut self.symbols));
        self.forget_unused_names();
    }

    /// Names in the order of the symbols, and no others.
    fn forget_unused_names(&mut self) {
        let mut names = Vec::with_capacity(self.names.len());
        let mut symbols = std::mem::take(&mut self.symbols);
        for symbol in &mut symbols {
            let name = self.name(symbol);
            let start = u32::try_from(names.len()).unwrap_or(u32::MAX);
            names.extend_from_slice(name);
            names.push(b'\n');
            symbol.name = start;
        }
        self.symbols = symbols;
        self.names = names;
    }
}

/// Modules come unsorted.
fn sorted(mut symbols: Vec<KernelSymbol>) -> Vec<KernelSymbol> {
    if !symbols.is_sorted_by_key(|symbol| symbol.address) {
        symbols.sort_by_key(|symbol| symbol.address);
    }
    symbols
}

#[cfg(test)]
mod tests;
