//! A list as columns: equal things beside each other, for zstd.

use super::{KernelList, KernelModule, KernelSymbol};

/// Most symbols: kernels have a few hundred thousand.
const SYMBOLS: u64 = 1 << 21;
/// Longest build id, bytes.
const BUILD_ID: u64 = 64;
/// Longest name of a module (`MODULE_NAME_LEN` is 56) or of a symbol
/// (`KSYM_NAME_LEN` is 512), bytes.
const NAME: usize = 4096;

/// Why bytes are no list, or a list cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColumnError {
    #[error("the kernel's symbols end within {0}")]
    Short(&'static str),
    #[error("the kernel's symbols have {1} as {0}, which cannot be")]
    Impossible(&'static str, u64),
}

use ColumnError::{Impossible, Short};

/// Appends the columns of a list, whose symbols are in order.
pub(super) fn write(list: &KernelList, out: &mut Vec<u8>) -> Result<(), ColumnError> {
    let count = list.symbols.len() as u64;
    require(count <= SYMBOLS, "number of symbols", count)?;
    let modules = list.modules.len() as u64;
    require(modules < u64::from(KernelSymbol::NO_MODULE), "number of modules", modules)?;
    put_bytes(out, &list.build_id, BUILD_ID, "length of a build id")?;
    put(out, modules);
    for module in &list.modules {
        put_bytes(out, &module.name, NAME as u64, "length of a module's name")?;
        put(out, module.base);
        put(out, module.size);
        put_bytes(out, &module.build_id, BUILD_ID, "length of a build id")?;
    }
    put(out, count);
    let mut before = 0;
    for symbol in &list.symbols {
        let step = symbol.address.checked_sub(before);
        put(out, step.ok_or(Impossible("order of addresses", symbol.address))?);
        before = symbol.address;
    }
    out.extend(list.symbols.iter().map(|symbol| symbol.kind));
    for run in list.symbols.chunk_by(|a, b| a.module == b.module) {
        let module = match run[0].module {
            KernelSymbol::NO_MODULE => 0,
            module => u64::from(module) + 1,
        };
        require(module <= modules, "module of a symbol", module)?;
        put(out, run.len() as u64);
        put(out, module);
    }
    for symbol in &list.symbols {
        let name = list.name(symbol);
        let sound = (1..=NAME).contains(&name.len()) && !name.contains(&b'\n');
        require(sound, "length of a name", name.len() as u64)?;
        out.extend_from_slice(name);
        out.push(b'\n');
    }
    Ok(())
}

/// Reads them back, to the last byte.
pub(super) fn read(bytes: &[u8]) -> Result<KernelList, ColumnError> {
    let mut rest = bytes;
    let rest = &mut rest;
    let build_id = take_bytes(rest, BUILD_ID, "a build id")?.to_vec();
    let count = take(rest, "the number of modules")?;
    require(count < u64::from(KernelSymbol::NO_MODULE), "number of modules", count)?;
    let modules = (0..count).map(|_| module(rest)).collect::<Result<Vec<_>, _>>()?;
    let count = take(rest, "the number of symbols")?;
    // Each has an address, a letter and a name of two bytes at least.
    require(count <= SYMBOLS && count <= rest.len() as u64 / 4, "number of symbols", count)?;
    let mut address = 0_u64;
    let symbols = (0..count).map(|_| {
        let step = take(rest, "an address")?;
        address = address.checked_add(step).ok_or(Impossible("distance of addresses", step))?;
        let module = KernelSymbol::NO_MODULE;
        Ok(KernelSymbol { address, name: 0, length: 0, module, kind: 0 })
    });
    let mut symbols = symbols.collect::<Result<Vec<_>, _>>()?;
    let kinds = split(rest, symbols.len(), "the types")?;
    for (symbol, &kind) in symbols.iter_mut().zip(kinds) {
        require(kind.is_ascii_graphic(), "type of a symbol", u64::from(kind))?;
        symbol.kind = kind;
    }
    runs(rest, modules.len(), &mut symbols)?;
    let names = names(rest, &mut symbols)?.to_vec();
    Ok(KernelList { build_id, modules, symbols, names })
}

fn module(rest: &mut &[u8]) -> Result<KernelModule, ColumnError> {
    Ok(KernelModule {
        name: take_bytes(rest, NAME as u64, "a module's name")?.to_vec(),
        base: take(rest, "a module's base")?,
        size: take(rest, "a module's size")?,
        build_id: take_bytes(rest, BUILD_ID, "a build id")?.to_vec(),
    })
}

/// Which modules the symbols are of.
fn runs(rest: &mut &[u8], modules: usize, symbols: &mut [KernelSymbol]) -> Result<(), ColumnError> {
    let mut left = symbols;
    while !left.is_empty() {
        let (length, module) = (take(rest, "a run")?, take(rest, "a run")?);
        let fits = usize::try_from(length).ok().filter(|length| (1..=left.len()).contains(length));
        let fits = fits.ok_or(Impossible("length of a run", length))?;
        require(module <= modules as u64, "module of a symbol", module)?;
        let (run, after) = left.split_at_mut(fits);
        if let Some(module) = module.checked_sub(1) {
            let module = u16::try_from(module).map_err(|_| Impossible("module", module))?;
            run.iter_mut().for_each(|symbol| symbol.module = module);
        }
        left = after;
    }
    Ok(())
}

/// Where each symbol's name is in what is left, which holds them all and
/// nothing else.
fn names<'a>(rest: &mut &'a [u8], symbols: &mut [KernelSymbol]) -> Result<&'a [u8], ColumnError> {
    let all = *rest;
    let mut at = 0;
    for symbol in symbols {
        let window = &all[at..all.len().min(at + NAME + 1)];
        let length = window.iter().position(|&byte| byte == b'\n').ok_or(Short("a name"))?;
        require(length > 0, "length of a name", 0)?;
        let whole =
            |value: usize| u32::try_from(value).map_err(|_| Impossible("name", value as u64));
        symbol.name = whole(at)?;
        symbol.length =
            u16::try_from(length).map_err(|_| Impossible("length of a name", length as u64))?;
        at += length + 1;
    }
    let left = all.len() - at;
    require(left == 0, "number of bytes left over", left as u64)?;
    Ok(all)
}

