//! Address -> its line of output.

use super::names::{NameId, Names};
use super::page::Page;
use super::texts::{Found, Texts};
use rustc_hash::FxHashMap;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Answers kept for addresses that [`Texts`] do not have; a power of two.
const KEPT: usize = 1 << 16;
/// Addresses looked up before the first of them is printed: the processor
/// then has many reads of tables under way.
const LOT: usize = 64;

#[derive(Debug)]
pub(super) struct Answers<'a> {
    texts: &'a Texts,
    names: &'a Mutex<&'a mut Names>,
    offset: bool,
    /// By a hash of the address: the address, its offset, and one more than
    /// its name's number in `lines`. Zero: none yet. Zeros take no memory
    /// before they are written over.
    known: Vec<(u64, u64, u32)>,
    /// A blank, the name or a reason against one, a newline.
    lines: Vec<Line>,
    numbers: FxHashMap<NameId, u32>,
}

#[derive(Debug)]
struct Line {
    text: Box<[u8]>,
    name: NameId,
    is_reason: bool,
    /// How many addresses got it in place of a name.
    count: u64,
}

impl<'a> Answers<'a> {
    pub(super) fn new(
        texts: &'a Texts,
        names: &'a Mutex<&'a mut Names>,
        offset: bool,
    ) -> Answers<'a> {
        let (lines, numbers) = (Vec::new(), FxHashMap::default());
        Answers { texts, names, offset, known: Vec::new(), lines, numbers }
    }

    #[inline]
    pub(super) fn push_all(&mut self, page: &mut Page, addresses: &[u64]) {
        let mut found = [Found::default(); LOT];
        for addresses in addresses.chunks(LOT) {
            for (found, &address) in found.iter_mut().zip(addresses) {
                *found = self.texts.find(address);
            }
            for (found, &address) in found.iter().zip(addresses) {
                match (found.text.is_empty(), self.offset) {
                    (false, false) => page.push_line(address, self.texts.arena(), found.text),
                    (false, true) => {
                        let text = self.texts.arena().get(found.text);
                        let offset = self.texts.offset(*found, address);
                        push_with_offset(page, address, text, offset);
                    }
                    (true, _) => self.push_other(page, address),
                }
            }
        }
    }

    fn push_other(&mut self, page: &mut Page, address: u64) {
        if self.known.is_empty() {
            self.known = vec![(0, 0, 0); KEPT];
        }
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let slot = usize::try_from(mixed).unwrap_or(0) & (KEPT - 1);
        if self.known[slot].2 == 0 || self.known[slot].0 != address {
            self.known[slot] = self.ask(address);
        }
        let (_, offset, number) = self.known[slot];
        let line = &mut self.lines[number as usize - 1];
        if line.is_reason {
            line.count += 1;
        }
        match self.offset && !line.is_reason {
            true => push_with_offset(page, address, &line.text, offset),
            false => {
                page.push_address(address);
                page.push(&line.text);
            }
        }
    }

    #[cold]
    fn ask(&mut self, address: u64) -> (u64, u64, u32) {
        let mut names = lock(self.names);
        let named = names.look_up(address);
        let number = *self.numbers.entry(named.name).or_insert_with(|| {
            let text = [b" ", names.text(named.name).as_bytes(), b"\n"].concat().into();
            let is_reason = named.offset.is_none();
            self.lines.push(Line { text, name: named.name, is_reason, count: 0 });
            u32::try_from(self.lines.len()).unwrap_or(u32::MAX)
        });
        (address, named.offset.unwrap_or(0), number)
    }

    pub(super) fn report(self) {
        let mut names = lock(self.names);
        for line in self.lines.iter().filter(|line| line.count > 0) {
            names.without(line.name, line.count);
        }
    }
}

/// `text` ends with a newline.
fn push_with_offset(page: &mut Page, address: u64, text: &[u8], offset: u64) {
    page.push_address(address);
    page.push(&text[..text.len() - 1]);
    let mut digits = [0; 24];
    let mut rest = &mut digits[..];
    // 16 digits, `+0x` and a newline have room.
    let _ = writeln!(rest, "+{offset:#x}");
    let left = rest.len();
    page.push(&digits[..digits.len() - left]);
}

fn lock<'a, 'b>(names: &'a Mutex<&'b mut Names>) -> MutexGuard<'a, &'b mut Names> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}
