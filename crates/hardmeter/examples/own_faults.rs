//! Samples this thread's own page faults and prints them with their regions:
//! `cargo run --example own_faults`.

use hardmeter::{Region, SampledTasks, Sampler, SamplerError, SamplerSettings};
use std::io::{self, Write};

const PAGE: usize = 4096;

/// Touches fresh pages, so many.
fn touch(pages: usize) -> Vec<u8> {
    let mut memory = vec![0_u8; pages * PAGE];
    memory.iter_mut().step_by(PAGE).for_each(|byte| *byte = 1);
    std::hint::black_box(memory)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = SamplerSettings {
        interval: Some(1),
        tasks: SampledTasks::ThisThread,
        ..SamplerSettings::new("page_fault")
    };
    let mut sampler = Sampler::open(settings)?;
    sampler.enable()?;
    let first = {
        let _region = Region::enter("first");
        touch(100)
    };
    let second = {
        let _region = Region::enter("second");
        touch(200)
    };
    sampler.disable()?;
    print(&mut sampler, &[first, second])?;
    let account = sampler.finish()?;
    let (delivered, lost) = (account.delivered, account.lost.total());
    let kernel = account.kernel.unwrap_or(u64::MAX);
    writeln!(io::stdout(), "account {kernel} {delivered} {lost}")?;
    Ok(())
}

/// One line a fault on one of the areas.
fn print(sampler: &mut Sampler, areas: &[Vec<u8>]) -> Result<(), SamplerError> {
    let ranges: Vec<_> = areas.iter().map(|area| area.as_ptr_range()).collect();
    for sample in sampler.samples()? {
        let address = sample.address.unwrap_or_default();
        let is_ours = |range: &std::ops::Range<*const u8>| {
            (range.start as u64..range.end as u64).contains(&address)
        };
        if ranges.iter().any(is_ours) {
            let regions = sample.regions.as_deref().unwrap_or("-");
            let line = format!("sample {:#x} {address:#x} {regions}", sample.ip);
            // Whoever reads no more misses nothing.
            let _closed = writeln!(io::stdout(), "{line} {}", sample.routine);
        }
    }
    Ok(())
}
