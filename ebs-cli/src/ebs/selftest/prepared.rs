//! Each program with its memory, and what is true of it.

use super::child::{Part, Prepared};
use crate::ebs::selftest::program::{
    COLUMNS, Extent, PAGE_STRIDE, Program, ROW, ROWS, STORE_STRIDE, STRIDE, WATCHED,
};
use crate::ebs::selftest::sys::{
    self, BLOCKED, BRANCHES, CALLS, CHASE, COMPUTE, Circle, LINK, Loop, Path, Region, STORES,
    TURNS, WALK,
};
use crate::ebs::selftest::truth::{Access, DI, R10, TrueSite, Truth};
use anyhow::{Context, Result, ensure};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::fs::File;
use std::io::Read;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

/// Where in a line a load begins that reaches into the next one.
const ACROSS: u64 = 60;
/// Where in a page of its own a store goes.
const IN_PAGE: u64 = 16;
/// What a program sleeps at a time.
const NAP: Duration = Duration::from_micros(200);

pub(super) fn prepare(part: &Part) -> Result<Prepared> {
    let Extent { elements, passes } = part.extent;
    let visits = elements.checked_mul(passes).context("that is more than can be counted")?;
    match part.program {
        Program::Rows => walk(&WALK, part.extent, 0, 8),
        Program::Splits => walk(&WALK, part.extent, ACROSS, STRIDE),
        Program::Stores => walk(&STORES, part.extent, IN_PAGE, STRIDE),
        Program::PageStores => walk(&STORES, part.extent, IN_PAGE, STORE_STRIDE),
        Program::Columns => columns(passes),
        Program::Chase => chase(elements, visits, STRIDE),
        Program::Pages => chase(elements, visits, PAGE_STRIDE),
        Program::Blocked => {
            let region = Region::touched(4096)?;
            on_region(&BLOCKED, region, Path { offset: 0, count: visits, stride: 0 }, 1)
        }
        Program::Watch => {
            let at = usize::try_from(WATCHED)?;
            let region = Region::at(at, 4096);
            let region = region.with_context(|| format!("no page can be had at {WATCHED:#x}"))?;
            on_region(&STORES, region, Path { offset: 0, count: visits, stride: 0 }, 1)
        }
        Program::Touch => {
            let bytes = usize::try_from(elements * PAGE_STRIDE)?;
            let path = Path { offset: IN_PAGE, count: elements, stride: PAGE_STRIDE };
            on_region(&STORES, Region::fresh(bytes)?, path, 1)
        }
        Program::Branches => Ok(alone(&BRANCHES, visits)),
        Program::Compute => Ok(alone(&COMPUTE, visits)),
        Program::Calls => Ok(alone(&CALLS, visits)),
        Program::Sharing => sharing(visits, part.cpus),
        Program::Copy => copy(elements),
        Program::Sleeps => Ok(Prepared {
            truth: Truth { visits, ..Truth::default() },
            run: Box::new(move || {
                (0..visits).for_each(|_| thread::sleep(NAP));
                Ok(())
            }),
        }),
        Program::Moves => moves(visits, part.cpus),
    }
}

fn walk(code: &'static Loop, extent: Extent, offset: u64, stride: u64) -> Result<Prepared> {
    let Extent { elements, passes } = extent;
    // Those across lines reach beyond the last stride.
    let bytes = elements.checked_mul(stride).and_then(|bytes| bytes.checked_add(offset + 64));
    let region = Region::touched(usize::try_from(bytes.context("too large")?)?)?;
    on_region(code, region, Path { offset, count: elements, stride }, passes)
}

fn on_region(code: &'static Loop, mut region: Region, path: Path, passes: u64) -> Result<Prepared> {
    let Path { offset, count, stride } = path;
    let start = region.start() + offset;
    let access = Access {
        is_store: std::ptr::eq(code, &raw const STORES),
        start,
        end: start + count.max(1).saturating_sub(1) * stride + 1,
        stride: stride.max(1),
        width: 1,
        register: Some(DI),
        displacement: 0,
    };
    let truth = truth(code, Some(access), count * passes);
    let run = move || {
        code.run_on(&mut region, path, passes);
        Ok(())
    };
    Ok(Prepared { truth, run: Box::new(run) })
}

