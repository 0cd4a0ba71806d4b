//! Register histograms from whole recordings.

use crate::recording::{Hit, KERNEL, Recording, USER, page_faults, task, usual_fields};
use crate::report;
use analysis::{Error, Filter, Query, RegisterQuery, Report};
use perfdata::SidebandRecord;

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

fn query(site: &str) -> Query {
    let registers = RegisterQuery { site: Some(site.parse().unwrap()), ..Default::default() };
    Query { keys: vec![], registers: Some(registers), ..Query::default() }
}

fn at(site: &str, stream: &Recording) -> Report {
    report(query(site), &stream.bytes).unwrap()
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

/// `add(int, int)` and `add(long)`, 3 and 2 samples at the first's offset 4.
fn overloads() -> Recording {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    let base = 0xffff_ffff_c000_1000;
    for (name, address, count) in [("add(int, int)", base, 3), ("add(long)", base + 0x100, 2)] {
        let name = name.as_bytes();
        let record = SidebandRecord::Ksymbol { address, length: 0x80, kind: 1, flags: 0, name };
        stream.side(KERNEL, &record, task(1, 1), 1);
        for time in 2..2 + count {
            stream.hit(&Hit::new(KERNEL, address + 4, task(1, 1), time));
        }
    }
    stream
}

#[test]
fn parameters_of_a_routine_may_be_left_out() {
    let stream = overloads();
    for (name, samples) in [("add", 5), ("add(int, int)", 3), ("add(long)", 2), ("a?d", 5)] {
        for site in [name.to_owned(), format!("{name}+0x4")] {
            assert_eq!(at(&site, &stream).events[0].totals.at_site, Some(samples), "{site}");
        }
        for (operator, counted) in [("=", samples), ("!=", 5 - samples)] {
            let text = format!("routine{operator}{name}");
            let filters = vec![text.parse::<Filter>().unwrap()];
            let report = report(Query { filters, ..Query::default() }, &stream.bytes).unwrap();
            assert_eq!(report.events[0].totals.counted, counted, "{text}");
        }
    }
    assert!(report(query("add(char)"), &stream.bytes).is_err());
}

#[test]
fn a_site_without_samples_is_an_error_that_names_the_nearest() {
    let stream = walk();
    for (site, said) in [
        ("copy_page+0x11", "of 8192 counted; some lie at copy_page+0x10"),
        ("copy_pge", "no sample lies at \"copy_pge\", of 8192 counted; some lie at copy_page"),
        ("zzz", "no sample lies at \"zzz\", of 8192 counted"),
        ("0x1234", "no sample lies at \"0x1234\", of 8192 counted"),
    ] {
        let error = report(query(site), &stream.bytes).unwrap_err();
        assert!(
            matches!(error, Error::Site { .. }) && error.to_string().ends_with(said),
            "{error}"
        );
    }
    let nobody = Query { filters: Filter::parse_all("pid=2").unwrap(), ..query("copy_page") };
    let error = report(nobody, &stream.bytes).unwrap_err().to_string();
    assert_eq!(error, "no sample lies at \"copy_page\": none was counted");
}

#[test]
fn an_address_of_several_objects_is_said_to_be_one() {
    let mut stream = Recording::new(&[(page_faults(usual_fields()), "page_fault")]);
    let (one, two) = (task(1, 1), task(2, 2));
    for (task, path) in [(one, "/nowhere/a"), (two, "/nowhere/b")] {
        stream.map(task, 1, 0x10_0000..0x10_2000, path);
        stream.hit(&Hit::new(USER, 0x10_1130, task, 2));
    }
    let said = "0x1130 is in 2 objects, whose registers are counted together: /nowhere/a, \
                /nowhere/b; for one of them say --filter object=NAME";
    let both = at("0x1130", &stream);
    assert_eq!((both.events[0].totals.at_site, &both.notes[..]), (Some(2), &[said.into()][..]));
    let filters = Filter::parse_all("object=b").unwrap();
    let single = report(Query { filters, ..query("0x1130") }, &stream.bytes).unwrap();
    assert_eq!((single.events[0].totals.at_site, single.notes.len()), (Some(1), 0));
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
