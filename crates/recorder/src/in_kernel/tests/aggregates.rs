//! Aggregates against the ring, the kernel's own count and what is known of
//! the hits.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use perfdata::aggregate::{Bits, RESERVOIR, Site, Strides};
use perfdata::{Attr, EventType, Pid};

use super::hits::{
    Counted, PAGE, by_ip, in_none, in_sites, inherited, load, page_faults, touch, untouched,
};
use crate::in_kernel::{
    HitSource, InKernel, KernelProgram, ProgramTask, SampleContents, SiteTables,
};

fn tables(sites: u32) -> SiteTables {
    SiteTables { sites, ..SiteTables::default() }
}

fn aggregate(tables: SiteTables) -> InKernel {
    InKernel { duty: ProgramTask::Aggregate(tables), ..InKernel::aggregate() }
}

/// The site with so many hits, of which there must be one.
fn site_of(sites: &[Site], count: u64) -> &Site {
    let found: Vec<&Site> = sites.iter().filter(|site| site.count == count).collect();
    assert_eq!(found.len(), 1, "{sites:?}");
    found[0]
}

#[test]
fn each_site_has_what_the_ring_and_the_kernel_say() {
    if super::hits::refused() {
        return;
    }
    let mut counted = Counted::beside_ring(&InKernel::aggregate(), &page_faults());
    for _ in 0..20 {
        let mut memory = untouched(600);
        let both = counted.during(|| {
            let (first, rest) = memory.split_at_mut(100 * PAGE);
            let (second, third) = rest.split_at_mut(200 * PAGE);
            touch::<0>(first, PAGE);
            touch::<8>(second, PAGE);
            touch::<16>(third, PAGE);
        });
        let counts = by_ip(&both.aggregate);
        assert_eq!(counts, both.ring);
        assert_eq!(in_sites(&both.aggregate), both.kernel);
        for pages in [100, 200, 300] {
            site_of(&both.aggregate.sites, pages);
        }
        assert_eq!(both.aggregate.lost, []);
    }
}

#[test]
fn swapping_under_load_loses_and_doubles_nothing() {
    if super::hits::refused() {
        return;
    }
    for pause in [Duration::from_millis(10), Duration::ZERO] {
        let attr = inherited();
        let program = load(&aggregate(tables(256)), &attr);
        let mut reader = program.reader().unwrap();
        let mut counted = Counted::with(program, &attr);
        let (begin, ends) = (Instant::now(), AtomicBool::new(false));
        let busy = |pages: usize| {
            let mut rounds = 0;
            // Should an assertion fail meanwhile, it ends by itself.
            while !ends.load(Ordering::Relaxed) && begin.elapsed() < Duration::from_secs(60) {
                let mut memory = untouched(pages);
                touch::<0>(&mut memory, PAGE);
                rounds += 1;
            }
            rounds * pages as u64
        };
        let (mut pages, mut takes, mut sum, mut known) = (0, 0u32, 0, 0);
        let mut until = None;
        let both = counted.during(|| {
            std::thread::scope(|scope| {
                let faulting: Vec<_> =
                    [64, 128, 256].map(|pages| scope.spawn(move || busy(pages))).into();
                // An emulated machine takes its time.
                while takes <= 30 || begin.elapsed() < Duration::from_millis(900) {
                    let part = reader.take().unwrap();
                    assert!(until.is_none_or(|until| until == part.from), "a gap or an overlap");
                    until = Some(part.to);
                    assert_eq!(part.lost, []);
                    sum += in_sites(&part);
                    known += part.sites.iter().filter(|site| site.count >= 16).count();
                    takes += 1;
                    std::thread::sleep(pause);
                }
                ends.store(true, Ordering::Relaxed);
                pages = faulting.into_iter().map(|thread| thread.join().unwrap()).sum();
            });
        });
        assert_eq!(both.aggregate.lost, []);
        sum += in_sites(&both.aggregate);
        assert_eq!(sum, both.kernel, "{takes} intervals");
        assert!(sum >= pages && pages > 1_000, "{sum} counted, {pages} made");
        assert!(known > 0, "{takes} intervals");
        let seen = reader.hit_counts().seen + counted.reader.hit_counts().seen;
        assert_eq!(seen, both.kernel);
    }
}

/// Functions whose faults are so many sites.
macro_rules! touches {
    ($($number:literal)*) => { [$(touch::<$number>),*] };
}

