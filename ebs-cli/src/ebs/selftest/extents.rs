//! How much of a program is run, and how often it is sampled: enough to judge
//! by, in little time.

use super::cases::{Case, Served};
use super::program::{COLUMNS, Extent, Program, ROW, ROWS, STRIDE};
use super::row::By;
use emulator::Geometry;
use perfdata::data_src::Level;
use recorder::Facts;
use recorder::plan::Outline;
use std::time::Duration;

/// What the emulated PMU models: small, so that its caches are soon too
/// small, and the same on each machine, so that numbers are known.
pub(super) const MODEL: &str = "l1d=8k,4 l1i=16k,4 l2=32k,8 l3=128k,16 dtlb=16,4 stlb=64,8";

/// Samples that a run is to give.
const SAMPLES: u64 = 1000;
/// Nanoseconds between ticks of a clock.
const TICK: u64 = 100_000;
/// Instructions of a visit, more or less: where instructions or ops are
/// sampled and the ones of a kind kept.
const INSTRUCTIONS: u64 = 6;
/// Intervals of IBS are multiples of it (`IBS_OP_CNT`, AMD PPR).
const IBS_STEP: u64 = 16;
/// And so long at least.
const IBS_LEAST: u64 = 256;
/// A CPU's counter is not read more often: the kernel would pause it.
const LEAST: u64 = 101;
/// Visits of emulated programs.
const EMULATED: u64 = 262_144;
/// Happenings of which each is a sample.
const EVERY: u64 = 2000;
/// Bytes of memory that a program may take, at most.
const MOST_BYTES: u64 = 1 << 30;
/// And of the machine's memory one part in so many.
const PART: u64 = 4;

/// A program's first extent; of those that go round a number of times, once.
///
/// # Errors
/// It would take more memory than is to be had.
pub(super) fn first(
    case: &Case,
    by: By,
    geometry: &Geometry,
    facts: &Facts,
) -> Result<Extent, String> {
    let once = |elements| Extent { elements, passes: 1 };
    Ok(match case.program {
        Program::Rows => once(32_768),
        Program::Splits | Program::Stores => once(4096),
        Program::Columns => once(ROWS * COLUMNS),
        Program::Chase => chase(case, by, geometry, facts)?,
        Program::Pages | Program::PageStores => {
            let entries = [geometry.dtlb, geometry.stlb].into_iter().flatten();
            let entries = entries.map(|tlb| tlb.entries).max().unwrap_or(64);
            once(entries.saturating_mul(4).clamp(256, 32_768))
        }
        Program::Blocked | Program::Branches | Program::Compute => once(8192),
        Program::Sharing => once(4000),
        Program::Touch | Program::Copy | Program::Watch | Program::Calls => once(EVERY),
        Program::Sleeps => once(200),
        Program::Moves => once(100),
    })
}

/// Twice as many lines as the level holds that is to be missed.
fn chase(case: &Case, by: By, geometry: &Geometry, facts: &Facts) -> Result<Extent, String> {
    let bytes =
        |cache: Option<emulator::geometry::CacheGeometry>| cache.map_or(1 << 20, |it| it.bytes);
    let level = match case.served {
        Served::Beyond(Level::L3) => bytes(geometry.l3),
        _ => bytes(geometry.l2),
    };
    let level = if by == By::Emulated { bytes(geometry.l3) } else { level };
    let nodes = (level / 64).saturating_mul(2).max(4096);
    let memory = facts.memory_kib.map_or(MOST_BYTES, |kib| (kib * 1024 / PART).min(MOST_BYTES));
    let wanted = nodes.saturating_mul(STRIDE);
    if wanted > memory {
        return Err(format!(
            "to miss a cache of {} MiB for sure takes {} MiB of memory, and this test takes {} MiB \
             at most: sample a program of your own that is known to miss it",
            level >> 20,
            wanted >> 20,
            memory >> 20
        ));
    }
    Ok(Extent { elements: nodes, passes: 1 })
}

/// Whether a program may go round as often as there is time for.
pub(super) fn is_free(program: Program, by: By) -> bool {
    use Program::{Calls, Copy, Moves, Sleeps, Touch, Watch};
    by != By::Emulated && !matches!(program, Touch | Copy | Watch | Calls | Sleeps | Moves)
}

/// Goes round so often that it takes `slice`, where the first extent took
/// `once`, both without sampling.
pub(super) fn in_time(first: Extent, once: Duration, slice: Duration) -> Extent {
    let passes = slice.as_nanos() / once.as_nanos().max(1);
    let passes = u64::try_from(passes).unwrap_or(u64::MAX).clamp(1, 1 << 24);
    Extent { passes, ..first }
}

