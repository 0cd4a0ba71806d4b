//! Register histograms from whole recordings.

use crate::recording::{Hit, KERNEL, Recording, page_faults, task, usual_fields};
use crate::report;
use analysis::{Query, RegisterQuery, Report};

const COPY: u64 = 0xffff_ffff_8100_1010;
const CX: usize = 2;

/// A list of 8 KiB structures walked at one site, another site beside it.
fn walk() -> Recording {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    for item in 0..4096u64 {
        let mut hit = Hit::new(KERNEL, COPY, task(1, 1), item);
        hit.registers[CX] = 0xffff_8880_0000_0000 + (item * 7 % 4096) * 8192;
        hit.addr = hit.registers[CX] + 0x18;
        stream.hit(&hit);
        stream.hit(&Hit { ip: COPY + 0x100, ..Hit::new(KERNEL, COPY, task(1, 1), item) });
    }
    stream
}

fn at(site: &str, stream: &Recording) -> Report {
    let registers = RegisterQuery { site: Some(site.parse().unwrap()), ..Default::default() };
    let query = Query { keys: vec![], registers: Some(registers), ..Query::default() };
    report(query, &stream.bytes).unwrap()
}

fn finding(report: &Report, name: &str) -> String {
    let all = &report.events[0].registers;
    all.iter().find(|register| register.name == name).unwrap().finding()
}

#[test]
fn a_walk_over_8_kib_structures_is_one_line() {
    let stream = walk();
    for site in ["copy_page", "copy_page+0x10", "0xffffffff81001010", "ffffffff81001010", "copy*"] {
        let report = at(site, &stream);
        assert_eq!(report.events[0].totals.at_site, Some(4096), "{site}");
        assert_eq!(
            finding(&report, "cx"),
            "cx: 4096 values, 0xffff888000000000-0xffff888001ffe000, \
             same 13 low bits (0x0000): 8 KiB-aligned structures, stride 8192"
        );
        assert_eq!(
            finding(&report, "addr"),
            "addr: 4096 values, 0xffff888000000018-0xffff888001ffe018, \
             same 13 low bits (0x0018): 8 KiB-aligned structures, offset 0x18, stride 8192"
        );
        assert_eq!(finding(&report, "bx"), "bx: always 0x0");
        assert_eq!(report.events[0].registers.len(), 19);
    }
}

#[test]
fn a_site_without_samples_has_no_registers() {
    let report = at("copy_page+0x11", &walk());
    assert_eq!(report.events[0].totals.at_site, Some(0));
    assert!(report.events[0].registers.is_empty());
}

#[test]
fn samples_without_registers_are_left_out_of_them_only() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    let with = Hit { registers: (0..18).collect(), ..Hit::new(KERNEL, COPY, task(1, 1), 1) };
    stream.hit(&Hit { registers: vec![], addr: 64, ..with.clone() });
    stream.hit(&Hit { addr: 128, ..with });
    let report = at("copy_page", &stream);
    let registers = &report.events[0].registers;
    assert_eq!(report.events[0].totals.at_site, Some(2));
    assert_eq!((registers[0].samples, finding(&report, "dx")), (1, "dx: always 0x3".into()));
    assert_eq!(
        finding(&report, "addr"),
        "addr: 2 values, 0x40-0x80, same 6 low bits (0x00), stride 64"
    );
}