#[test]
fn what_finds_no_room_is_counted_exactly() {
    if super::hits::refused() {
        return;
    }
    let sites: [fn(&mut [u8], usize); 48] = touches!(
        0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33
        34 35 36 37 38 39 40 41 42 43 44 45 46 47
    );
    let mut counted = Counted::beside_ring(&aggregate(tables(16)), &page_faults());
    let mut memory = untouched(480);
    let both = counted.during(|| {
        for (touch, pages) in sites.iter().zip(memory.chunks_mut(10 * PAGE)) {
            touch(pages, PAGE);
        }
    });
    let cpus = super::hits::cpus().len();
    assert!(both.aggregate.sites.len() <= 16 * cpus, "{:?}", both.aggregate.sites.len());
    assert_eq!(in_sites(&both.aggregate) + in_none(&both.aggregate), both.kernel);
    let seen = counted.reader.hit_counts();
    assert_eq!((seen.seen, seen.no_room), (both.kernel, in_none(&both.aggregate)));
    assert_eq!(both.aggregate.lost, [("no_room".to_owned(), seen.no_room)]);
    // Each place of a CPU's table is taken before a hit is lost there.
    assert!(seen.no_room >= 100, "{seen:?}");
    for (ip, count) in by_ip(&both.aggregate) {
        assert!(both.ring[&ip] >= count);
    }
    // The next interval has all its room again.
    let both = counted.during(|| touch::<0>(&mut untouched(30), PAGE));
    assert_eq!((in_sites(&both.aggregate), both.aggregate.lost), (both.kernel, vec![]));
}

#[test]
fn aligned_nodes_leave_thirteen_bits_of_a_register_alone() {
    if super::hits::refused() {
        return;
    }
    let mut counted = Counted::new(&InKernel::aggregate(), &page_faults());
    let mut memory = untouched(2 * 300);
    let both = counted.during(|| touch::<0>(&mut memory, 2 * PAGE));
    let site = site_of(&both.aggregate.sites, 300);
    let address = site.address.unwrap();
    let start = memory.as_ptr().addr() as u64;
    assert_eq!((address.min, address.max), (start, start + 299 * 8192));
    assert_eq!(address.bits.low_constant(), 13);
    assert_eq!(address.bits.any & 0x1fff, 0);
    let changing = site.registers.iter().filter(|register| register.bits.constant() != u64::MAX);
    let aligned = changing.filter(|register| register.bits.low_constant() == 13).count();
    assert!(aligned > 0, "{:?}", site.registers);
}

#[test]
fn distances_are_counted_in_powers_of_two() {
    if super::hits::refused() {
        return;
    }
    let strides = SiteTables { strides: true, ..tables(1024) };
    let mut counted = Counted::new(&aggregate(strides), &page_faults());
    let mut memory = untouched(4 * 50);
    let both = counted.during(|| touch::<0>(&mut memory, 4 * PAGE));
    let site = site_of(&both.aggregate.sites, 50);
    let pairs = site.strides.as_ref().unwrap().0;
    // A move to another CPU breaks one pair, and may leave a longer one.
    assert!(pairs[Strides::bucket(4 * 4096)] >= 40, "{pairs:?}");
    assert!((45..50).contains(&pairs.iter().sum::<u64>()), "{pairs:?}");
    let both = counted.during(|| touch::<0>(&mut untouched(30), PAGE));
    let site = site_of(&both.aggregate.sites, 30);
    let pairs = site.strides.as_ref().unwrap().0;
    assert!(pairs[Strides::bucket(4096)] >= 20 && pairs.iter().sum::<u64>() < 30, "{pairs:?}");
}

#[test]
fn whole_hits_are_taken_with_the_same_chance() {
    if super::hits::refused() {
        return;
    }
    const HITS: usize = 16;
    const ROUNDS: usize = 12_000;
    let mut counted = Counted::new(&aggregate(tables(16)), &page_faults());
    let mut times_taken = [0u32; HITS];
    for _ in 0..ROUNDS {
        let mut memory = untouched(HITS);
        let start = memory.as_ptr().addr() as u64;
        let both = counted.during(|| touch::<0>(&mut memory, PAGE));
        for site in &both.aggregate.sites {
            let all = usize::try_from(site.count).unwrap();
            assert_eq!(site.taken.len(), RESERVOIR.min(all));
            assert!(site.taken.iter().all(|hit| hit.time >= site.first && hit.time <= site.last));
        }
        let site = site_of(&both.aggregate.sites, HITS as u64);
        for hit in &site.taken {
            let page = usize::try_from((hit.address - start) / 4096).unwrap();
            times_taken[page] += 1;
            for (register, value) in site.registers.iter().zip(&hit.registers) {
                let Bits { all, any } = register.bits;
                assert_eq!((value & all, value | any), (all, any));
            }
        }
    }
    // 3000 expected, standard deviation 47: 5 of these either way, and all
    // together 5 beyond what 15 degrees of freedom bring (p below 0.0003).
    for times in times_taken {
        assert!((2763..=3237).contains(&times), "{times_taken:?}");
    }
    let squares = times_taken.iter().map(|times| (f64::from(*times) - 3000.0).powi(2));
    let chi_square = squares.sum::<f64>() / (3000.0 * 0.75);
    assert!(chi_square < 15.0 + 5.0 * 30f64.sqrt(), "{chi_square}: {times_taken:?}");
}