/// How often programs go round whose number of events is fixed.
pub(super) fn fixed(program: Program, first: Extent, by: By) -> Extent {
    let passes = match by {
        By::Emulated if program != Program::Sharing => EMULATED / first.elements.max(1),
        _ => 1,
    };
    Extent { passes: passes.max(1), ..first }
}

/// The interval that gives some thousand samples; None: the type's own.
pub(super) fn interval(case: &Case, extent: Extent, outline: &Outline) -> Option<u64> {
    let sampled = || outline.sampled().map(|event| &event.planned);
    let first = sampled().next()?;
    let by = By::of(first.promises.source);
    if first.promises.source == recorder::catalogue::promises::SampleSource::KernelTimer {
        return Some(TICK);
    }
    let visits = extent.elements.saturating_mul(extent.passes);
    let events = visits.saturating_mul(case.events.0) / case.events.1.max(1);
    let is_ibs = sampled().any(|event| event.pmu.starts_with("ibs"));
    let odd = |interval: u64| interval | 1;
    Some(match by {
        By::Kernel => 1,
        By::Emulated => odd(events / SAMPLES),
        By::Hardware if is_ibs => {
            let ops = visits.saturating_mul(INSTRUCTIONS) / (4 * SAMPLES);
            (ops / IBS_STEP * IBS_STEP).max(IBS_LEAST)
        }
        By::Hardware if sampled().any(|event| !event.filter.is_all()) => {
            prime((visits.saturating_mul(INSTRUCTIONS) / (4 * SAMPLES)).max(LEAST))
        }
        By::Hardware => prime((events / SAMPLES).max(LEAST)),
    })
}

/// The first prime that is no less: of a loop whose length has a factor in
/// common with the interval only some instructions would ever be sampled.
fn prime(least: u64) -> u64 {
    let is_prime = |n: u64| (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
    (least.max(2)..).find(|&n| is_prime(n)).unwrap_or(least)
}

/// All of them are in one set of each first-level cache of up to 64 sets.
const _: () = assert!(ROW == 64 * 64 && ROWS > 16, "columns miss any such cache of 16 ways");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ebs::selftest::cases::cases;
    use recorder::catalogue::find;

    fn misses(name: &str) -> Case {
        let all = cases(find(name).expect("is a type")).expect("has programs");
        all.into_iter().find(|case| case.program == Program::Chase).expect("chases")
    }

    #[test]
    fn a_chase_misses_the_level_that_it_must() {
        let facts = Facts::default();
        let machine = Geometry::default().with("l2=1m,16 l3=8m,16").expect("describes caches");
        let lines = |name| {
            let extent = first(&misses(name), By::Hardware, &machine, &facts);
            extent.expect("there is memory").elements * 64
        };
        assert_eq!(lines("l1_cache_miss"), 2 << 20);
        assert_eq!(lines("l2_cache_miss"), 2 << 20);
        assert_eq!(lines("l3_cache_miss"), 16 << 20);
        let large = Geometry::default().with("l3=480m,16").expect("describes caches");
        let refused = first(&misses("l3_cache_miss"), By::Hardware, &large, &facts);
        assert!(refused.expect_err("is too large").contains("480 MiB"));
    }

    #[test]
    fn an_interval_has_no_factor_in_common_with_a_loop() {
        // 3 x 7 x 103 found no MMX instruction in a loop of 21.
        for (least, found) in [(0, 2), (2, 2), (9, 11), (2163, 2179), (2179, 2179)] {
            assert_eq!(prime(least), found, "{least}");
        }
    }

    #[test]
    fn what_is_free_takes_its_time_and_what_is_fixed_its_number() {
        let once = Extent { elements: 4096, passes: 1 };
        let (quick, slice) = (Duration::from_micros(100), Duration::from_millis(100));
        assert_eq!(in_time(once, quick, slice), Extent { elements: 4096, passes: 1000 });
        assert_eq!(in_time(once, slice, quick), once);
        assert!(is_free(Program::Chase, By::Hardware) && is_free(Program::Compute, By::Kernel));
        assert!(!is_free(Program::Chase, By::Emulated) && !is_free(Program::Touch, By::Kernel));
        let emulated = fixed(Program::Chase, once, By::Emulated);
        assert_eq!(emulated.elements * emulated.passes, EMULATED);
        assert_eq!(fixed(Program::Sharing, once, By::Emulated), once);
        assert_eq!(fixed(Program::Touch, once, By::Kernel), once);
    }
}