fn require(holds: bool, what: &'static str, value: u64) -> Result<(), ColumnError> {
    if holds { Ok(()) } else { Err(Impossible(what, value)) }
}

/// LEB128, the lowest seven bits first.
fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    out.push(value.to_le_bytes()[0]);
}

fn take(rest: &mut &[u8], what: &'static str) -> Result<u64, ColumnError> {
    let mut value = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (&byte, after) = rest.split_first().ok_or(Short(what))?;
        *rest = after;
        let bits = u64::from(byte & 0x7f);
        if bits != 0 && bits << shift >> shift != bits {
            return Err(Impossible(what, bits));
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Impossible(what, value))
}

fn put_bytes(
    out: &mut Vec<u8>,
    bytes: &[u8],
    most: u64,
    what: &'static str,
) -> Result<(), ColumnError> {
    require(bytes.len() as u64 <= most, what, bytes.len() as u64)?;
    put(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
    Ok(())
}

fn take_bytes<'a>(
    rest: &mut &'a [u8],
    most: u64,
    what: &'static str,
) -> Result<&'a [u8], ColumnError> {
    let length = take(rest, what)?;
    require(length <= most, what, length)?;
    split(rest, usize::try_from(length).unwrap_or(usize::MAX), what)
}

fn split<'a>(
    rest: &mut &'a [u8],
    count: usize,
    what: &'static str,
) -> Result<&'a [u8], ColumnError> {
    let (front, after) = rest.split_at_checked(count).ok_or(Short(what))?;
    *rest = after;
    Ok(front)
}
