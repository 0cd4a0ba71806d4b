//! One access that translated code could not answer by itself.

use super::Next;
use super::header::Header;
use super::thread::{Pending, Thread};
use crate::block::{AccessKind, COUNTED, Site};
use crate::model::{First, Found, LINE};

/// What an access works on.
#[derive(Debug)]
pub(super) struct Memory<'a> {
    pub(super) thread: &'a mut Thread,
    pub(super) words: &'a mut [u64],
    pub(super) header: &'a Header,
}

const LOAD: u8 = AccessKind::Load as u8;
const STORE: u8 = AccessKind::Store as u8;

/// Looks the access up, and says whether a record is due.
#[inline(always)]
pub(super) fn access(memory: Memory<'_>, site: &Site) -> Next {
    let Memory { thread, words, header } = memory;
    let address = thread.address;
    let stamp = thread.clock.wrapping_add(u64::from(site.offset));
    let mut missed = false;
    if site.kind == LOAD || site.kind == STORE {
        let write = site.kind == STORE;
        let first = address & !(LINE - 1);
        let last = address.wrapping_add(u64::from(site.size).saturating_sub(1)) & !(LINE - 1);
        let mut cache = First {
            level: header.shape.l1d,
            words,
            keys: &mut thread.loads,
            hits: &mut thread.load_stamps,
            stores: Some(&mut thread.stores),
        };
        missed = cache.access(first, stamp, write) == Found::Miss;
        if last != first {
            missed |= cache.access(last, stamp + 1, write) == Found::Miss;
            thread.clock += 1;
        }
    }
    let due = if site.marks & COUNTED != 0 {
        thread.countdown == 0
    } else if missed && header.events != 0 {
        thread.countdown = thread.countdown.wrapping_sub(1);
        thread.countdown == 0
    } else {
        false
    };
    if !due {
        return Next::Resume;
    }
    thread.countdown = header.interval;
    thread.own.pending = Pending { due: 1, address, source: 0, latency: 0, elements: 0 };
    Next::Record
}