fn columns(passes: u64) -> Result<Prepared> {
    let mut region = Region::touched(usize::try_from(ROWS * ROW)?)?;
    let access = Access {
        is_store: false,
        start: region.start(),
        end: region.start() + region.bytes(),
        stride: ROW,
        width: COLUMNS * 8,
        register: Some(R10),
        displacement: 0,
    };
    let truth = truth(&sys::COLUMNS, Some(access), ROWS * COLUMNS * passes);
    let run = move || {
        sys::COLUMNS.run_on(&mut region, Path { offset: 0, count: ROWS, stride: ROW }, passes);
        Ok(())
    };
    Ok(Prepared { truth, run: Box::new(run) })
}

fn chase(nodes: u64, visits: u64, stride: u64) -> Result<Prepared> {
    let circle = Circle::new(nodes, stride)?;
    let access = Access {
        is_store: false,
        start: circle.first() + LINK,
        end: circle.first() + circle.bytes(),
        stride,
        width: 1,
        register: Some(DI),
        displacement: LINK,
    };
    let truth = truth(&CHASE, Some(access), visits);
    let run = move || {
        Loop::run_along(&circle, visits);
        Ok(())
    };
    Ok(Prepared { truth, run: Box::new(run) })
}

fn alone(code: &'static Loop, visits: u64) -> Prepared {
    let truth = truth(code, None, visits);
    let run = move || {
        code.run(visits);
        Ok(())
    };
    Prepared { truth, run: Box::new(run) }
}

/// Each thread takes the line from the other `visits` times.
fn sharing(visits: u64, cpus: Option<[usize; 2]>) -> Result<Prepared> {
    let region = Region::touched(4096)?;
    let word = region.start();
    let access = Access {
        is_store: false,
        start: word,
        end: word + 1,
        stride: 1,
        width: 1,
        register: Some(DI),
        displacement: 0,
    };
    // The first word holds 1 already, which is this thread's turn.
    let truth = truth(&TURNS, Some(access), 2 * visits);
    // Both threads are there before the go: what makes one is shared, too.
    let meet = Arc::new(Barrier::new(2));
    let (tell, hear) = channel();
    let there = Arc::clone(&meet);
    thread::Builder::new().spawn(move || {
        let bound = stay(cpus.map(|cpus| cpus[1]));
        let is_bound = bound.is_ok();
        if tell.send(bound).is_ok() && is_bound {
            there.wait();
            Loop::take_turns(word, 0, 1, visits);
        }
    })?;
    hear.recv()??;
    stay(cpus.map(|cpus| cpus[0]))?;
    // The other thread may take its last turn while this one ends.
    std::mem::forget(region);
    let run = move || {
        meet.wait();
        Loop::take_turns(word, 1, 0, visits);
        Ok(())
    };
    Ok(Prepared { truth, run: Box::new(run) })
}

/// The kernel fills pages that nobody touched before.
fn copy(pages: u64) -> Result<Prepared> {
    let mut zeroes = File::open("/dev/zero").context("/dev/zero")?;
    let mut region = Region::fresh(usize::try_from(pages * 4096)?)?;
    let buffer = Access {
        is_store: true,
        start: region.start(),
        end: region.start() + region.bytes(),
        stride: 4096,
        width: 1,
        register: None,
        displacement: 0,
    };
    let truth = Truth { buffer: Some(buffer), visits: pages, ..Truth::default() };
    let run = move || zeroes.read_exact(region.bytes_mut()).context("/dev/zero");
    Ok(Prepared { truth, run: Box::new(run) })
}

fn moves(visits: u64, cpus: Option<[usize; 2]>) -> Result<Prepared> {
    let cpus = cpus.context("there is no second CPU to move to")?;
    ensure!(cpus[0] != cpus[1], "{cpus:?} is one CPU");
    let truth = Truth { visits, ..Truth::default() };
    let run = move || {
        stay(Some(cpus[0]))?;
        let to = cpus.iter().cycle().skip(1);
        to.take(usize::try_from(visits)?).try_for_each(|cpu| stay(Some(*cpu)))
    };
    Ok(Prepared { truth, run: Box::new(run) })
}

fn stay(cpu: Option<usize>) -> Result<()> {
    let Some(cpu) = cpu else { return Ok(()) };
    let mut set = CpuSet::new();
    set.set(cpu);
    sched_setaffinity(None, &set).with_context(|| format!("going to CPU {cpu}"))
}

fn truth(code: &Loop, access: Option<Access>, visits: u64) -> Truth {
    let range = code.code();
    let site = |label: &_| site(label, access);
    let sites = code.labels.iter().map(site).collect();
    Truth { start: range.start, end: range.end, sites, buffer: None, visits }
}

fn site(label: &sys::Label, access: Option<Access>) -> TrueSite {
    TrueSite { name: label.name.to_owned(), at: label.at(), next: label.next(), access }
}
