//! Chains of calls that the kernel counted.

use super::{aggregate, by, hit, rows};
use crate::recording::{Recording, page_faults, task, usual_fields};
use crate::report;
use perfdata::aggregate::Site;
use perfdata::{ChainContext, CpuMode, SampleType, Time};

#[test]
fn a_chain_means_what_was_mapped_all_the_while() {
    let process = task(100, 100);
    let fields = usual_fields() | SampleType::CALLCHAIN;
    let mut stream = Recording::new(&[(page_faults(fields), "page_fault")]);
    let runs = |stream: &mut Recording, time: u64, program: &str| {
        stream.comm(process, time, program, true);
        stream.map(process, time, 0x40_0000..0x41_0000, &format!("/bin/{program}"));
        stream.map(process, time, 0x70_0000..0x71_0000, "/lib/library");
    };
    let site = |first: u64, last: u64| Site {
        count: 1000,
        period: 1000,
        last: Time(last),
        chain: Some([ChainContext::USER.0, 0x70_0010, 0x40_0010].into()),
        ..hit(process, CpuMode::User, 0x70_0010, first, 0).1
    };
    runs(&mut stream, 1, "alpha");
    stream.aggregate(0, aggregate(0..10, [site(5, 9)]));
    runs(&mut stream, 20, "beta");
    // Of hits before and after that exec.
    stream.aggregate(0, aggregate(10..50, [site(15, 30)]));
    stream.aggregate(0, aggregate(50..90, [site(60, 80)]));
    let report = report(by("caller"), &stream.bytes).unwrap();
    for name in ["alpha", "beta", "no call chain"] {
        let found = rows(&report);
        let row = found.iter().find(|(_, _, cell)| cell.contains(name));
        assert_eq!(row.map(|row| row.0), Some(1000), "{name} in {found:?}");
    }
}
