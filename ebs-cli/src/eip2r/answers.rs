//! Address -> what stands behind it in the output, each put together once.

use super::direct::Direct;
use super::names::{NameId, Names};
use super::output::push_address;
use rustc_hash::FxHashMap;
use std::io::Write;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Answers kept for addresses outside the kernel; a power of two.
const KEPT: usize = 1 << 16;

/// What one thread has asked for so far.
#[derive(Debug)]
pub(super) struct Answers<'a> {
    direct: &'a Direct,
    names: &'a Mutex<&'a mut Names>,
    /// Whether routines get an offset.
    offset: bool,
    /// Texts one after the other: a blank, the name, a newline.
    texts: Vec<u8>,
    /// Texts of the stretches of `direct`: empty until asked for.
    known: Vec<Text>,
    elsewhere: Vec<Option<(u64, Text, u64)>>,
    of_names: FxHashMap<NameId, Text>,
    /// How many addresses got a reason in place of a name.
    without: FxHashMap<NameId, u64>,
}

/// Where in `texts`.
#[derive(Clone, Copy, Debug, Default)]
struct Text {
    at: usize,
    end: usize,
    /// It is a reason against a name.
    reason: Option<NameId>,
    /// First address of the routine.
    start: u64,
}

impl<'a> Answers<'a> {
    pub(super) fn new(
        direct: &'a Direct,
        names: &'a Mutex<&'a mut Names>,
        offset: bool,
    ) -> Answers<'a> {
        Answers {
            direct,
            names,
            offset,
            texts: Vec::new(),
            known: vec![Text::default(); direct.len()],
            elsewhere: vec![None; KEPT],
            of_names: FxHashMap::default(),
            without: FxHashMap::default(),
        }
    }

    /// Appends the line of an address.
    #[inline]
    pub(super) fn push(&mut self, out: &mut Vec<u8>, address: u64) {
        push_address(out, address);
        let Some(stretch) = self.direct.find(address) else { return self.push_other(out, address) };
        let mut text = self.known[stretch as usize];
        if text.end == 0 {
            // Every address of a gap has the same reason.
            (text, _) = self.ask(self.direct.start(stretch));
            self.known[stretch as usize] = text;
        }
        if text.reason.is_none() && !self.offset {
            out.extend_from_slice(&self.texts[text.at..text.end]);
        } else {
            self.push_rare(out, text, address.wrapping_sub(text.start));
        }
    }

    fn push_rare(&mut self, out: &mut Vec<u8>, text: Text, offset: u64) {
        if let Some(reason) = text.reason {
            *self.without.entry(reason).or_default() += 1;
        }
        let shown = &self.texts[text.at..text.end];
        if text.reason.is_some() || !self.offset {
            out.extend_from_slice(shown);
            return;
        }
        out.extend_from_slice(&shown[..shown.len() - 1]);
        // A Vec takes everything.
        let _ = writeln!(out, "+{offset:#x}");
    }

    fn push_other(&mut self, out: &mut Vec<u8>, address: u64) {
        let mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
        let slot = usize::try_from(mixed).unwrap_or(0) & (KEPT - 1);
        let (text, offset) = match self.elsewhere[slot] {
            Some((known, text, offset)) if known == address => (text, offset),
            _ => {
                let (text, offset) = self.ask(address);
                self.elsewhere[slot] = Some((address, text, offset));
                (text, offset)
            }
        };
        self.push_rare(out, text, offset);
    }

    #[cold]
    fn ask(&mut self, address: u64) -> (Text, u64) {
        let mut names = lock(self.names);
        let named = names.look_up(address);
        let text = *self.of_names.entry(named.name).or_insert_with(|| {
            let at = self.texts.len();
            self.texts.push(b' ');
            self.texts.extend_from_slice(names.text(named.name).as_bytes());
            self.texts.push(b'\n');
            let reason = named.offset.is_none().then_some(named.name);
            let start = address.wrapping_sub(named.offset.unwrap_or(0));
            Text { at, end: self.texts.len(), reason, start }
        });
        (text, named.offset.unwrap_or(0))
    }

    /// Tells how many addresses got no name.
    pub(super) fn report(self) {
        let mut names = lock(self.names);
        for (name, count) in self.without {
            names.without(name, count);
        }
    }
}

fn lock<'a, 'b>(names: &'a Mutex<&'b mut Names>) -> MutexGuard<'a, &'b mut Names> {
    names.lock().unwrap_or_else(PoisonError::into_inner)
}