#[test]
fn processes_are_told_apart_where_asked() {
    if super::hits::refused() {
        return;
    }
    let in_kernel = aggregate(SiteTables { by_process: true, ..SiteTables::default() });
    let mut counted = Counted::new(&in_kernel, &inherited());
    let mut child = 0;
    let both = counted.during(|| {
        touch::<0>(&mut untouched(10), PAGE);
        let itself = std::env::current_exe().unwrap();
        let quiet = std::process::Stdio::null();
        let started = std::process::Command::new(itself).arg("--list").stdout(quiet).spawn();
        let mut started = started.unwrap();
        child = i32::try_from(started.id()).unwrap();
        started.wait().unwrap();
    });
    let of = |pid: i32| both.aggregate.sites.iter().filter(move |s| s.process == Some(Pid(pid)));
    let own = i32::try_from(std::process::id()).unwrap();
    assert!(of(child).count() > 10 && of(own).any(|site| site.count >= 10));
    assert!(of(child).all(|site| site.taken.iter().all(|hit| hit.pid == Pid(child))));
    assert_eq!(in_sites(&both.aggregate), both.kernel);
}

#[test]
fn breakpoints_are_counted_with_their_address() {
    if super::hits::refused() {
        return;
    }
    let watched = Box::new(std::sync::atomic::AtomicU64::new(0));
    let address = std::ptr::from_ref(&*watched).addr() as u64;
    let attr = Attr {
        kind: EventType::BREAKPOINT,
        config: 0,
        bp_type: 2,
        config1: address,
        config2: 8,
        ..page_faults()
    };
    let mut counted = Counted::new(&InKernel::aggregate(), &attr);
    let both = counted.during(|| {
        for number in 0..1000 {
            watched.store(number, std::sync::atomic::Ordering::Relaxed);
        }
    });
    assert_eq!(in_sites(&both.aggregate), both.kernel);
    if both.kernel == 0 {
        eprintln!("skipped: this machine's debug registers see nothing (QEMU's own CPU)");
        return;
    }
    assert_eq!(both.kernel, 1000);
    let range = both.aggregate.sites[0].address.unwrap();
    assert_eq!((range.min, range.max), (address, address));
}

#[test]
fn longer_intervals_sum_their_periods() {
    if super::hits::refused() {
        return;
    }
    let attr = Attr { sample_period: 10, ..page_faults() };
    let attr = Attr { sample_type: attr.sample_type - perfdata::SampleType::PERIOD, ..attr };
    let mut counted = Counted::new(&InKernel::aggregate(), &attr);
    let both = counted.during(|| touch::<0>(&mut untouched(1000), PAGE));
    let periods: u64 = both.aggregate.sites.iter().map(|site| site.period).sum();
    assert_eq!(in_sites(&both.aggregate), both.kernel / 10);
    assert_eq!(periods, both.kernel / 10 * 10);
}

#[test]
fn hits_on_a_cpu_without_tables_are_lost_for_want_of_room() {
    if super::hits::refused() {
        return;
    }
    let attr = page_faults();
    let highest = super::hits::cpus().into_iter().max().unwrap();
    let source = HitSource::Overflow(SampleContents::of(&attr));
    let program = KernelProgram::load(&InKernel::aggregate(), source, &[highest]).unwrap();
    let mut counted = Counted::with(program, &attr);
    let both = counted.during(|| touch::<0>(&mut untouched(500), PAGE));
    assert_eq!(in_sites(&both.aggregate) + in_none(&both.aggregate), both.kernel);
    let seen = counted.reader.hit_counts();
    assert_eq!((seen.seen, seen.no_room), (both.kernel, in_none(&both.aggregate)));
}

#[test]
fn another_process_can_take_it_over() {
    if super::hits::refused() {
        return;
    }
    let attr = page_faults();
    let in_kernel = InKernel::aggregate();
    let descriptors = load(&in_kernel, &attr).into_descriptors();
    assert!(descriptors.len() <= KernelProgram::MAX_DESCRIPTORS);
    let source = HitSource::Overflow(SampleContents::of(&attr));
    let program = KernelProgram::from_descriptors(&in_kernel, source, descriptors).unwrap();
    let mut counted = Counted::with(program, &attr);
    let both = counted.during(|| touch::<0>(&mut untouched(50), PAGE));
    assert_eq!(in_sites(&both.aggregate), both.kernel);
    let one_less = load(&in_kernel, &attr).into_descriptors().into_iter().skip(1).collect();
    assert!(KernelProgram::from_descriptors(&in_kernel, source, one_less).is_err());
}

#[test]
fn tables_of_no_possible_size_are_refused() {
    let attr = page_faults();
    for sites in [0, 8, 100, 1 << 21] {
        let source = HitSource::Overflow(SampleContents::of(&attr));
        let error = KernelProgram::load(&aggregate(tables(sites)), source, &super::hits::cpus());
        assert!(error.unwrap_err().to_string().contains(&format!("tables of {sites} sites")));
    }
}
